package fakecluster

import (
	"context"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientrest "k8s.io/client-go/rest"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kubernetes/pkg/serviceaccount"
	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/clientgo"
)

// Attachment is a program that lives in a cluster and ends with it, such as the controllers of package
// workloads. Its clients reach the server without a socket, also if the cluster has one. Its methods are safe for
// concurrent use.
type Attachment struct {
	cluster *Cluster
	name    string
	stop    func()
	undo    []func() // called by Detach; guarded by the mutex of the cluster
}

// Attach registers programs that live in the cluster. The name is a plural noun for messages, such as
// "workloads". [Cluster.Close] calls stop once, before it ends any request, and continues when stop has
// returned. Attach fails if the cluster is closed, or if programs with this name are attached already. A fork
// begins without attachments.
func (c *Cluster) Attach(name string, stop func()) (*Attachment, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errors.New("the cluster is closed")
	}
	for _, a := range c.attached {
		if a.name == name {
			return nil, fmt.Errorf("%s run in the cluster already; close them first", name)
		}
	}
	a := &Attachment{cluster: c, name: name, stop: stop}
	c.attached = append(c.attached, a)
	return a, nil
}

// lives reports whether programs are attached to the cluster.
func (c *Cluster) lives() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.attached) > 0
}

// Detach removes the programs, so that Close no longer calls their function, and ends their services. Further calls do
// nothing.
func (a *Attachment) Detach() {
	a.cluster.mu.Lock()
	for i, other := range a.cluster.attached {
		if other == a {
			a.cluster.attached = append(a.cluster.attached[:i:i], a.cluster.attached[i+1:]...)
		}
	}
	calls := a.undo
	a.undo = nil
	a.cluster.mu.Unlock()
	for _, undo := range calls {
		undo()
	}
}

// Serve makes a handler reachable for APIServices and webhooks that refer to a service, as [WithService]
// does, without a socket. It ends with Detach, and with the cluster. Serve fails if the cluster is closed, if
// the service already has a handler, if the namespace or the name is empty, or if the port is not one from 1
// to 65535.
func (a *Attachment) Serve(namespace, name string, port int, h http.Handler) error {
	a.cluster.mu.Lock()
	defer a.cluster.mu.Unlock()
	if a.cluster.closed {
		return errors.New("the cluster is closed")
	}
	if err := a.cluster.services.attach(service{namespace, name, port, h}); err != nil {
		return err
	}
	a.undo = append(a.undo, func() { a.cluster.services.detach(reference(namespace, name, int32(port))) })
	return nil
}

// StandIn makes a handler serve a version of the API without an APIService. If an APIService
// VERSION.GROUP is created, its server serves the version instead, unless standsFor returns true
// for the namespace, the name and the port of the Service of the APIService. When the APIService is
// deleted, the handler serves the version again, until Detach. StandIn fails if the cluster is
// closed.
func (a *Attachment) StandIn(version schema.GroupVersion, h http.Handler, standsFor func(namespace, name string, port int32) bool) error {
	to := &apiregistrationv1.ServiceReference{Namespace: metav1.NamespaceSystem, Name: "fakecluster-" + strings.ReplaceAll(version.Group, ".", "-"), Port: new(int32(443))}
	if err := a.Serve(to.Namespace, to.Name, int(*to.Port), h); err != nil {
		return err
	}
	end, err := a.cluster.server.Aggregate.StandIn(&apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: version.Version + "." + version.Group},
		Spec: apiregistrationv1.APIServiceSpec{
			Group: version.Group, Version: version.Version, GroupPriorityMinimum: 100, VersionPriority: 100, Service: to, InsecureSkipTLSVerify: true,
		},
	}, func(other *apiregistrationv1.ServiceReference) bool {
		return standsFor(other.Namespace, other.Name, ptr.Deref(other.Port, 443))
	})
	if err != nil {
		return err
	}
	a.cluster.mu.Lock()
	defer a.cluster.mu.Unlock()
	a.undo = append(a.undo, end)
	return nil
}

