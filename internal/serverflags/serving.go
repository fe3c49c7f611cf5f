package serverflags

import (
	cryptotls "crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/fakecluster/fakecluster/internal/auth/authentication"
)

// serving are the flags with which a cluster serves HTTPS.
var serving = []string{
	"bind-address", "secure-port", "cert-dir", "client-ca-file", "requestheader-client-ca-file", "tls-cert-file", "tls-private-key-file",
	"tls-min-version", "tls-cipher-suites", "tls-curve-preferences", "tls-sni-cert-key", "disable-http2-serving",
}

// Serving configures the listener of a cluster. The zero value uses the cluster's own certificate and the defaults of
// crypto/tls.
type Serving struct {
	TLS     bool   // a flag is given with which a cluster serves HTTPS
	Address string // to listen on; empty: any port
	HTTP1   bool   // no HTTP/2

	minVersion        uint16                        // of TLS
	ciphers           []uint16                      // nil: the default of crypto/tls
	curves            []cryptotls.CurveID           // nil: the default of crypto/tls
	certificate       *certificateFile              // nil: the cluster's own
	named             []*certificateFile            // for some names of the server
	clientCA, proxyCA *authentication.AuthorityFile // nil: none
}

// AnyName reports whether the certificates come from files, so that clients may call the server by
// any name.
func (s *Serving) AnyName() bool { return s.certificate != nil || len(s.named) > 0 }

func (c *Config) readServing(flags *Flags) error {
	if !slices.ContainsFunc(serving, flags.Given) {
		return nil
	}
	if c.other.InProcess {
		return errors.New("InProcess excludes flags about the socket, such as --secure-port: remove one of them")
	}
	c.Serving.TLS = true
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
	if flags.Given("bind-address") || flags.Given("secure-port") {
		c.Serving.Address = net.JoinHostPort(host, strconv.Itoa(port))
	}
	c.Serving.HTTP1 = flags.Bool("disable-http2-serving")
	var err error
	if c.Serving.minVersion, err = cliflag.TLSVersion(flags.Text("tls-min-version")); err != nil {
		return err
	}
	if names := flags.List("tls-cipher-suites"); len(names) > 0 {
		if c.Serving.ciphers, err = cliflag.TLSCipherSuites(names); err != nil {
			return err
		}
	}
	if ids := flags.Numbers("tls-curve-preferences"); len(ids) > 0 {
		if c.Serving.curves, err = cliflag.TLSCurvePreferences(ids); err != nil {
			return err
		}
	}
	for _, pair := range flags.CertificatesByName("tls-sni-cert-key") {
		named, err := readCertificate(pair.CertFile, pair.KeyFile, pair.Names...)
		if err != nil {
			return fmt.Errorf("failed to load SNI cert and key: %w", err)
		}
		c.Serving.named = append(c.Serving.named, named)
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
	if c.Serving.certificate, err = readCertificate(certificate, key); err != nil {
		return fmt.Errorf("the certificate of the server: %w", err)
	}
	return nil
}

// validateUnused checks flags without an effect on a cluster in memory: about other servers, etcd and logs.
func validateUnused(flags *Flags) (found []error) {
	if n := flags.Int("apiserver-count"); flags.Given("apiserver-count") && n <= 0 {
		found = append(found, fmt.Errorf("--apiserver-count should be a positive number, but value '%d' provided", n))
	}
	if name := flags.Text("storage-backend"); name != "" && name != "etcd3" {
		found = append(found, errors.New("--storage-backend invalid, allowed values: etcd3. If not specified, it will default to 'etcd3'"))
	}
	if format := flags.Value("logging-format"); format != "text" && format != "json" {
		found = append(found, field.Invalid(field.NewPath("format"), format, "Unsupported log format"))
	}
	return found
}

// makeServingCertificate writes a certificate for the address and its key, unless both files exist. As on a real server,
// it is an RSA key, so that all ciphers can be used.
func makeServingCertificate(certificate, key, host string) error {
	there, err := certutil.CanReadCertAndKey(certificate, key)
	if there || err != nil {
		return err
	}
	chain, encoded, err := certutil.GenerateSelfSignedCertKey(host, nil, []string{"kubernetes.default.svc", "kubernetes.default", "kubernetes", "localhost"})
	if err != nil {
		return err
	}
	if err := certutil.WriteCert(certificate, chain); err != nil {
		return err
	}
	return keyutil.WriteKey(key, encoded)
}

// LoopbackName is the server name with which the cluster's own clients get the certificate that
// they trust, whatever the flags say. A real server uses the same name.
const LoopbackName = "apiserver-loopback-client"

// ConfigureTLS returns the configuration of a listener, with the certificates of the flags or, without any, the
// cluster's own. If the flags name certificates or authorities, the cluster's own clients must use serverName.
func (s *Serving) ConfigureTLS(own cryptotls.Certificate) (config *cryptotls.Config, serverName string) {
	config = &cryptotls.Config{
		Certificates: []cryptotls.Certificate{own}, ClientAuth: cryptotls.RequestClientCert,
		MinVersion: s.minVersion, CipherSuites: s.ciphers, CurvePreferences: s.curves, NextProtos: []string{"h2", "http/1.1"},
	}
	if s.HTTP1 {
		config.NextProtos = config.NextProtos[1:]
	}
	if s.certificate == nil && len(s.named) == 0 && s.clientCA == nil && s.proxyCA == nil {
		return config, ""
	}
	base := config.Clone()
	config.GetConfigForClient = func(hello *cryptotls.ClientHelloInfo) (*cryptotls.Config, error) {
		if hello.ServerName == LoopbackName {
			return nil, nil // the cluster's own certificate, and certificates of its own clients
		}
		shown := handshakeConfig(base, s.certificate, s.named, hello)
		shown.ClientCAs = s.clientCAs()
		return shown, nil
	}
	return config, LoopbackName
}

// clientCAs returns the authorities that the server sends to clients, which may choose their certificate by them; nil:
// none.
func (s *Serving) clientCAs() *x509.CertPool {
	var pool *x509.CertPool
	for _, file := range []*authentication.AuthorityFile{s.clientCA, s.proxyCA} {
		if file == nil {
			continue
		}
		if pool == nil {
			pool = x509.NewCertPool()
		}
		for _, c := range file.Certificates() {
			pool.AddCert(c)
		}
	}
	return pool
}
