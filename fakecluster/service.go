package fakecluster

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fakecluster/fakecluster/internal/auth/authentication"
	"github.com/fakecluster/fakecluster/internal/bubble"
	"github.com/fakecluster/fakecluster/internal/pipe"
)

// service is a handler and the service reference that reaches it.
type service struct {
	namespace, name string
	port            int
	handler         http.Handler
}

// check returns an error for a service that no reference can name, and for a nil handler, which net/http
// would replace by the mux of the process.
func (s service) check() error {
	switch {
	case s.namespace == "" || s.name == "" || s.port < 1 || s.port > 65535:
		return fmt.Errorf("a service needs a namespace, a name and a port from 1 to 65535, not namespace %q, name %q, port %d", s.namespace, s.name, s.port)
	case s.handler == nil:
		return fmt.Errorf("the handler for %s is nil", reference(s.namespace, s.name, int32(s.port)))
	}
	return nil
}

// WithService makes a handler reachable for webhooks and APIServices that refer to a service: a namespace, a
// name and a port. No Service object has to exist. The cluster serves the handler over TLS with a certificate
// for NAME.NAMESPACE.svc. An object that refers to the service needs [Cluster.CABundle] as its caBundle. The
// cluster fills it in for the conversion webhooks of WithCRDPaths, WithManifests and WithObjects, for the
// webhooks of WithWebhookPaths, and for the APIServices of WithManifests and WithObjects.
//
// # Aggregated API servers
//
// If an APIService points to the service, the handler serves a version of the API. The cluster
// forwards all requests below /apis/GROUP/VERSION, watches and upgrades included, and sends the
// user to the handler in the headers X-Remote-User, -Group, -Uid and -Extra-. It presents a client
// certificate if the flags --proxy-client-cert-file and --proxy-client-key-file name one, or if
// package workloads runs Nodes. Discovery and OpenAPI of the handler appear in those of the
// cluster.
//
// A request that the cluster cannot forward is answered with 503 and the text "service
// unavailable". The condition Available of the APIService says why. It is brought up to date by
// each write to the APIService, to the Service that it names, or to its EndpointSlices, and by
// a request that finds the handler unavailable: a handler that begins to answer later is
// available for the first request, without a write.
//
// An empty name or namespace, a port outside of 1 to 65535, a nil handler, or a service that
// is given twice is an error. The option may be given more than once.
//
// Default: if package workloads runs Nodes, the Pods of the Service that NAME and NAMESPACE name
// answer. Otherwise a call of a webhook that refers to a service fails with: service "NAME" not
// found. An APIService that refers to one is not available, unless the Service has the type
// ExternalName and names the host of its server.
func WithService(namespace, name string, port int, h http.Handler) Option {
	return func(s *settings) { s.services = append(s.services, service{namespace, name, port, h}) }
}

// services has the handlers that a cluster reaches by a reference to a service. Each has a listener of its
// own: a socket, or memory if the cluster is in process. It implements server.Services.
type services struct {
	// authority signs the certificates of the services; nil without services. A fork has the
	// same one as the cluster that it was forked from, because the objects of the fork contain
	// its caBundle.
	authority *authentication.Authority
	mu        sync.RWMutex // guards authority and listeners: an Attachment adds to them, and removes listeners
	listeners map[string]*listener
	panics    panics        // of the handlers, and of controllers
	server    WebhookServer // stands for every other service, if it has a port
	freePort  func()        // gives the port of server back; nil if it has none
	served    servedWebhooks
	// network reaches the pods of the cluster and the cluster IPs of Services; nil: no pods run.
	network atomic.Pointer[dialFunc]
	// allows decides which calls of admission webhooks count as allowed; nil: none.
	allows atomic.Pointer[func(AdmissionCall) bool]
	// certificate is the client certificate of the flags; nil: they name none.
	certificate func() *tls.Certificate
	// frontProxy is the proxy of a cluster in which pods run; nil: there is none, or flags name one.
	frontProxy atomic.Pointer[frontProxy]
	// kubelets returns how to connect to the kubelet of a node, or nil; nil: no kubelets run.
	kubelets atomic.Pointer[func(node string) func(context.Context) (net.Conn, error)]
}

// dialFunc is the signature of [net.Dialer.DialContext].
type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// listener is the address of a service.
type listener struct {
	url   string
	dial  func(context.Context) (net.Conn, error) // nil: dial the url
	close func()
}