// Act makes controllers act within the writes of the cluster from now on, as those of [WithControllers] do.
// When it returns, they have synced the existing objects. They also act in forks of the cluster. An unknown
// controller is an error.
func (a *Attachment) Act(controllers ...Controller) error {
	if err := (&settings{controllers: controllers}).checkControllers(); err != nil {
		return err
	}
	return a.cluster.server.Act(namesOf(controllers))
}

// Replace stops a controller that acts within the writes of the cluster, because the attached programs do its
// work. Detach starts it again, and then it syncs what the programs have left undone. Forks of the cluster
// keep the controller. If the controller does not act, Replace does nothing. An unknown controller is an
// error.
func (a *Attachment) Replace(c Controller) error {
	if err := (&settings{controllers: []Controller{c}}).checkControllers(); err != nil {
		return err
	}
	if !a.Acts(c) {
		return nil
	}
	if err := a.cluster.server.Replace(string(c)); err != nil {
		return err
	}
	a.cluster.mu.Lock()
	defer a.cluster.mu.Unlock()
	a.undo = append(a.undo, func() { _ = a.cluster.server.Act([]string{string(c)}) }) // an error: the cluster is closed
	return nil
}

// Connect makes the server reach the pods of the cluster through a network, with the signature of
// [net.Dialer.DialContext]: the pods behind the Services of webhooks and APIServices, except the
// services of [WithService], and the pods behind the subresource proxy. dial gets cluster IPs and
// other IPs, except loopback addresses. Detach ends the connection.
//
// From then on the cluster is a front proxy that aggregated API servers trust to name the user: it
// publishes its certificate authority in the ConfigMap extension-apiserver-authentication and
// presents the client certificate front-proxy-client. This is left out if a flag of
// [WithAPIServerFlags] configures it. Connect fails if the cluster cannot make the certificate.
func (a *Attachment) Connect(dial func(ctx context.Context, network, address string) (net.Conn, error)) error {
	to := a.cluster.services
	if flags := &a.cluster.settings.flags; !flags.FrontProxy {
		proxy, err := proxyOfProcess()
		if err != nil {
			return fmt.Errorf("making the certificate for aggregated API servers: %w", err)
		}
		to.frontProxy.Store(proxy)
		a.cluster.server.PublishTrust()
	}
	a.cluster.mu.Lock()
	defer a.cluster.mu.Unlock()
	to.network.Store((*dialFunc)(&dial))
	a.undo = append(a.undo, func() { to.network.Store(nil) })
	return nil
}

// AdmissionCall is a call of an admission webhook by a Service.
type AdmissionCall struct {
	Webhook            string // as its configuration names it
	Namespace, Service string
	Port               int32
}

// AllowAdmission sets a function that decides whether to skip a call of an admission webhook. It is called
// before each call of a webhook whose Service has no handler of [WithService]. If it returns true, the
// webhook is not called, and the request continues as if the webhook had allowed it without a change. The
// function runs on the goroutine of the request, so several goroutines may call it at the same time. Detach
// removes it.
func (a *Attachment) AllowAdmission(allows func(AdmissionCall) bool) {
	a.cluster.mu.Lock()
	defer a.cluster.mu.Unlock()
	to := &a.cluster.services.allows
	to.Store(&allows)
	a.undo = append(a.undo, func() { to.Store(nil) })
}

// ConnectKubelets makes the server reach the kubelets of nodes, for the subresources log, exec, attach and
// portforward of Pods and proxy of Nodes. dial returns a function that connects to the kubelet of a node,
// which serves HTTP without TLS there, or nil if no kubelet of this node runs. Detach removes it.
func (a *Attachment) ConnectKubelets(dial func(node string) func(context.Context) (net.Conn, error)) {
	a.cluster.mu.Lock()
	defer a.cluster.mu.Unlock()
	to := &a.cluster.services.kubelets
	to.Store(&dial)
	a.undo = append(a.undo, func() { to.Store(nil) })
}

