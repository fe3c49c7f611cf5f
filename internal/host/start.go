package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/workloadconfig"
	"github.com/fakecluster/fakecluster/kustomize"
	"github.com/fakecluster/fakecluster/workloads"
)

// Start asks for a cluster. Its fields are the options of package fakecluster that are data.
type Start struct {
	Session           string `json:"session" doc:"the session in which the cluster lives; POST /v1/sessions opens one"`
	KubernetesVersion string `json:"kubernetesVersion,omitempty" doc:"the version of Kubernetes that the cluster behaves as, such as 1.35; default: that of the host"`

	CRDPaths     []string          `json:"crdPaths,omitempty" doc:"absolute paths of files and folders whose CustomResourceDefinitions are installed (WithCRDPaths)"`
	Manifests    []string          `json:"manifests,omitempty" doc:"absolute paths of files and folders whose objects are all created (WithManifests)"`
	Kustomize    []string          `json:"kustomize,omitempty" doc:"absolute paths of folders with a kustomization, which are built and created"`
	Objects      []json.RawMessage `json:"objects,omitempty" schema:"object" doc:"objects to create, with their status; the kind may be a type of Go, such as k8s.io/api/apps/v1.Deployment (WithObjects)"`
	WebhookPaths []string          `json:"webhookPaths,omitempty" doc:"absolute paths of files and folders whose webhook configurations are installed; the answer says where the webhook server has to listen (WithWebhookPaths)"`
	Services     []Service         `json:"services,omitempty" doc:"Services that the client answers, by references of webhooks and APIServices (WithService)"`
	Conversions  []Conversion      `json:"conversions,omitempty" doc:"handlers of ConversionReviews for definitions (WithConversion)"`
	Images       []Image           `json:"images,omitempty" doc:"images whose containers run as functions in the process of the client, if workloads run"`

	Controllers             []string         `json:"controllers,omitzero" doc:"the controllers that act within a write; * is all of them, and an empty list none; default: namespace-controller (WithControllers)"`
	Workloads               json.RawMessage  `json:"workloads,omitempty" schema:"object" doc:"runs Kubernetes' controllers, scheduler and nodes: an object with any of nodes, controlPlane, behaviors, programs, provisioners, controllers, scheduler, as in docs/workloads.md"`
	Flags                   []string         `json:"flags,omitempty" doc:"flags of kube-apiserver, with absolute paths (WithAPIServerFlags)"`
	Authorization           string           `json:"authorization,omitempty" doc:"RBAC or AlwaysAllow; default: RBAC (WithAuthorization)"`
	EnableAdmissionPlugins  []string         `json:"enableAdmissionPlugins,omitempty" doc:"admission plugins to turn on (WithAdmissionPlugins)"`
	DisableAdmissionPlugins []string         `json:"disableAdmissionPlugins,omitempty" doc:"admission plugins to turn off (WithoutAdmissionPlugins)"`
	RuntimeConfig           []string         `json:"runtimeConfig,omitempty" doc:"versions of built-in kinds that are served or not, such as resource.k8s.io/v1beta2=true (WithRuntimeConfig)"`
	LegacyAPIs              bool             `json:"legacyAPIs,omitempty" doc:"serves apiextensions.k8s.io/v1beta1, too (WithLegacyAPIs)"`
	Seed                    *uint64          `json:"seed,omitempty" doc:"makes uids and generated names repeatable; default: they are random (WithSeed)"`
	Audit                   string           `json:"audit,omitempty" doc:"the level of the audit trail: Metadata, Request or RequestResponse; default: none (WithAudit)"`
	TLS                     bool             `json:"tls,omitempty" doc:"serves HTTPS with HTTP/2 at the url; default: HTTP (WithTLS)"`
	Port                    *int             `json:"port,omitempty" doc:"the port of the url; default: a free one (WithPort)"`
	CompactionInterval      *metav1.Duration `json:"compactionInterval,omitempty" doc:"compacts the history as a real server does, such as 5m; default: never (WithCompactionInterval)"`
	WatchHistoryRevisions   int              `json:"watchHistoryRevisions,omitempty" doc:"how many revisions the history has; default: 100000 (WithWatchHistory)"`
	WatchHistoryBytes       int64            `json:"watchHistoryBytes,omitempty" doc:"how many bytes of objects the history has; default: 256 MiB (WithWatchHistory)"`

	Snapshot     string `json:"snapshot,omitempty" doc:"the absolute path of a snapshot to begin with (WithSnapshot)"`
	SnapshotData string `json:"snapshotData,omitempty" doc:"a snapshot to begin with, in base64 (WithSnapshot)"`
	DataFile     string `json:"dataFile,omitempty" doc:"the absolute path of a file that keeps the cluster (WithDataFile)"`
	Fsync        string `json:"fsync,omitempty" doc:"when a write to dataFile is on the disk: always or second; default: always"`
}

