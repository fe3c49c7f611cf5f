package fakecluster

import (
	"context"
	"crypto/ecdsa"
	cryptotls "crypto/tls"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/apimachinery/pkg/api/meta"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	clientrest "k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/clientgo"
	"github.com/fakecluster/fakecluster/faults"
	"github.com/fakecluster/fakecluster/internal/auth/authentication"
	"github.com/fakecluster/fakecluster/internal/bubble"
	"github.com/fakecluster/fakecluster/internal/server"
	"github.com/fakecluster/fakecluster/internal/server/console"
	"github.com/fakecluster/fakecluster/rest"
	"github.com/fakecluster/fakecluster/store"
)

// Cluster is a running cluster. Its methods are safe for concurrent use.
type Cluster struct {
	settings settings
	token    string
	store    *store.Store
	server   *server.Cluster
	api      *rest.Handler // serves the server over HTTP
	page     *console.Report
	services *services

	converted map[string]bool // the definitions of WithConversion that have been installed

	resumed    bool              // the store comes from a snapshot or a data file
	accountKey *ecdsa.PrivateKey // signs tokens of service accounts; from a snapshot or data file; nil: none

	// transport calls the server directly. The clients of a cluster that is in process use it.
	transport *clientgo.Transport
	access    clientgo.Access
	clients   *clientgo.Clients
	clientset func() *kubernetes.Clientset

	mu        sync.Mutex
	listeners []*httptest.Server
	secure    *clientgo.Access // the HTTPS listener; nil until there is one
	closed    bool
	// stopPanics ends the recording of panics whose context is not of this cluster; nil: there is none, or
	// the end of the test ends it.
	stopPanics func()
	wrong      []error     // faults that could not be injected
	held       faults.Hold // the last one; nil: none
	attached   []*Attachment

	test testing.TB // that the cluster ends with; nil: none
	home home
}

// Start runs a cluster until the test and its subtests are complete. If the test fails, its log shows what
// has happened in the cluster, in at most 60 lines: rejected requests, conflicts, handlers and controllers
// that panicked, objects that are written endlessly, or were deleted and still exist, kinds that a controller
// owns and does not watch, webhooks that were never called, repeated reads without a change. A test that
// passes logs none of this. Start fails the test with t.Fatal if the cluster cannot start: for example if
// options contradict each other, a path does not contain a CustomResourceDefinition, or the server rejects an
// object.
func Start(t testing.TB, opts ...Option) *Cluster {
	t.Helper()
	checkTest(t)
	c, err := New(opts...)
	if err != nil {
		t.Fatalf("fakecluster: %v", err)
	}
	c.closeWith(t)
	return c
}