func reference(namespace, name string, port int32) string {
	return fmt.Sprintf("%s.%s.svc:%d", name, namespace, port)
}

// ResolveEndpoint implements server.Services.
func (s *services) ResolveEndpoint(namespace, name string, port int32) (*url.URL, error) {
	l := s.listenerOf(reference(namespace, name, port))
	if l == nil && s.server.Port != 0 {
		return &url.URL{Scheme: "https", Host: s.server.address()}, nil
	}
	if l == nil {
		return nil, fmt.Errorf("service %q not found", name)
	}
	return url.Parse(l.url)
}

// DialContext implements server.Services.
func (s *services) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if l := s.listenerOf(address); l != nil && l.dial != nil {
		return l.dial(ctx)
	}
	if s.server.Port != 0 && address == s.server.address() {
		if dial := s.served.dial(); dial != nil {
			return dial(ctx)
		}
		if bubble.Inside() {
			return nil, errors.New("no webhook server runs: in a testing/synctest bubble it cannot listen on a socket; give its handler to Cluster.ServeWebhooks, or run the manager with package controllerruntime")
		}
	}
	if dial := s.network.Load(); dial != nil && inCluster(address) {
		return (*dial)(ctx, network, address)
	}
	return bubble.DialContext(ctx, network, address)
}

// inCluster reports whether an address is in the network of the pods: any IP except loopback, and names of
// Services.
func inCluster(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return ip != nil && !ip.IsLoopback() || strings.HasSuffix(host, ".svc") || strings.HasSuffix(host, ".svc.cluster.local")
}

// Connected implements server.Services.
func (s *services) Connected() bool { return s.network.Load() != nil }

// Kubelet implements server.Services.
func (s *services) Kubelet(node string) func(context.Context) (net.Conn, error) {
	if dial := s.kubelets.Load(); dial != nil {
		return (*dial)(node)
	}
	return nil
}

// Handles implements server.Services.
func (s *services) Handles(namespace, name string, port int32) bool {
	return s.listenerOf(reference(namespace, name, port)) != nil
}

// AllowsAdmission implements server.Services.
func (s *services) AllowsAdmission(webhook, namespace, name string, port int32) bool {
	allows := s.allows.Load()
	return allows != nil && !s.Handles(namespace, name, port) && (*allows)(AdmissionCall{Webhook: webhook, Namespace: namespace, Service: name, Port: port})
}

// listenerOf returns the listener of a reference, or nil.
func (s *services) listenerOf(reference string) *listener {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.listeners[reference]
}

// trustAPIService fills in the caBundle of an APIService that points to a handler, unless it
// has insecureSkipTLSVerify.
func (s *services) trustAPIService(u *unstructured.Unstructured) {
	spec, _, _ := unstructured.NestedMap(u.Object, "spec")
	to, ok := spec["service"].(map[string]any)
	if insecure, _ := spec["insecureSkipTLSVerify"].(bool); !ok || insecure {
		return
	}
	namespace, _ := to["namespace"].(string)
	name, _ := to["name"].(string)
	port, ok := to["port"].(int64)
	if !ok {
		port = 443
	}
	if s.Handles(namespace, name, int32(port)) {
		spec["caBundle"] = base64.StdEncoding.EncodeToString(s.bundle())
		u.Object["spec"] = spec
	}
}

// listenServices serves all services of the options. Their certificates are signed by the given authority or,
// if it is nil, by a new one.
func listenServices(o settings, by *authentication.Authority) (*services, error) {
	s := &services{authority: by, listeners: map[string]*listener{}, panics: panics{now: o.now}, certificate: o.flags.ProxyClient}
	if len(o.services) == 0 && len(o.webhookPaths) == 0 {
		return s, nil
	}
	if err := s.haveAuthority(); err != nil {
		return nil, err
	}
	if len(o.webhookPaths) > 0 {
		if err := s.prepareServer(); err != nil {
			s.close()
			return nil, fmt.Errorf("preparing for a webhook server: %w", err)
		}
	}
	for _, one := range o.services {
		if err := s.listen(one, o.inProcess); err != nil {
			s.close()
			return nil, err
		}
	}
	return s, nil
}

// haveAuthority creates the authority if there is none.
func (s *services) haveAuthority() error {
	if s.authority != nil {
		return nil
	}
	var err error
	if s.authority, err = authentication.NewAuthority("fakecluster"); err != nil {
		return fmt.Errorf("making a certificate authority: %w", err)
	}
	return nil
}

