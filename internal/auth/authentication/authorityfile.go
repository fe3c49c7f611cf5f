package authentication

import (
	"crypto/x509"
	"fmt"
	"slices"
	"sync"

	certutil "k8s.io/client-go/util/cert"
	"k8s.io/klog/v2"

	"github.com/fakecluster/fakecluster/internal/manifests"
)

// AuthorityFile is a file with the certificates of authorities. A real server watches the file. Here each call reads it
// again if it has changed. If that fails, for example because the file is half written, the authorities do not change.
// It is safe for concurrent use.
type AuthorityFile struct {
	path string

	mu           sync.Mutex
	read         manifests.Stamp
	bundle       string
	certificates []*x509.Certificate
	pool         *x509.CertPool
}

// ReadAuthorities reads a file for the first time. It fails if the file has no certificate.
func ReadAuthorities(path string) (*AuthorityFile, error) {
	f := &AuthorityFile{path: path, read: manifests.StampOf(path)}
	if err := f.load(); err != nil {
		return nil, err
	}
	return f, nil
}

// load reads the file if it has changed.
func (f *AuthorityFile) load() error {
	data, err := manifests.ReadFile(f.path)
	if err != nil || string(data) == f.bundle {
		return err
	}
	certificates, err := certutil.ParseCertsPEM(data)
	if err != nil {
		return fmt.Errorf("error reading %s: %w", f.path, err)
	}
	f.bundle, f.certificates, f.pool = string(data), certificates, x509.NewCertPool()
	for _, c := range certificates {
		f.pool.AddCert(c)
	}
	return nil
}

// refresh updates the fields if the file has changed. The caller holds the lock.
func (f *AuthorityFile) refresh() {
	current := manifests.StampOf(f.path)
	if current.Equals(f.read) {
		return
	}
	f.read = current
	if err := f.load(); err != nil {
		klog.ErrorS(err, "Reloading authorities")
	}
}

// Bundle returns the text of the file.
func (f *AuthorityFile) Bundle() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refresh()
	return f.bundle
}

// Pool returns a pool with the authorities. It must not be altered.
func (f *AuthorityFile) Pool() *x509.CertPool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refresh()
	return f.pool
}

// Certificates returns the certificates of the authorities. They must not be altered.
func (f *AuthorityFile) Certificates() []*x509.Certificate {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refresh()
	return f.certificates
}

// Overlaps reports whether a certificate is in both files.
func (f *AuthorityFile) Overlaps(other *AuthorityFile) bool {
	mine := f.Certificates()
	return slices.ContainsFunc(other.Certificates(), func(c *x509.Certificate) bool { return slices.ContainsFunc(mine, c.Equal) })
}