// New runs a cluster until Close. It is for programs, examples and TestMain; tests use Start.
// When it returns, everything that the options ask for has been created. After an error
// nothing is left to close.
func New(opts ...Option) (*Cluster, error) {
	s := settings{limits: usualLimits}
	for i, o := range opts {
		if o == nil {
			return nil, fmt.Errorf("option %d is nil", i+1)
		}
		o(&s)
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	if err := s.loadWebhooks(); err != nil {
		return nil, err
	}
	if err := s.readModes(); err != nil {
		return nil, err
	}
	if err := s.readFlags(); err != nil {
		return nil, err
	}
	if err := s.checkPort(); err != nil {
		return nil, err
	}
	for _, one := range s.conversions {
		s.services = append(s.services, one.service())
	}
	c := &Cluster{settings: s, converted: map[string]bool{}, home: home{inBubble: bubble.Inside()}}
	err := c.openStore()
	if err != nil {
		return nil, err
	}
	if c.services, err = listenServices(s, nil); err != nil {
		_ = c.store.Close()
		return nil, err
	}
	users := s.flags.Users
	users.Requests = s.authenticator
	accounts := s.flags.Accounts
	if accounts.SigningKey == nil && c.accountKey != nil {
		accounts.SigningKey = c.accountKey
	}
	c.server, err = server.New(c.store, server.Options{
		Token: c.token, Modes: s.modes, Now: s.now, Seed: s.seed, EnableAdmissionPlugins: s.admissionPlugins, DisableAdmissionPlugins: s.noAdmissionPlugins,
		AdmissionConfigFile: s.flags.AdmissionConfigFile, LegacyAPIs: s.legacyAPIs, RuntimeConfig: s.runtimeConfig,
		Services: c.services, Controllers: s.acting(), CompactionInterval: s.compaction,
		Functions: s.admission.plugin(), AuditLevel: auditinternal.Level(s.audit), AuditLog: s.flags.AuditLog,
		Users: users, AuthenticationInfo: s.flags.AuthenticationInfo, Authorizer: s.authorizer, Accounts: accounts, Network: s.flags.Network,
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
	c.server.History.Restart() // the requests until now have created what the options name
	c.watchBubble()
	return c, nil
}

// open creates the HTTP handler, the listener or the in-process transport, and the clients.
func (c *Cluster) open() (err error) {
	flags := &c.settings.flags
	c.page = &console.Report{Cluster: c.server}
	c.api = rest.New(c.server, rest.Options{
		StrictTransportSecurity: flags.StrictTransportSecurity, AllowedOrigins: flags.AllowedOrigins, RequestTimeout: flags.RequestTimeout, MinWatchTimeout: flags.MinWatchTimeout,
		FlowControl: flags.FlowControl, MaxWatches: c.settings.limits.watches, Flags: c.settings.commandLine, WithoutProfiling: flags.WithoutProfiling,
	})
	handler, err := c.handler()
	if err != nil {
		return err
	}
	c.transport = clientgo.InProcess(c.endEndless(handler))
	c.access = clientgo.Access{Token: c.token, Transport: c.atHome(c.transport)}
	if !c.settings.inProcess {
		if c.access, err = c.listen(c.settings.tls, c.settings.flags.Serving.Address); err != nil {
			return err
		}
	}
	if c.settings.tls {
		c.secure = &c.access
	}
	c.clientset = sync.OnceValue(func() *kubernetes.Clientset { return kubernetes.NewForConfigOrDie(c.RESTConfig()) })
	c.clients, err = clientgo.NewClients(c.RESTConfig())
	return err
}

// secure is what a server needs for TLS.
type secure struct {
	certificate cryptotls.Certificate
	authority   []byte // that signed it, as PEM
}

// secured returns what the servers of all clusters need for TLS. It is made once in a process.
var secured = sync.OnceValues(func() (s secure, err error) {
	authority, err := authentication.OfProcess()
	if err != nil {
		return s, fmt.Errorf("making a certificate authority: %w", err)
	}
	s.authority = authority.PEM()
	s.certificate, err = authority.ServerCertificate(ownNames...)
	return s, err
})

// drainTime is how long Close waits for computations of requests that have ended.
const drainTime = 5 * time.Second

// Close ends all requests and watches, and frees what the cluster holds. When it returns, no goroutine,
// socket or file of the cluster is left, except for one goroutine of the store that ends within a second.
// Inside a testing/synctest bubble Close waits for that one, which takes no real time. Further calls do
// nothing and return nil. For a cluster without a test, the error also names faults that could not be
// injected or have never fired.
//
// Some computations cannot be interrupted and continue after their request has ended, for example a strategic
// merge patch of a list with 25,000 items, or a function of WithAdmission that ignores its context. Close
// waits five seconds for them, and then returns an error that names the request.
func (c *Cluster) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	listeners, errs, attached := c.listeners, c.wrong, c.attached
	if c.stopPanics != nil {
		c.stopPanics()
	}
	c.mu.Unlock()
	if c.home.stop != nil {
		c.home.stop()
	}

	for _, a := range slices.Backward(attached) {
		a.stop()
	}

	c.server.Messages.To(nil)
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
	if err := c.api.Drain(drainTime); err != nil {
		errs = append(errs, err)
	}
	if c.test == nil {
		errs = append(errs, c.unfired()...)
	}
	return errors.Join(append(errs, c.store.Close())...)
}

// Fork runs an independent copy of the cluster as it is now, until the test and its subtests
// are complete. The copy has the same objects, options and history: a watch on it may begin
// at a revision before the fork. Later writes to one are not seen by the other. The copy has
// its own URL, with the same token, its own WebhookServer and an empty audit trail. Both call
// the same handlers of WithService and functions of WithAdmission. The copy of a cluster in a
// data file is in memory only. Forking does not copy the
// objects and takes well under a millisecond. An error fails the test with t.Fatal.
func (c *Cluster) Fork(t testing.TB) *Cluster {
	t.Helper()
	checkTest(t)
	f, err := c.NewFork()
	if err != nil {
		t.Fatalf("fakecluster: %v", err)
	}
	f.closeWith(t)
	return f
}

// NewFork is Fork for programs, examples and TestMain: the copy runs until its Close. It fails if
// the cluster is closed. After an error nothing is left to close.
func (c *Cluster) NewFork() (*Cluster, error) {
	settings := c.settings
	if bubble.Inside() && !settings.inProcess {
		if !bubble.Driven() {
			return nil, fmt.Errorf("forking: %w", errForkInBubble)
		}
		settings.inProcess, settings.tls = true, false // the clients of a bubble that another process drives do not use the socket
	}
	forked, err := c.store.Fork()
	if err != nil {
		return nil, fmt.Errorf("forking: %w", err)
	}
	services, err := listenServices(settings, c.services.signer())
	if err != nil {
		_ = forked.Close()
		return nil, fmt.Errorf("forking: %w", err)
	}
	fork, err := c.server.Fork(forked, services)
	if err != nil {
		services.close()
		_ = forked.Close()
		return nil, fmt.Errorf("forking: %w", err)
	}
	settings.flags.Serving.Address = "" // the origin listens on it
	f := &Cluster{settings: settings, token: c.token, accountKey: c.accountKey, store: forked, server: fork, services: services, home: home{inBubble: bubble.Inside(), outer: c.outerContexts()}}
	if err := f.open(); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("forking: %w", err)
	}
	f.watchBubble()
	return f, nil
}

// RESTConfig returns a client-go configuration for the cluster, a new one at each call. Its
// user is kubernetes-admin of the group system:masters, who may do everything. Requests are not
// rate-limited (QPS is -1).
func (c *Cluster) RESTConfig() *clientrest.Config {
	cfg := c.access.RESTConfig()
	if cfg.Transport == nil { // client-go creates the transport
		cfg.Wrap(c.atHome)
	}
	return cfg
}

// URL returns the address of the cluster, such as http://127.0.0.1:34567. A request without
// credentials of the cluster is answered with 401. A cluster that is InProcess has no
// socket: its URL works with the transport of its RESTConfig only.
func (c *Cluster) URL() string {
	if c.access.URL == "" {
		return clientgo.InProcessURL
	}
	return c.access.URL
}

// Kubeconfig returns a kubeconfig file, for kubectl and other programs in other processes. They
// send a token over HTTPS only, so the first call opens an HTTPS listener on a loopback port
// unless the cluster has one already. It fails if that port cannot be opened, or if the cluster
// is closed and never had such a listener.
func (c *Cluster) Kubeconfig() ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.secure == nil {
		if bubble.Inside() {
			return nil, fmt.Errorf("kubeconfig: %w", errKubeconfigInBubble)
		}
		if c.closed {
			return nil, errors.New("kubeconfig: the cluster is closed")
		}
		access, err := c.listen(true, "")
		if err != nil {
			return nil, fmt.Errorf("kubeconfig: %w", err)
		}
		c.secure = &access
	}
	return c.secure.Kubeconfig()
}