// listen serves a handler of WithService.
func (s *services) listen(one service, inMemory bool) error {
	ref := reference(one.namespace, one.name, int32(one.port))
	if err := one.check(); err != nil {
		return fmt.Errorf("WithService: %w", err)
	}
	if s.listeners[ref] != nil {
		return fmt.Errorf("WithService: %s is given twice", ref)
	}
	return s.serve(one, ref, inMemory)
}

// serve serves a handler, in memory or on a socket. The caller has created the authority, and holds the lock
// if the cluster runs.
func (s *services) serve(one service, ref string, inMemory bool) error {
	certificate, err := s.authority.ServerCertificate(one.name + "." + one.namespace + ".svc")
	if err != nil {
		return fmt.Errorf("making a certificate for %s: %w", ref, err)
	}
	secure := &tls.Config{Certificates: []tls.Certificate{certificate}, ClientAuth: tls.RequestClientCert}
	server, end := newServer(s.panics.noting(one.namespace+"/"+one.name, one.handler))
	if inMemory {
		m := pipe.Serve(server, secure)
		s.listeners[ref] = &listener{url: "https://" + ref, dial: m.DialContext, close: func() {
			end()
			m.Stop()
		}}
		return nil
	}
	l := httptest.NewUnstartedServer(nil)
	l.Config = server
	l.TLS = secure
	l.StartTLS()
	s.listeners[ref] = &listener{url: l.URL, close: func() {
		end()
		l.CloseClientConnections()
		l.Close()
	}}
	return nil
}

// attach serves the handler of an Attachment, in memory.
func (s *services) attach(one service) error {
	if err := one.check(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ref := reference(one.namespace, one.name, int32(one.port))
	if s.listeners[ref] != nil {
		return fmt.Errorf("%s already has a handler", ref)
	}
	if err := s.haveAuthority(); err != nil {
		return err
	}
	return s.serve(one, ref, true)
}

// detach ends a service of attach.
func (s *services) detach(reference string) {
	s.mu.Lock()
	l := s.listeners[reference]
	delete(s.listeners, reference)
	s.mu.Unlock()
	if l != nil {
		l.close()
	}
}

// newServer returns a server of a handler, and a function that cancels the contexts of all its requests.
func newServer(h http.Handler) (server *http.Server, end func()) {
	// net/http cancels the context of a request when the caller goes, but only after
	// the handler has read the body. This context ends all handlers in any case.
	both, end := context.WithCancel(context.Background())
	return &http.Server{
		Handler: h, ErrorLog: log.New(withoutHandshakes{}, "", log.LstdFlags),
		BaseContext: func(net.Listener) context.Context { return both },
	}, end
}

// withoutHandshakes writes to the standard logger, except for failed TLS handshakes, because the client
// already gets a better error.
type withoutHandshakes struct{}

func (withoutHandshakes) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("TLS handshake error")) {
		return len(line), nil
	}
	return log.Writer().Write(line)
}

func (s *services) close() {
	s.mu.Lock()
	listeners := s.listeners
	s.listeners = nil
	s.mu.Unlock()
	for _, l := range listeners {
		l.close()
	}
	s.served.close()
	if s.freePort != nil {
		s.freePort()
	}
	if s.server.CertDir != "" {
		_ = os.RemoveAll(s.server.CertDir) // after an error the rest stays in the system's temporary folder
	}
}

// signer returns the authority, or nil.
func (s *services) signer() *authentication.Authority {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.authority
}

// CABundle returns the PEM of the authority that signed the certificates of WithService, WithConversion and
// WithWebhookPaths. Set it as the caBundle of webhook configurations. Without these options it is nil, unless
// an [Attachment] serves a handler.
func (c *Cluster) CABundle() []byte { return c.services.bundle() }

func (s *services) bundle() []byte {
	if a := s.signer(); a != nil {
		return a.PEM()
	}
	return nil
}

// ServiceURL returns the address of a handler of WithService, such as https://127.0.0.1:34567, for webhook
// configurations with a url. The handler's certificate is valid for this address too. In a cluster that is
// InProcess, only the cluster itself can reach the address, such as https://hook.default.svc:443. Without
// such a handler ServiceURL returns "".
func (c *Cluster) ServiceURL(namespace, name string, port int) string {
	l := c.services.listenerOf(reference(namespace, name, int32(port)))
	if l == nil {
		return ""
	}
	return l.url
}
