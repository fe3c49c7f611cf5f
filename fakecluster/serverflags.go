package fakecluster

import (
	cryptotls "crypto/tls"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	auditpolicy "k8s.io/apiserver/pkg/audit/policy"

	"github.com/fakecluster/fakecluster/internal/auth"
	"github.com/fakecluster/fakecluster/internal/builtin"
	"github.com/fakecluster/fakecluster/internal/serverflags"
	"github.com/fakecluster/fakecluster/rest"
)

// WithAPIServerFlags configures the cluster as flags configure kube-apiserver:
//
//	fakecluster.WithAPIServerFlags("--service-cluster-ip-range=10.96.0.0/16", "--client-ca-file=ca.crt")
//
// A flag does what it does on a real server. Flags about etcd (except --etcd-compaction-interval), caches,
// limits and logs are accepted and have no effect. A flag that would change what clients see, but that fakecluster
// does not have, is an error that says what is missing, unless it has its default value. An
// unknown flag is an error. What no flag says comes from the other options and their defaults.
//
// With any of the flags --bind-address, --secure-port, --cert-dir, --client-ca-file,
// --requestheader-client-ca-file, --tls-* and --disable-http2-serving the cluster serves HTTPS, as
// with WithTLS. It listens on loopback addresses only. A fork listens on a port of its own. The user
// of RESTConfig may do everything in any mode of authorization, and trusts the configured certificate.
//
// As on a real server, certificates and authorities may be renewed: the next handshake or request
// after a change of their files goes by the new content, and the ConfigMap
// extension-apiserver-authentication has it before that request is served. A file that cannot be
// read then changes nothing.
//
// The option may be given more than once; the flags are one command line. It is an error if a
// flag and another option say the same thing, as --authorization-mode and WithAuthorization
// do.
//
// Default: none.
func WithAPIServerFlags(flags ...string) Option {
	return func(s *settings) { s.apiServerFlags = append(s.apiServerFlags, flags...) }
}

// flagged is what the flags of kube-apiserver say and no option does.
type flagged struct {
	users    rest.Users
	accounts rest.Accounts
	network  rest.Network
	auditLog *rest.AuditLog

	clientCA, proxyCA  *auth.AuthorityFile // nil: none
	authenticationInfo map[string]string   // how proxies say who asks; nil: no proxy is trusted

	admissionConfig string              // a file; empty: none
	address         string              // to listen on; empty: any port
	minVersion      uint16              // of TLS
	ciphers         []uint16            // nil: those of Go
	curves          []cryptotls.CurveID // nil: those of Go
	certificate     *certificateFile    // nil: the cluster's own
	named           []*certificateFile  // for some names of the server
	http1           bool                // HTTP/1.1 alone
	unprofiled      bool                // rest.Options.WithoutProfiling
	hsts            []string            // directives of the header Strict-Transport-Security
	origins         []string            // patterns of those whose web pages may read answers
	requestTimeout  time.Duration       // 0: the usual one
	minWatchTimeout time.Duration       // 0: watches do not end by themselves
	flowControl     rest.FlowControl
}

// readFlags makes settings of the flags. After an error nothing is open.
func (s *settings) readFlags() error {
	if len(s.apiServerFlags) == 0 {
		return nil
	}
	flags, err := serverflags.Parse(s.apiServerFlags)
	if err != nil {
		return fmt.Errorf("WithAPIServerFlags: %w", err)
	}
	for _, read := range []func(*serverflags.Flags) error{
		s.readServing, s.readRequests, s.readAccounts, s.readUsers, s.readNetwork, s.readAdmission, s.readVersions, s.readAudit, s.readCompaction,
	} {
		if err := read(flags); err != nil {
			return fmt.Errorf("WithAPIServerFlags: %w", err)
		}
	}
	return nil
}

func (s *settings) readNetwork(flags *serverflags.Flags) (err error) {
	n := &s.flags.network
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
		if services := builtin.Network(*n).ServiceRanges()[0]; services.Addr().Is4() != n.Server.Is4() {
			return fmt.Errorf("service IP family %q must match public address family %q", services, n.Server)
		}
	}
	n.Port = flags.Int("secure-port")
	if flags.Given("service-node-port-range") {
		n.NodePorts = flags.Ports("service-node-port-range")
	}
	return nil
}

func (s *settings) readAdmission(flags *serverflags.Flags) error {
	s.admissionPlugins = append(s.admissionPlugins, flags.List("enable-admission-plugins")...)
	s.noAdmissionPlugins = append(s.noAdmissionPlugins, flags.List("disable-admission-plugins")...)
	s.flags.admissionConfig = flags.Text("admission-control-config-file")
	return nil // the server checks the names and reads the file
}

func (s *settings) readVersions(flags *serverflags.Flags) error {
	for name, value := range flags.Pairs("runtime-config") {
		if value == "" {
			value = "true"
		}
		s.runtimeConfig = append(s.runtimeConfig, name+"="+value)
	}
	gates, err := flags.FeatureGates()
	if err != nil {
		return err
	}
	return builtin.CheckFeatureGates(gates)
}

func (s *settings) readAudit(flags *serverflags.Flags) error {
	policy, path := flags.Text("audit-policy-file"), flags.Text("audit-log-path")
	log := &rest.AuditLog{To: os.Stdout}
	if policy != "" {
		var err error
		if log.Policy, err = auditpolicy.LoadPolicyFromFile(policy); err != nil {
			return fmt.Errorf("loading audit policy file: %w", err)
		}
	}
	if path != "" && path != "-" {
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
		return nil // as on a real server, one without the other tells nothing
	case s.audit != "":
		return errors.New("WithAudit and --audit-log-path exclude each other")
	}
	s.flags.auditLog = log
	return nil
}

func (s *settings) readCompaction(flags *serverflags.Flags) error {
	const name = "etcd-compaction-interval"
	switch interval := flags.Duration(name); {
	case !flags.Given(name):
		return nil
	case s.given["WithCompactionInterval"] > 0:
		return errors.New("WithCompactionInterval and --etcd-compaction-interval say the same; give one of them")
	case interval < 0:
		return fmt.Errorf("--etcd-compaction-interval=%v is negative; 0 means never", interval)
	default:
		s.compaction = interval
		return nil
	}
}

// appended is the path of a file that each write opens and appends to, so that forks can write to
// it as well and no cluster has to close it.
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
