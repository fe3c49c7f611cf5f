package remote

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"
)

// Option configures a new cluster. An option has the name of an option of package fakecluster without its
// With, and the same meaning and default. Values that contradict each other are an error of [New], and fail
// the test in [Start].
type Option func(settings) error

// settings is the request that starts a cluster.
type settings map[string]any

// take applies options.
func (s settings) take(opts []Option) error {
	for i, o := range opts {
		if o == nil {
			return fmt.Errorf("option %d is nil", i+1)
		}
		if err := o(s); err != nil {
			return err
		}
	}
	if _, lives := s["workloads"]; !lives && s["programs"] != nil {
		return errors.New("Program: there are no Nodes; give Workloads, too, such as remote.Workloads(\"nodes: 1\")")
	}
	return nil
}

// add appends to a list.
func add[T any](s settings, field string, values ...T) {
	list, _ := s[field].([]T)
	s[field] = append(list, values...)
}

// list returns an option that appends to a list.
func list(field string, values []string) Option {
	return func(s settings) error { add(s, field, values...); return nil }
}

// paths returns an option that appends absolute paths to a list.
func paths(field string, paths []string) Option {
	return func(s settings) error {
		absolutePaths, err := absolute(paths)
		add(s, field, absolutePaths...)
		return err
	}
}

