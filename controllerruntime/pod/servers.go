package pod

import (
	"cmp"
	"crypto/tls"
	"errors"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"path"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fakecluster/fakecluster/workloads"
)

// newServer returns a server with the limits of a manager's servers. When it stops, requests have a minute to
// end.
func newServer(name string, l net.Listener, handler http.Handler) *manager.Server {
	minute := time.Minute
	return &manager.Server{
		Name: name, Listener: l, ShutdownTimeout: &minute,
		Server: &http.Server{Handler: handler, MaxHeaderBytes: 1 << 20, IdleTimeout: 90 * time.Second, ReadHeaderTimeout: 32 * time.Second},
	}
}

// serveHealth adds the server of health probes to the manager, if it has an address.
func (m *inPod) serveHealth() error {
	o := m.options
	if o.HealthProbeBindAddress == "" || o.HealthProbeBindAddress == "0" {
		return nil
	}
	mux := http.NewServeMux()
	for path, checks := range map[string]map[string]healthz.Checker{
		cmp.Or(o.ReadinessEndpointName, "/readyz"): m.ready,
		cmp.Or(o.LivenessEndpointName, "/healthz"): m.health,
	} {
		if checks != nil {
			handler := http.StripPrefix(path, &healthz.Handler{Checks: checks})
			mux.Handle(path, handler)
			mux.Handle(path+"/", handler)
		}
	}
	l, err := m.container.Listen("tcp", o.HealthProbeBindAddress)
	if err != nil {
		return err
	}
	return m.Add(newServer("health probe", l, mux))
}

// serveMetrics adds the server of metrics to the manager, unless it is turned off.
func (m *inPod) serveMetrics() error {
	o := m.options.Metrics
	if o.BindAddress == "0" {
		return nil
	}
	promOptions := promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}
	for _, set := range o.HandlerOpts {
		set(&promOptions)
	}
	handlers := map[string]http.Handler{"/metrics": promhttp.HandlerFor(metrics.Registry, promOptions)}
	maps.Copy(handlers, o.ExtraHandlers)
	maps.Copy(handlers, m.extra)
	var filter metricsserver.Filter
	var err error
	if o.FilterProvider != nil {
		if filter, err = o.FilterProvider(m.GetConfig(), m.GetHTTPClient()); err != nil {
			return err
		}
	}
	mux := http.NewServeMux()
	for path, handler := range handlers {
		if filter != nil {
			if handler, err = filter(m.GetLogger().WithValues("path", path), handler); err != nil {
				return err
			}
		}
		mux.Handle(path, handler)
	}
	l, err := m.listenForMetrics()
	if err != nil {
		return err
	}
	return m.Add(newServer("metrics", l, mux))
}

func (m *inPod) listenForMetrics() (net.Listener, error) {
	o := m.options.Metrics
	l, err := m.container.Listen("tcp", cmp.Or(o.BindAddress, metricsserver.DefaultBindAddress))
	if err != nil || !o.SecureServing {
		return l, err
	}
	config := &tls.Config{NextProtos: []string{"h2"}}
	for _, set := range o.TLSOpts {
		set(config)
	}
	if config.GetCertificate == nil && len(config.Certificates) == 0 {
		files := certificate{m.container, cmp.Or(o.CertDir, path.Join(tempDir(m.container), "k8s-metrics-server", "serving-certs")), o.CertName, o.KeyName}
		config.GetCertificate = files.get
		if _, err := files.get(nil); errors.Is(err, fs.ErrNotExist) {
			pair, err := selfSigned()
			if err != nil {
				return nil, err
			}
			config.GetCertificate, config.Certificates = nil, []tls.Certificate{pair}
		}
	}
	return tls.NewListener(l, config), nil
}

// selfSigned returns a self-signed certificate, which a manager uses for metrics if it has no other.
func selfSigned() (tls.Certificate, error) {
	cert, key, err := certutil.GenerateSelfSignedCertKey("localhost", []net.IP{{127, 0, 0, 1}}, nil)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(cert, key)
}

// certificate is a certificate with its key in files of a container.
type certificate struct {
	container      *workloads.Container
	dir, cert, key string // names of the files; empty: tls.crt and tls.key
}

// get reads the certificate from its files, because a mounted Secret may have changed.
func (c certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	cert, err := c.container.ReadFile(path.Join(c.dir, cmp.Or(c.cert, "tls.crt")))
	if err != nil {
		return nil, err
	}
	key, err := c.container.ReadFile(path.Join(c.dir, cmp.Or(c.key, "tls.key")))
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	return &pair, err
}

// tempDir is os.TempDir in a container.
func tempDir(c *workloads.Container) string { return cmp.Or(c.Getenv("TMPDIR"), "/tmp") }
