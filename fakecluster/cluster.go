package fakecluster

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/apimachinery/pkg/api/meta"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	clientrest "k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/clientgo"
	"github.com/fakecluster/fakecluster/rest"
	"github.com/fakecluster/fakecluster/store"
)

// Cluster is a running cluster.
type Cluster struct {
	settings settings
	token    string
	store    *store.Store
	server   *rest.Server
	services *services

	converted map[string]bool // the definitions of WithConversion that there are

	// transport is how the cluster reaches itself, and how its clients do if it
	// is in process.
	transport *clientgo.Transport
	access    clientgo.Access
	clients   *clientgo.Clients

	mu        sync.Mutex
	listeners []*httptest.Server
	secure    *clientgo.Access // where HTTPS is served
	closed    bool
}

// Start runs a cluster that ends with the test. It fails the test if the cluster
// cannot start: when options contradict each other, a manifest is not a
// CustomResourceDefinition, or an object is refused.
func Start(t testing.TB, opts ...Option) *Cluster {
	t.Helper()
	c, err := New(opts...)
	if err != nil {
		t.Fatalf("fakecluster: %v", err)
	}
	c.closeWith(t)
	return c
}

func (c *Cluster) closeWith(t testing.TB) {
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("fakecluster: closing: %v", err)
		}
	})
}

// New runs a cluster until Close. Tests have Start.
func New(opts ...Option) (*Cluster, error) {
	var s settings
	for _, o := range opts {
		o(&s)
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	if err := s.loadWebhooks(); err != nil {
		return nil, err
	}
	token := make([]byte, 16)
	if _, err := rand.Read(token); err != nil {
		return nil, fmt.Errorf("making a token: %w", err)
	}
	for _, one := range s.conversions {
		s.services = append(s.services, one.service())
	}
	c := &Cluster{settings: s, token: hex.EncodeToString(token), converted: map[string]bool{}}
	var err error
	if c.store, err = store.Open(s.history); err != nil {
		return nil, fmt.Errorf("opening the store: %w", err)
	}
	if c.services, err = listenServices(s, nil); err != nil {
		_ = c.store.Close()
		return nil, err
	}
	c.server, err = rest.New(c.store, rest.Options{
		Token: c.token, Seed: s.seed, WithoutNamespaceLifecycle: s.noNamespaceRefusal, LegacyAPIs: s.legacyAPIs,
		Services:          c.services,
		GarbageCollection: s.garbageCollection,
		Admission:         s.admission.plugin(), AuditLevel: auditinternal.Level(s.audit),
	})
	if err != nil {
		c.services.close()
		_ = c.store.Close()
		return nil, fmt.Errorf("starting the server: %w", err)
	}
	if err := c.open(); err != nil {
		_ = c.Close()
		return nil, err
	}
	if err := c.load(context.Background()); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// open makes the ways in.
func (c *Cluster) open() (err error) {
	c.transport = clientgo.InProcess(c.server)
	c.access = clientgo.Access{Token: c.token, Transport: c.transport}
	if !c.settings.inProcess {
		c.access = c.listen(c.settings.tls)
	}
	if c.settings.tls {
		c.secure = &c.access
	}
	c.clients, err = clientgo.NewClients(c.access.RESTConfig())
	return err
}

// idleConnections is how many connections a cluster's clients keep: as many as a
// test has goroutines that send requests.
const idleConnections = 100

// listen serves the cluster on a loopback socket.
func (c *Cluster) listen(tls bool) clientgo.Access {
	listener := httptest.NewUnstartedServer(c.server)
	access := clientgo.Access{Token: c.token}
	if tls {
		listener.EnableHTTP2 = true
		listener.StartTLS()
		access.CAData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: listener.Certificate().Raw})
	} else {
		listener.Start()
		// Without one of its own, client-go would share the process's default
		// transport among all clusters, and hold two idle connections at most.
		access.Transport = &http.Transport{MaxIdleConnsPerHost: idleConnections}
	}
	access.URL = listener.URL
	c.listeners = append(c.listeners, listener)
	return access
}

