package serverflags

import (
	"bytes"
	cryptotls "crypto/tls"
	"crypto/x509"
	"errors"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fakecluster/fakecluster/internal/manifests"
)

// certificateFile is a certificate and its key in files. Each TLS handshake reads them, so a renewed certificate is used
// at once. If they cannot be read, for example because one is half written, the former certificate stays. It is safe for
// concurrent use.
type certificateFile struct {
	cert, key string
	names     []string // of the server, which the certificate is for; none: those that it has

	mu   sync.Mutex
	text [2][]byte // of the files
	pair *cryptotls.Certificate
	own  []string // names in the certificate
}

// readCertificate reads a certificate and its key for the first time.
func readCertificate(cert, key string, names ...string) (*certificateFile, error) {
	if cert == "" || key == "" {
		return nil, errors.New("missing filename for serving cert")
	}
	c := &certificateFile{cert: cert, key: key, names: names}
	return c, c.read()
}

// read reads the files.
func (c *certificateFile) read() error {
	cert, err := manifests.ReadFile(c.cert)
	if err != nil {
		return err
	}
	key, err := manifests.ReadFile(c.key)
	if err != nil {
		return err
	}
	if bytes.Equal(cert, c.text[0]) && bytes.Equal(key, c.text[1]) {
		return nil
	}
	pair, err := cryptotls.X509KeyPair(cert, key)
	if err != nil {
		return err
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return err
	}
	c.text, c.pair, c.own = [2][]byte{cert, key}, &pair, namesIn(leaf)
	return nil
}

// current returns the certificate as it is now, and its names.
func (c *certificateFile) current() (pair *cryptotls.Certificate, own []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.read() // otherwise the last one counts
	return c.pair, c.own
}

// namesIn returns the DNS names in a certificate, without IP addresses, because a client does not send the address that
// it calls.
func namesIn(cert *x509.Certificate) []string {
	var names []string
	name := cert.Subject.CommonName
	if net.ParseIP(name) == nil && (name == "*" || len(validation.IsDNS1123Subdomain(strings.TrimPrefix(name, "*."))) == 0) {
		names = append(names, name)
	}
	return append(names, cert.DNSNames...)
}

// handshakeConfig configures the handshake with a client. The client gets the certificate for the name or the address by
// which it calls the server, and otherwise the usual certificate, or that of base if usual is nil. Of several
// certificates for a name the first is used; names in flags come before names in certificates.
func handshakeConfig(base *cryptotls.Config, usual *certificateFile, named []*certificateFile, hello *cryptotls.ClientHelloInfo) *cryptotls.Config {
	config := base.Clone()
	if usual != nil {
		pair, _ := usual.current()
		config.Certificates = []cryptotls.Certificate{*pair}
	}
	if len(named) == 0 {
		return config
	}
	given, own := map[string]*cryptotls.Certificate{}, map[string]*cryptotls.Certificate{}
	for _, file := range slices.Backward(named) {
		pair, names := file.current()
		for _, name := range file.names {
			given[name] = pair
		}
		if len(file.names) == 0 {
			for _, name := range names {
				own[name] = pair
			}
		}
	}
	maps.Copy(own, given)
	if hello.ServerName == "" && hello.Conn != nil {
		if host, _, err := net.SplitHostPort(hello.Conn.LocalAddr().String()); err == nil && own[host] != nil {
			config.Certificates = []cryptotls.Certificate{*own[host]}
			return config
		}
	}
	//lint:ignore SA1019 crypto/tls looks for names with wildcards in it
	config.NameToCertificate = own
	for _, name := range slices.Sorted(maps.Keys(own)) {
		config.Certificates = append(config.Certificates, *own[name])
	}
	return config
}