// options returns the options of package fakecluster.
func (s Start) options() ([]fakecluster.Option, error) {
	if err := s.checkPaths(); err != nil {
		return nil, err
	}
	options := []fakecluster.Option{
		fakecluster.WithCRDPaths(s.CRDPaths...), fakecluster.WithManifests(s.Manifests...),
		fakecluster.WithAdmissionPlugins(s.EnableAdmissionPlugins...), fakecluster.WithoutAdmissionPlugins(s.DisableAdmissionPlugins...),
		fakecluster.WithRuntimeConfig(s.RuntimeConfig...),
	}
	add := func(given bool, option func() fakecluster.Option) {
		if given {
			options = append(options, option())
		}
	}
	add(len(s.WebhookPaths) > 0, func() fakecluster.Option { return fakecluster.WithWebhookPaths(s.WebhookPaths...) })
	add(len(s.Flags) > 0, func() fakecluster.Option { return fakecluster.WithAPIServerFlags(s.Flags...) })
	add(s.Controllers != nil, s.controllers)
	add(s.Authorization != "", func() fakecluster.Option {
		return fakecluster.WithAuthorization(fakecluster.Authorization(s.Authorization))
	})
	add(s.LegacyAPIs, fakecluster.WithLegacyAPIs)
	add(s.TLS, fakecluster.WithTLS)
	add(s.Seed != nil, func() fakecluster.Option { return fakecluster.WithSeed(*s.Seed) })
	add(s.Audit != "", func() fakecluster.Option { return fakecluster.WithAudit(auditv1.Level(s.Audit)) })
	add(s.Port != nil, func() fakecluster.Option { return fakecluster.WithPort(*s.Port) })
	add(s.CompactionInterval != nil, func() fakecluster.Option { return fakecluster.WithCompactionInterval(s.CompactionInterval.Duration) })
	add(s.WatchHistoryRevisions != 0 || s.WatchHistoryBytes != 0, func() fakecluster.Option {
		return fakecluster.WithWatchHistory(s.WatchHistoryRevisions, s.WatchHistoryBytes)
	})
	add(s.DataFile != "", func() fakecluster.Option { return fakecluster.WithDataFile(s.DataFile, fakecluster.Fsync(s.Fsync)) })
	content, err := s.content()
	return append(options, content...), err
}

func (s Start) controllers() fakecluster.Option {
	var acting []fakecluster.Controller
	for _, name := range s.Controllers {
		if name == "*" {
			acting = append(acting, fakecluster.AllControllers()...)
		} else {
			acting = append(acting, fakecluster.Controller(name))
		}
	}
	return fakecluster.WithControllers(acting...)
}

// content returns the options for what the cluster begins with, and is not in files of manifests.
func (s Start) content() (options []fakecluster.Option, err error) {
	for _, folder := range s.Kustomize {
		objects, err := kustomize.Build(folder)
		if err != nil {
			return nil, fmt.Errorf("kustomize: %w", err)
		}
		options = append(options, fakecluster.WithObjects(objects...))
	}
	var objects []runtime.Object
	for i, text := range s.Objects {
		u, err := readObject(text, kindOf)
		if err != nil {
			return nil, fmt.Errorf("objects[%d]: %w", i, err)
		}
		objects = append(objects, u)
	}
	options = append(options, fakecluster.WithObjects(objects...))
	var snapshot []byte
	switch {
	case s.Snapshot != "":
		snapshot, err = readSnapshot(s.Snapshot)
	case s.SnapshotData != "":
		snapshot, err = snapshotData(s.SnapshotData)
	default:
		return options, nil
	}
	return append(options, fakecluster.WithSnapshot(bytes.NewReader(snapshot))), err
}

