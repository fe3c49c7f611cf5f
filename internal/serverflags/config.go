package serverflags

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	auditpolicy "k8s.io/apiserver/pkg/audit/policy"

	"github.com/fakecluster/fakecluster/internal/audittrail"
	"github.com/fakecluster/fakecluster/internal/auth/authentication"
	"github.com/fakecluster/fakecluster/internal/auth/authorization"
	"github.com/fakecluster/fakecluster/internal/builtin"
	"github.com/fakecluster/fakecluster/internal/manifests"
	"github.com/fakecluster/fakecluster/internal/release"
	"github.com/fakecluster/fakecluster/rest"
)

// Config is the configuration that a command line asks for. The zero value of a field is the default
// of its flag, and the zero Config is that of an empty command line.
type Config struct {
	Users              authentication.Users
	Accounts           authentication.Accounts
	Network            builtin.Network
	Modes              *authorization.Modes     // nil: no flag about authorization is given
	AuditLog           *audittrail.Log          // nil: none
	AuthenticationInfo func() map[string]string // data of the ConfigMap extension-apiserver-authentication; nil: no authority is trusted
	ProxyClient        func() *tls.Certificate  // the current client certificate for aggregated servers; nil: none
	FrontProxy         bool                     // a flag about front proxies or the client certificate for aggregated servers is given

	EnableAdmissionPlugins, DisableAdmissionPlugins []string
	AdmissionConfigFile                             string // empty: none
	RuntimeConfig                                   []string

	WithoutProfiling        bool
	StrictTransportSecurity []string      // directives of the header
	AllowedOrigins          []string      // patterns of the origins whose web pages may read answers
	RequestTimeout          time.Duration // 0: the default of rest
	MinWatchTimeout         time.Duration // 0: watches do not end by themselves
	FlowControl             rest.FlowControl
	CompactionInterval      *time.Duration // nil: the flag is not given

	Serving Serving

	proxyHeaders map[string]string // flags about the headers of the front proxy, as JSON
	other        Options
}

// Options are the cluster's options outside of the command line. A flag for the same setting is an error.
type Options struct {
	InProcess          bool   // the cluster does not have a socket
	Authorization      string // the mode of WithAuthorization; empty: not given
	Authorizer         bool   // WithAuthorizer is given
	Audit              bool   // WithAudit is given
	CompactionInterval bool   // WithCompactionInterval is given
}