func absolute(paths []string) ([]string, error) {
	made := make([]string, len(paths))
	for i, path := range paths {
		var err error
		if made[i], err = filepath.Abs(path); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// enabled returns an option that sets a field to true.
func enabled(field string) Option { return func(s settings) error { s[field] = true; return nil } }

// once returns an option that can be given once.
func once(name, field string, value any) Option {
	return func(s settings) error {
		if _, given := s[field]; given {
			return fmt.Errorf("%s is given twice; give it once", name)
		}
		s[field] = value
		return nil
	}
}

// KubernetesVersion sets the version of Kubernetes that the cluster emulates, such as "1.35", so
// that a test can have clusters of several versions. docs/versions.md has the versions. Without it,
// all clusters have the version that the environment variable FAKECLUSTER_KUBERNETES_VERSION names,
// or the newest. In package fakecluster the variable is the only way.
func KubernetesVersion(version string) Option {
	return once("KubernetesVersion", "kubernetesVersion", version)
}

// CRDPaths installs the CustomResourceDefinitions in manifest files and folders, including their subfolders.
// Objects of other kinds are ignored. The option may be given more than once.
func CRDPaths(path ...string) Option { return paths("crdPaths", path) }

// Manifests creates everything in manifest files and folders, in the order that installing needs.
func Manifests(path ...string) Option { return paths("manifests", path) }

// Kustomize builds the kustomizations in folders, as kubectl apply -k does, and creates their objects.
func Kustomize(folders ...string) Option { return paths("kustomize", folders) }

// WebhookPaths installs the webhook configurations in manifest files and folders. Their webhook server is that of
// [Cluster.WebhookServer].
func WebhookPaths(path ...string) Option { return paths("webhookPaths", path) }

// Objects creates objects. An object is a value that encoding/json encodes as a Kubernetes object: a typed object of client-go, which
// need not name its kind, an unstructured one, or a map.
func Objects(objs ...any) Option {
	return func(s settings) error {
		for _, obj := range objs {
			content, err := encoded(obj)
			if err != nil {
				return fmt.Errorf("Objects: %w", err)
			}
			add(s, "objects", content)
		}
		return nil
	}
}

// Controllers selects the controllers of kube-controller-manager that act within a write, such as
// "garbage-collector-controller"; "*" is all of them. Without a name, none acts, and the cluster is an API
// server alone. docs/controllers.md lists them, and those that act by default.
func Controllers(names ...string) Option {
	return func(s settings) error {
		add(s, "controllers", append([]string{}, names...)...)
		if len(names) == 0 {
			s["controllers"] = []string{}
		}
		return nil
	}
}

// AllControllers turns on all controllers that can act within a write.
func AllControllers() Option { return Controllers("*") }

// Workloads runs Kubernetes' controllers and scheduler, and nodes with pods, as an object in YAML or JSON describes
// them, such as "nodes: 5"; "{}" runs three nodes and everything else. docs/workloads.md has the fields. Relative
// paths of programs are relative to the working directory, which is the folder of the test.
func Workloads(config string) Option {
	return func(s settings) error {
		if _, given := s["workloads"]; given {
			return errors.New("Workloads is given twice; give it once")
		}
		return s.addWorkloads(config)
	}
}

// APIServerFlags configures the cluster as flags configure kube-apiserver, for example
// "--client-ca-file=/tmp/ca.crt". Paths in them must be absolute.
func APIServerFlags(flags ...string) Option { return list("flags", flags) }

// The modes of [Authorization].
const (
	RBAC        = "RBAC"
	AlwaysAllow = "AlwaysAllow"
)

// Authorization sets the mode by which requests of users are authorized: RBAC or AlwaysAllow.
func Authorization(mode string) Option { return once("Authorization", "authorization", mode) }

// AdmissionPlugins turns on admission plugins that are off by default.
func AdmissionPlugins(names ...string) Option { return list("enableAdmissionPlugins", names) }

// WithoutAdmissionPlugins turns off admission plugins that are on by default.
func WithoutAdmissionPlugins(names ...string) Option { return list("disableAdmissionPlugins", names) }

// WithoutNamespaceLifecycle allows objects to be created in namespaces that do not exist.
func WithoutNamespaceLifecycle() Option { return enabled("withoutNamespaceLifecycle") }

// RuntimeConfig turns versions of built-in kinds on or off, such as "resource.k8s.io/v1beta2=true".
func RuntimeConfig(versions ...string) Option { return list("runtimeConfig", versions) }

// LegacyAPIs also serves definitions and policies in v1beta1.
func LegacyAPIs() Option { return enabled("legacyAPIs") }

// Seed makes uids and generated names repeatable. Default: they are random.
func Seed(seed uint64) Option { return once("Seed", "seed", seed) }

// Audit keeps an audit trail of a level, which [Cluster.Audit] returns: Metadata, Request or RequestResponse.
func Audit(level string) Option { return once("Audit", "audit", level) }

// TLS serves HTTPS with HTTP/2. [Cluster.Config] trusts the certificate.
func TLS() Option { return enabled("tls") }

// Port sets the port of 127.0.0.1 on which the cluster listens. Default: a free port.
func Port(port int) Option { return once("Port", "port", port) }

// CompactionInterval compacts the history at the end of each interval, as a real server does every five
// minutes. Default: never.
func CompactionInterval(interval time.Duration) Option {
	return once("CompactionInterval", "compactionInterval", interval.String())
}

// WatchHistory bounds the history of changes by a number of revisions and a number of bytes. A bound of 0
// means its default: 100,000 revisions and 256 MiB.
func WatchHistory(revisions int, bytes int64) Option {
	return func(s settings) error {
		s["watchHistoryRevisions"], s["watchHistoryBytes"] = revisions, bytes
		return nil
	}
}

// Snapshot starts the cluster from a snapshot that [Cluster.Snapshot] or "fakecluster snapshot" has written.
func Snapshot(r io.Reader) Option {
	return func(s settings) error {
		if r == nil {
			return errors.New("Snapshot: the reader is nil")
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return fmt.Errorf("Snapshot: %w", err)
		}
		return once("Snapshot", "snapshotData", base64.StdEncoding.EncodeToString(content))(s)
	}
}

// The values of the argument fsync of [DataFile]: when a write is synced to the disk.
const (
	FsyncAlways      = "always"
	FsyncEverySecond = "second"
)

// DataFile keeps the cluster in a file, and continues with its content if the file exists. fsync is
// [FsyncAlways], [FsyncEverySecond], or empty for FsyncAlways. A fork is in memory only.
func DataFile(path, fsync string) Option {
	return func(s settings) error {
		path, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		s["fsync"] = fsync
		return once("DataFile", "dataFile", path)(s)
	}
}
