package fakecluster

import (
	cryptotls "crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	auditpolicy "k8s.io/apiserver/pkg/audit/policy"
	"k8s.io/apiserver/pkg/authentication/token/tokenfile"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/fakecluster/fakecluster/internal/auth"
	"github.com/fakecluster/fakecluster/internal/builtin"
	"github.com/fakecluster/fakecluster/internal/serverflags"
	"github.com/fakecluster/fakecluster/rest"
)

// WithAPIServerFlags configures the cluster as flags configure kube-apiserver:
//
//	fakecluster.WithAPIServerFlags("--service-cluster-ip-range=10.96.0.0/16", "--client-ca-file=ca.crt")
//
// A flag does what it does on a real server. Flags about etcd, caches, limits and logs are
// accepted and have no effect. A flag that would change what clients see, but that fakecluster
// does not have, is an error that says what is missing, unless it has its default value. An
// unknown flag is an error. What no flag says comes from the other options and their defaults.
//
// With any of the flags --bind-address, --secure-port, --cert-dir, --client-ca-file,
// --requestheader-client-ca-file, --tls-* and --disable-http2-serving the cluster serves HTTPS, as
// with WithTLS. It listens on loopback addresses only. A fork listens on a port of its own. The user
// of RESTConfig may do everything in any mode of authorization, and trusts the configured certificate.
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

	admissionConfig string                  // a file; empty: none
	address         string                  // to listen on; empty: any port
	minVersion      uint16                  // of TLS
	ciphers         []uint16                // nil: those of Go
	certificates    []cryptotls.Certificate // none: the cluster's own
	http1           bool                    // HTTP/1.1 alone
}

// serving are the flags with which a cluster serves HTTPS.
var serving = []string{
	"bind-address", "secure-port", "cert-dir", "client-ca-file", "requestheader-client-ca-file", "tls-cert-file", "tls-private-key-file",
	"tls-min-version", "tls-cipher-suites", "disable-http2-serving",
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
		s.readServing, s.readAccounts, s.readUsers, s.readNetwork, s.readAdmission, s.readVersions, s.readAudit,
	} {
		if err := read(flags); err != nil {
			return fmt.Errorf("WithAPIServerFlags: %w", err)
		}
	}
	return nil
}

func (s *settings) readServing(flags *serverflags.Flags) error {
	if !slices.ContainsFunc(serving, flags.Given) {
		return nil
	}
	if s.inProcess {
		return errors.New("InProcess has no socket, which a flag speaks of")
	}
	s.tls = true
	host, port := "127.0.0.1", 0
	if flags.Given("bind-address") {
		host = flags.Text("bind-address")
		if ip, err := netip.ParseAddr(host); err != nil || !ip.IsLoopback() {
			return fmt.Errorf("fakecluster does not have --bind-address=%s: it listens on loopback addresses only", host)
		}
	}
	if flags.Given("secure-port") {
		if port = flags.Int("secure-port"); port < 1 || port > 65535 {
			return fmt.Errorf("--secure-port %d must be between 1 and 65535, inclusive. It cannot be turned off with 0", port)
		}
	}
	s.flags.address = net.JoinHostPort(host, strconv.Itoa(port))
	s.flags.http1 = flags.Bool("disable-http2-serving")
	var err error
	if s.flags.minVersion, err = cliflag.TLSVersion(flags.Text("tls-min-version")); err != nil {
		return err
	}
	if names := flags.List("tls-cipher-suites"); len(names) > 0 {
		if s.flags.ciphers, err = cliflag.TLSCipherSuites(names); err != nil {
			return err
		}
	}
	certificate, key := flags.Text("tls-cert-file"), flags.Text("tls-private-key-file")
	switch dir := flags.Text("cert-dir"); {
	case certificate != "" || key != "" || dir == "":
	default:
		certificate, key = filepath.Join(dir, "apiserver.crt"), filepath.Join(dir, "apiserver.key")
		if err := makeServingCertificate(certificate, key, host); err != nil {
			return fmt.Errorf("--cert-dir: %w", err)
		}
	}
	if certificate == "" && key == "" {
		return nil
	}
	pair, err := cryptotls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return fmt.Errorf("the certificate of the server: %w", err)
	}
	s.flags.certificates = []cryptotls.Certificate{pair}
	return nil
}