// readSnapshot reads a snapshot in a regular file. A device has no end, and a FIFO blocks until something writes to it.
func readSnapshot(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("the snapshot %s is not a regular file", path)
	}
	return os.ReadFile(path)
}

// checkPaths returns an error for a relative path, and for fields that exclude each other.
func (s Start) checkPaths() error {
	if s.Snapshot != "" && s.SnapshotData != "" {
		return errors.New("snapshot and snapshotData exclude each other; give one of them")
	}
	if s.Fsync != "" && s.DataFile == "" {
		return errors.New("fsync needs dataFile")
	}
	return absolute(slices.Concat(s.CRDPaths, s.Manifests, s.Kustomize, s.WebhookPaths, nonEmpty(s.Snapshot, s.DataFile))...)
}

func nonEmpty(texts ...string) []string {
	return slices.DeleteFunc(texts, func(s string) bool { return s == "" })
}

// absolute returns an error for a path that is not absolute.
func absolute(paths ...string) error {
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			return refuse(http.StatusBadRequest, "the path %q is relative: give an absolute one, because the host runs in another folder", path)
		}
	}
	return nil
}

func startCluster(c call, s Start) (Cluster, error) {
	if err := c.host.hasSession(s.Session); err != nil {
		return Cluster{}, err
	}
	if other, err := isOther(s.KubernetesVersion); err != nil {
		return Cluster{}, err
	} else if other {
		return c.host.startElsewhere(c, s)
	}
	options, err := s.options()
	if err != nil {
		return Cluster{}, wrong(err)
	}
	functions, err := s.functions(c.host)
	if err != nil {
		return Cluster{}, wrong(err)
	}
	options = append(options, functions...)
	d := driverOf(c)
	if d != nil {
		options = append(options, fakecluster.InProcess())
	}
	started, err := fakecluster.New(options...)
	if err != nil {
		return Cluster{}, wrong(err)
	}
	n := newCluster(c.host, started).inBubble(d)
	n.services, n.images = s.Services, s.Images
	if len(s.Workloads) > 0 {
		if err := n.live(s.Workloads); err != nil {
			n.end()
			return Cluster{}, err
		}
	}
	return c.host.take(s.Session, n)
}

// live makes the cluster live as data describes it.
func (c *cluster) live(config []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.workloads != nil {
		return refuse(http.StatusConflict, "workloads run in the cluster already: end them first")
	}
	var described struct{ Programs []workloadconfig.Program }
	_ = json.Unmarshal(config, &described) // FromYAML finds what is wrong
	for _, p := range described.Programs {
		if p.IsRelative() {
			return absolute(p.Path)
		}
	}
	images, err := c.imageOptions()
	if err != nil {
		return wrong(err)
	}
	life, err := workloads.New(c.Cluster, append(images, workloads.ConfigYAML(config))...)
	if err != nil {
		return wrong(err)
	}
	c.workloads = life
	return nil
}

// Workloads describes what lives in a cluster.
type Workloads struct {
	Workloads json.RawMessage `json:"workloads,omitempty" schema:"object" doc:"an object with any of nodes, controlPlane, behaviors, programs, provisioners, controllers, scheduler, as in docs/workloads.md; default: three nodes, all controllers and the scheduler"`
}

func startWorkloads(c call, w Workloads) (none, error) { return none{}, c.cluster.live(w.Workloads) }

func endWorkloads(c call, _ none) (Ended, error) {
	c.cluster.mu.Lock()
	life := c.cluster.workloads
	c.cluster.workloads = nil
	c.cluster.mu.Unlock()
	if life == nil {
		return Ended{}, errNothingLives
	}
	ended := Ended{Errors: []string{}}
	for _, err := range parts(life.Close()) {
		ended.Errors = append(ended.Errors, err.Error())
	}
	return ended, nil
}

var errNothingLives = refuse(http.StatusConflict, "nothing lives in the cluster: start it with workloads, or POST to its workloads")