// Close ends every request and watch and frees all that the cluster holds. When
// it returns no goroutine, socket or file of the cluster is left, but for one
// goroutine of the store's that ends within a second (inside a testing/synctest
// bubble Close waits for it; there a second takes no time). Further calls do
// nothing.
func (c *Cluster) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	listeners := c.listeners
	c.mu.Unlock()

	c.server.Close()
	if idle, ok := c.access.Transport.(interface{ CloseIdleConnections() }); ok {
		idle.CloseIdleConnections()
	}
	for _, l := range listeners {
		l.CloseClientConnections()
		l.Close()
	}
	c.services.close()
	if c.transport != nil {
		_ = c.transport.Close() // always nil
	}
	return c.store.Close()
}

// Fork runs an independent copy of the cluster as it is now, with the same
// options, which ends with the test. Both go on from the same revision; a watch
// on the fork may begin before it. What is written to one is not seen by the
// other.
func (c *Cluster) Fork(t testing.TB) *Cluster {
	t.Helper()
	forked, err := c.store.Fork()
	if err != nil {
		t.Fatalf("fakecluster: forking: %v", err)
	}
	services, err := listenServices(c.settings, c.services.authority)
	if err != nil {
		_ = forked.Close()
		t.Fatalf("fakecluster: forking: %v", err)
	}
	server, err := c.server.Fork(forked, services)
	if err != nil {
		services.close()
		_ = forked.Close()
		t.Fatalf("fakecluster: forking: %v", err)
	}
	f := &Cluster{settings: c.settings, token: c.token, store: forked, server: server, services: services}
	if err := f.open(); err != nil {
		_ = f.Close()
		t.Fatalf("fakecluster: forking: %v", err)
	}
	f.closeWith(t)
	return f
}

// RESTConfig is a new client-go configuration for the cluster at each call. Its
// user is a cluster admin; it has no rate limit.
func (c *Cluster) RESTConfig() *clientrest.Config { return c.access.RESTConfig() }

// URL is where the cluster listens, such as http://127.0.0.1:34567. Requests need
// the token of RESTConfig. A cluster that is InProcess listens nowhere; its URL
// works with the transport of its RESTConfig alone.
func (c *Cluster) URL() string {
	if c.access.URL == "" {
		return clientgo.InProcessURL
	}
	return c.access.URL
}

// Kubeconfig is a kubeconfig file for kubectl and other programs. They send a
// token over HTTPS only, so the first call makes a cluster that does not listen
// there begin to.
func (c *Cluster) Kubeconfig() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.secure == nil {
		if c.closed {
			return nil
		}
		access := c.listen(true)
		c.secure = &access
	}
	config, err := c.secure.Kubeconfig()
	if err != nil {
		panic(err) // it has a URL, and it is HTTPS
	}
	return config
}

// Dynamic is a client for objects of any kind.
func (c *Cluster) Dynamic() dynamic.Interface { return c.clients.Dynamic }

// Discovery is a client that asks what is served.
func (c *Cluster) Discovery() discovery.DiscoveryInterface { return c.clients.Discovery }

// APIExtensions is a client for CustomResourceDefinitions.
func (c *Cluster) APIExtensions() apiextensions.Interface { return c.clients.Extensions }

// Audit is the audit trail that WithAudit has kept, oldest first: one event for each
// request that was answered, and for each write that the server made itself, as
// system:apiserver or one of its controllers; two for a watch, when it began and when
// it ended. A fork begins with an empty one.
func (c *Cluster) Audit() []auditv1.Event { return c.server.AuditEvents() }

// RESTMapper maps kinds to resources. It looks again when it is asked for a kind
// that it does not know.
func (c *Cluster) RESTMapper() meta.RESTMapper { return c.clients.Mapper }