// Dynamic returns a client for unstructured objects of any kind, with the user of RESTConfig.
func (c *Cluster) Dynamic() dynamic.Interface { return c.clients.Dynamic }

// Clientset returns a client for the typed objects of Kubernetes' own kinds, with the user of RESTConfig.
// It is made at the first call.
func (c *Cluster) Clientset() kubernetes.Interface { return c.clientset() }

// Discovery returns a client for the groups, versions and resources that the server serves, with the user of
// RESTConfig. It does not cache them.
func (c *Cluster) Discovery() discovery.DiscoveryInterface { return c.clients.Discovery }

// APIExtensions returns a client for CustomResourceDefinitions, with the user of RESTConfig.
func (c *Cluster) APIExtensions() apiextensions.Interface { return c.clients.Extensions }

// Audit returns a copy of the audit trail that WithAudit keeps, the oldest event first. Each
// request that has been answered has one event. A watch has two: one when it begins and one
// when it ends. Each write that the server makes itself has one too, as the user
// system:apiserver or one of its controllers. The trail of a fork begins empty. Without
// WithAudit it returns nil.
func (c *Cluster) Audit() []auditv1.Event { return c.server.Audit.Events() }

// RESTMapper returns a mapper from kinds to resources. It caches the discovery documents of the server, and
// reads them again for a kind or resource that is not in the cache.
func (c *Cluster) RESTMapper() meta.RESTMapper { return c.clients.Mapper }