// NewConfig reads a command line and the files that it names. It leaves no file open.
func NewConfig(args []string, other Options) (*Config, error) {
	flags, err := Parse(args)
	if err != nil {
		return nil, err
	}
	if err := checkFiles(flags); err != nil {
		return nil, err
	}
	c := &Config{other: other}
	for _, read := range []func(*Flags) error{
		c.readServing, c.readRequests, c.readAccounts, c.readUsers, c.readNetwork, c.readAdmission, c.readVersions, c.readAudit, c.readCompaction,
	} {
		if err := read(flags); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// checkFiles returns an error for files that may have no end, such as /dev/zero or a FIFO, because upstream reads the
// files of some flags to the end.
func checkFiles(flags *Flags) error {
	for _, flag := range Table {
		if !flags.Given(flag.Name) || !strings.HasSuffix(flag.Name, "-file") && !strings.HasSuffix(flag.Name, "-config") {
			continue
		}
		for _, path := range flags.Values(flag.Name) {
			if err := manifests.Check(path); err != nil {
				return fmt.Errorf("--%s: %w", flag.Name, err)
			}
		}
	}
	return nil
}

func (c *Config) readNetwork(flags *Flags) (err error) {
	n := &c.Network
	if text := flags.Text("service-cluster-ip-range"); text != "" {
		if n.Services, n.Secondary, err = builtin.ParseServiceRanges(text); err != nil {
			return err
		}
	}
	if text := flags.Text("advertise-address"); text != "" {
		if n.Server, err = netip.ParseAddr(text); err != nil {
			return fmt.Errorf("--advertise-address: %w", err)
		}
	}
	if n.Server.IsValid() {
		if services := n.ServiceRanges()[0]; services.Addr().Is4() != n.Server.Is4() {
			return fmt.Errorf("service IP family %q must match public address family %q", services, n.Server)
		}
	}
	n.Port = flags.Int("secure-port")
	if flags.Given("service-node-port-range") {
		n.NodePorts = flags.Ports("service-node-port-range")
	}
	return nil
}

func (c *Config) readAdmission(flags *Flags) error {
	c.EnableAdmissionPlugins = flags.List("enable-admission-plugins")
	c.DisableAdmissionPlugins = flags.List("disable-admission-plugins")
	c.AdmissionConfigFile = flags.Text("admission-control-config-file")
	return nil // the server checks the names and reads the file
}

func (c *Config) readVersions(flags *Flags) error {
	if err := checkEmulatedVersion(flags.EmulatedVersion()); err != nil {
		return err
	}
	if err := checkMinCompatibilityVersion(flags.MinCompatibilityVersion()); err != nil {
		return err
	}
	for name, value := range flags.Pairs("runtime-config") {
		if value == "" {
			value = "true"
		}
		c.RuntimeConfig = append(c.RuntimeConfig, name+"="+value)
	}
	gates, err := release.ParseGates(flags.List("feature-gates")...)
	if err != nil {
		return err
	}
	return release.CheckGates(gates)
}

// checkEmulatedVersion returns an error if a cluster in this process cannot behave as a version.
func checkEmulatedVersion(text string) error {
	if text == "" {
		return nil
	}
	version, err := release.Parse(text)
	if err != nil {
		return fmt.Errorf("--emulated-version: %w", err)
	}
	if current := release.Version(); !version.EqualTo(current) {
		return fmt.Errorf("--emulated-version=%s: this process behaves as Kubernetes %s, and upstream's feature gates belong to the process: set %s=%s before it starts",
			text, current, release.EmulatedVariable, version)
	}
	return nil
}

// checkMinCompatibilityVersion returns an error if a cluster in this process cannot have a min compatibility version.
func checkMinCompatibilityVersion(text string) error {
	version, err := release.ParseMinCompatibility(text)
	if err != nil {
		return fmt.Errorf("--min-compatibility-version: %w", err)
	}
	if current := release.MinCompatibility(); !version.EqualTo(current) {
		return fmt.Errorf("--min-compatibility-version=%s: this process stores objects for Kubernetes %s, and upstream's feature gates belong to the process: set %s=%s before it starts",
			text, current, release.MinCompatibilityVariable, version)
	}
	return nil
}

func (c *Config) readAudit(flags *Flags) error {
	policy, path := flags.Text("audit-policy-file"), flags.Text("audit-log-path")
	log := &audittrail.Log{To: os.Stdout}
	if policy != "" {
		var err error
		if log.Policy, err = auditpolicy.LoadPolicyFromFile(policy); err != nil {
			return fmt.Errorf("loading audit policy file: %w", err)
		}
	}
	if path != "" && path != "-" {
		if info, err := os.Stat(path); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
			return fmt.Errorf("--audit-log-path: %s is a FIFO, which blocks without a reader; name a file", path)
		}
		log.To = appended(path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fmt.Errorf("--audit-log-path: %w", err)
		}
		if _, err := log.To.Write(nil); err != nil {
			return fmt.Errorf("--audit-log-path: %w", err)
		}
	}
	switch {
	case path == "" || policy == "":
		return nil // as on a real server, one without the other has no effect
	case c.other.Audit:
		return errors.New("WithAudit and --audit-log-path exclude each other; give one of them")
	}
	c.AuditLog = log
	return nil
}

func (c *Config) readCompaction(flags *Flags) error {
	const name = "etcd-compaction-interval"
	switch interval := flags.Duration(name); {
	case !flags.Given(name):
		return nil
	case c.other.CompactionInterval:
		return errors.New("WithCompactionInterval and --etcd-compaction-interval say the same; give one of them")
	case interval < 0:
		return fmt.Errorf("--etcd-compaction-interval=%v is negative; 0 means never", interval)
	default:
		c.CompactionInterval = &interval
		return nil
	}
}

// appended is the path of a file that each write opens and appends to. So forks can write to it as well, and no cluster
// has to close it.
type appended string

// Write implements io.Writer.
func (path appended) Write(p []byte) (int, error) {
	file, err := os.OpenFile(string(path), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	n, err := file.Write(p)
	return n, errors.Join(err, file.Close())
}