// ServeTLS serves the cluster to its pods until stop is called, over TLS with a certificate for kubernetes.default.svc. The
// listener need not be a socket. The authority that signed the certificate is that of the ConfigMaps kube-root-ca.crt.
func (a *Attachment) ServeTLS(l net.Listener) (stop func(), err error) {
	handler, err := a.cluster.handler()
	if err != nil {
		return nil, err
	}
	own, err := secured()
	if err != nil {
		return nil, err
	}
	bounds := a.cluster.settings.limits
	server := &http.Server{Handler: handler, ReadHeaderTimeout: bounds.header, IdleTimeout: bounds.idle, ErrorLog: log.New(withoutHandshakes{}, "", log.LstdFlags)}
	server.TLSConfig, _ = a.cluster.settings.flags.Serving.ConfigureTLS(own.certificate)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.ServeTLS(l, "", "") }) // returns http.ErrServerClosed
	return func() {
		_ = server.Close()
		serving.Wait()
	}, nil
}

// Seed returns the seed of [WithSeed], or 0 without that option.
func (a *Attachment) Seed() uint64 {
	if seed := a.cluster.settings.seed; seed != nil {
		return *seed
	}
	return 0
}

// Signing has what kube-controller-manager reads from the files of its flags: the authority that signs
// certificates, and the key that signs the tokens of Secrets.
type Signing struct {
	// Certificate and Key are the authority of the cluster.
	Certificate *x509.Certificate
	Key         crypto.Signer
	// SerialNumber is an attribute that the subject of a client certificate must have. All clusters of the
	// process have the same authority; this attribute makes a certificate valid for this cluster and its
	// forks only.
	SerialNumber string
	// Tokens generates the tokens of Secrets of the type kubernetes.io/service-account-token.
	Tokens serviceaccount.TokenGenerator
}

// Signing returns the authority and the key that sign certificates and tokens for the cluster. It fails if
// they cannot be made.
func (a *Attachment) Signing() (signing Signing, err error) {
	users := a.cluster.server.Users
	signing.SerialNumber = users.SerialNumber()
	signing.Certificate, signing.Key, signing.Tokens, err = users.Signing()
	return signing, err
}

// Acts reports whether a controller acts within the writes of the cluster.
func (a *Attachment) Acts(c Controller) bool { return a.cluster.server.Acts(string(c)) }

// Read is a request that reads a resource.
type Read struct {
	// UserAgent is the header of that name.
	UserAgent string
	// Watch is the context of a watch, which ends with it; nil: the request is a get or a list.
	Watch context.Context
}

// BeforeReads sets a function that is called before each authorized get, list and watch of a resource, until
// Detach. The function updates objects that would otherwise have to be written all the time, such as Leases.
// It runs on the goroutine of the request. It may send requests, except reads of the same resource.
func (a *Attachment) BeforeReads(resource schema.GroupResource, call func(Read)) {
	stop := a.cluster.server.Reads.Before(resource, func(userAgent string, watch context.Context) { call(Read{userAgent, watch}) })
	a.cluster.mu.Lock()
	defer a.cluster.mu.Unlock()
	a.undo = append(a.undo, stop)
}

// Revision returns the revision of the newest write.
func (a *Attachment) Revision() int64 { return a.cluster.store.Revision() }

// Faulty reports whether a fault of [Cluster.Inject] is in force.
func (a *Attachment) Faulty() bool { return a.cluster.server.Faults.Active() }

// ConfigFor is as [Cluster.ConfigFor], without a socket and always with a token.
func (a *Attachment) ConfigFor(user string, groups ...string) *clientrest.Config {
	return a.config(a.cluster.server.Users.TokenFor(user, groups...), false)
}

// ServiceAccountConfig is as [Cluster.ServiceAccountConfig], without a socket.
func (a *Attachment) ServiceAccountConfig(namespace, name string) *clientrest.Config {
	return a.config(a.cluster.server.Users.TokenForServiceAccount(namespace, name), false)
}

// TokenConfig is as [Cluster.RESTConfig], without a socket and with this token, such as one of a
// TokenRequest. It is for functions of the test that run in a Pod: in a bubble, their requests
// count as activity of the cluster, and requests with the other configurations do not.
func (a *Attachment) TokenConfig(token string) *clientrest.Config { return a.config(token, true) }

func (a *Attachment) config(token string, works bool) *clientrest.Config {
	return clientgo.Access{Token: token, Transport: &homeTransport{a.cluster, a.cluster.transport, works}}.RESTConfig()
}