// makeServingCertificate writes a certificate for the address and its key, unless both are there.
func makeServingCertificate(certificate, key, host string) error {
	there, err := certutil.CanReadCertAndKey(certificate, key)
	if there || err != nil {
		return err
	}
	authority, err := auth.NewAuthority(host + "-ca")
	if err != nil {
		return err
	}
	pair, err := authority.ServerCertificate("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
	if err != nil {
		return err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		return err
	}
	var chain []byte
	for _, der := range pair.Certificate {
		chain = append(chain, pem.EncodeToMemory(&pem.Block{Type: certutil.CertificateBlockType, Bytes: der})...)
	}
	if err := certutil.WriteCert(certificate, chain); err != nil {
		return err
	}
	return keyutil.WriteKey(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}))
}

func (s *settings) readUsers(flags *serverflags.Flags) error {
	if path := flags.Text("client-ca-file"); path != "" {
		certificates, err := certutil.CertsFromFile(path)
		if err != nil {
			return fmt.Errorf("--client-ca-file: %w", err)
		}
		s.flags.users.ClientCA = x509.NewCertPool()
		for _, c := range certificates {
			s.flags.users.ClientCA.AddCert(c)
		}
	}
	if path := flags.Text("token-auth-file"); path != "" {
		tokens, err := tokenfile.NewCSV(path)
		if err != nil {
			return fmt.Errorf("--token-auth-file: %w", err)
		}
		s.flags.users.Tokens = tokens
	}
	if path := flags.Text("authentication-token-webhook-config-file"); path != "" {
		webhook, err := auth.NewTokenWebhook(path, flags.Value("authentication-token-webhook-version"),
			flags.Duration("authentication-token-webhook-cache-ttl"), auth.IssuerOptions(s.flags.accounts))
		if err != nil {
			return fmt.Errorf("--authentication-token-webhook-config-file: %w", err)
		}
		s.flags.users.Webhook = webhook
	}
	s.flags.users.BootstrapTokens = flags.Bool("enable-bootstrap-token-auth")
	if path := flags.Text("requestheader-client-ca-file"); path != "" {
		if err := s.readFrontProxy(path, flags); err != nil {
			return fmt.Errorf("--requestheader-client-ca-file: %w", err)
		}
	}
	if err := s.readAuthorization(flags); err != nil {
		return err
	}
	// As on a real server, nobody is both anonymous and allowed everything.
	s.flags.users.Anonymous = flags.Given("anonymous-auth") && flags.Bool("anonymous-auth") && (s.modes == nil || !s.modes.Has(auth.AlwaysAllow))
	return nil
}

// readFrontProxy says whose headers are believed.
func (s *settings) readFrontProxy(path string, flags *serverflags.Flags) error {
	certificates, err := certutil.CertsFromFile(path)
	if err != nil {
		return err
	}
	p := auth.FrontProxy{
		CA: x509.NewCertPool(), Names: flags.List("requestheader-allowed-names"),
		UserHeaders: flags.List("requestheader-username-headers"), UIDHeaders: flags.List("requestheader-uid-headers"),
		GroupHeaders: flags.List("requestheader-group-headers"), ExtraPrefixes: flags.List("requestheader-extra-headers-prefix"),
	}
	for _, c := range certificates {
		p.CA.AddCert(c)
	}
	s.flags.users.FrontProxy = p.Authenticator()
	return nil
}

// readAuthorization says who decides what users may do.
func (s *settings) readAuthorization(flags *serverflags.Flags) error {
	if !slices.ContainsFunc([]string{"authorization-mode", "authorization-config", "authorization-policy-file", "authorization-webhook-config-file"}, flags.Given) {
		return nil
	}
	switch {
	case s.authorization != "":
		return errors.New("WithAuthorization and --authorization-mode say the same; give one of them")
	case s.authorizer != nil:
		return errors.New("WithAuthorizer and a mode of authorization exclude each other: one of them decides")
	}
	modes, err := rest.NewModes(rest.ModeOptions{
		Modes: flags.List("authorization-mode"), PolicyFile: flags.Text("authorization-policy-file"), ConfigFile: flags.Text("authorization-config"),
		WebhookConfigFile: flags.Text("authorization-webhook-config-file"), WebhookVersion: flags.Value("authorization-webhook-version"),
		AuthorizedTTL: flags.Duration("authorization-webhook-cache-authorized-ttl"), UnauthorizedTTL: flags.Duration("authorization-webhook-cache-unauthorized-ttl"),
	})
	s.modes = modes
	return err
}

func (s *settings) readAccounts(flags *serverflags.Flags) (err error) {
	a := &s.flags.accounts
	a.URLs, a.Audiences, a.JWKSURI = flags.List("service-account-issuer"), flags.List("api-audiences"), flags.Text("service-account-jwks-uri")
	a.MaxExpiration, a.ExactExpiration = flags.Duration("service-account-max-token-expiration"), !flags.Bool("service-account-extend-token-expiration")
	key := flags.Text("service-account-signing-key-file")
	if len(a.URLs) > 0 && key == "" || key != "" && len(a.URLs) == 0 || key == "" && flags.Given("service-account-key-file") {
		return errors.New("--service-account-signing-key-file and --service-account-issuer are required flags")
	}
	if key != "" {
		if a.SigningKey, err = keyutil.PrivateKeyFromFile(key); err != nil {
			return fmt.Errorf("failed to parse service-account-issuer-key-file: %w", err)
		}
	}
	for _, path := range flags.List("service-account-key-file") {
		keys, err := keyutil.PublicKeysFromFile(path)
		if err != nil {
			return fmt.Errorf("--service-account-key-file: %w", err)
		}
		a.Keys = append(a.Keys, keys...)
	}
	return nil
}

func (s *settings) readNetwork(flags *serverflags.Flags) (err error) {
	n := &s.flags.network
	if text := flags.Text("service-cluster-ip-range"); text != "" {
		if n.Services, n.Secondary, err = builtin.ParseServiceRanges(text); err != nil {
			return fmt.Errorf("--service-cluster-ip-range: %w", err)
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
	switch {
	case path == "" || policy == "":
		return nil // as on a real server, one without the other tells nothing
	case s.audit != "":
		return errors.New("WithAudit and --audit-log-path exclude each other")
	}
	rules, err := auditpolicy.LoadPolicyFromFile(policy)
	if err != nil {
		return fmt.Errorf("loading audit policy file: %w", err)
	}
	log := &rest.AuditLog{To: os.Stdout, Policy: rules}
	if path != "-" {
		log.To = appended(path)
		if _, err := log.To.Write(nil); err != nil {
			return fmt.Errorf("--audit-log-path: %w", err)
		}
	}
	s.flags.auditLog = log
	return nil
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

// loopbackName is the server name with which the cluster's own clients get the certificate that
// they trust, whatever the flags say. A real server uses the same name.
const loopbackName = "apiserver-loopback-client"

// configureTLS configures a listener with the cluster's own certificate or, if there are any, with
// those of the flags. In the second case the cluster's own clients have to ask for serverName.
func (f *flagged) configureTLS(own cryptotls.Certificate) (config *cryptotls.Config, serverName string) {
	config = &cryptotls.Config{
		Certificates: f.certificates, ClientAuth: cryptotls.RequestClientCert, MinVersion: f.minVersion, CipherSuites: f.ciphers,
	}
	if len(config.Certificates) == 0 {
		config.Certificates = []cryptotls.Certificate{own}
		return config, ""
	}
	config.GetCertificate = func(hello *cryptotls.ClientHelloInfo) (*cryptotls.Certificate, error) {
		if hello.ServerName == loopbackName {
			return &own, nil
		}
		return nil, nil // that of the flags
	}
	return config, loopbackName
}
