package aggregation

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/transport"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// Objects reads the cluster for the aggregator. Objects have versioned types.
type Objects interface {
	Registry() *resource.Registry
	Now() time.Time
	Get(v *resource.Version, namespace, name string) (runtime.Object, error)
	List(v *resource.Version, namespace string, selector labels.Selector) ([]runtime.Object, error)
}

// Network reaches services.
type Network interface {
	// Reaches reports whether a service has a handler, so that it needs neither a Service nor endpoints.
	Reaches(namespace, name string, port int32) bool
	// Connected reports whether the network reaches the cluster IPs of Services.
	Connected() bool
	// ClientCertificate returns the client certificate for the servers of APIServices; nil: none.
	ClientCertificate() *tls.Certificate
	// Address returns the host and the port of the handler, or of the Service.
	Address(namespace, name string, port int32) (string, error)
	// Dial connects to an address.
	Dial(ctx context.Context, network, address string) (net.Conn, error)
}

// Registry has the APIServices with a Service. Create it with New.
type Registry struct {
	store   *store.Store
	objects Objects
	network Network

	current atomic.Pointer[snapshot]
	standIn atomic.Pointer[standIn] // nil: none
}

// snapshot has the APIServices with a Service at a revision.
type snapshot struct {
	revision int64
	standIn  *standIn
	servers  map[string]*Server // by the name of the APIService
}

// New returns a registry that is empty until Refresh.
func New(s *store.Store, c Objects, n Network) *Registry {
	r := &Registry{store: s, objects: c, network: n}
	r.current.Store(&snapshot{})
	return r
}

// Server is another API server for one version of a group.
type Server struct {
	APIService *apiregistrationv1.APIService
	registry   *Registry
	record     store.Record
	transport  func() (*http.Transport, error)
}

// resource returns the resource of APIServices.
func (r *Registry) resource() *resource.Resource {
	return r.objects.Registry().Resource(apiregistrationv1.GroupName, "apiservices")
}

// PointsToService reports whether the JSON of an APIService has a Service.
func PointsToService(text string) bool {
	// Most do not, which the first check finds quickly.
	return strings.Contains(text, `"service":{`) && gjson.Get(text, "spec.service").IsObject()
}

// Refresh updates the registry from the store. If several goroutines call it, the newest APIServices win, and none of
// them waits.
func (r *Registry) Refresh() error {
	for {
		former, in := r.current.Load(), r.standIn.Load()
		list, err := r.store.List(r.resource().Prefix, store.ListOptions{})
		if err != nil {
			return fmt.Errorf("reading the APIServices: %w", err)
		}
		if list.Revision <= former.revision && in == former.standIn {
			return nil
		}
		next := &snapshot{revision: list.Revision, standIn: in, servers: map[string]*Server{}}
		if in != nil {
			next.servers[in.server.APIService.Name] = in.server
		}
		for _, record := range list.Records {
			if !PointsToService(record.Value) {
				continue
			}
			server, err := r.server(former, record)
			if err != nil {
				return err
			}
			next.servers[server.APIService.Name] = server
		}
		if r.current.CompareAndSwap(former, next) {
			former.release(next)
			return nil
		}
	}
}

// server returns the server of a record. It keeps the connections of the former one if the spec has not changed.
func (r *Registry) server(former *snapshot, record store.Record) (*Server, error) {
	previous := former.servers[r.resource().NameOf(record.Key)]
	if former.standIn != nil && previous == former.standIn.server {
		previous = nil
	}
	if previous != nil && previous.record.Revision == record.Revision {
		return previous, nil
	}
	s := &Server{registry: r, record: record, APIService: &apiregistrationv1.APIService{}}
	if err := json.Unmarshal([]byte(record.Value), s.APIService); err != nil {
		return nil, fmt.Errorf("reading the APIService %s: %w", record.Key, err)
	}
	if previous != nil && equality.Semantic.DeepEqual(previous.APIService.Spec, s.APIService.Spec) {
		s.transport = previous.transport
		return s, nil
	}
	s.transport = sync.OnceValues(func() (*http.Transport, error) { return newTransport(s.APIService, r.network) })
	return s, nil
}

// release closes the idle connections of servers that are not in the next snapshot.
func (s *snapshot) release(next *snapshot) {
	for name, server := range s.servers {
		if known := next.servers[name]; known != nil && equality.Semantic.DeepEqual(known.APIService.Spec, server.APIService.Spec) {
			continue
		}
		server.closeIdle()
	}
}

func (s *Server) closeIdle() {
	if t, err := s.transport(); err == nil {
		t.CloseIdleConnections()
	}
}

// Close closes idle connections. Connections in use end with their requests.
func (r *Registry) Close() { r.current.Load().release(&snapshot{}) }

// newTransport returns the transport to a server. The server's certificate must be for NAME.NAMESPACE.svc.
func newTransport(a *apiregistrationv1.APIService, n Network) (*http.Transport, error) {
	config, err := transport.TLSConfigFor(&transport.Config{TLS: transport.TLSConfig{
		Insecure:   a.Spec.InsecureSkipTLSVerify,
		ServerName: a.Spec.Service.Name + "." + a.Spec.Service.Namespace + ".svc",
		CAData:     a.Spec.CABundle,
		// Each new connection gets the current certificate.
		GetCertHolder: &transport.GetCertHolder{GetCert: func() (*tls.Certificate, error) { return n.ClientCertificate(), nil }},
	}})
	if err != nil {
		return nil, err
	}
	return &http.Transport{
		TLSClientConfig: config, DialContext: n.Dial, TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: 25, IdleConnTimeout: 90 * time.Second,
	}, nil
}

// Servers returns the servers of all APIServices with a Service, sorted by name.
func (r *Registry) Servers() []*Server {
	return slices.SortedFunc(maps.Values(r.current.Load().servers), func(a, b *Server) int { return strings.Compare(a.APIService.Name, b.APIService.Name) })
}

// Serves returns the other server for a path; nil: this one serves it.
func (r *Registry) Serves(path string) *Server {
	servers := r.current.Load().servers
	if len(servers) == 0 {
		return nil
	}
	if path == "/api" || strings.HasPrefix(path, "/api/") {
		return servers[coreName]
	}
	below, ok := strings.CutPrefix(path, "/apis/")
	if !ok {
		return nil
	}
	group, below, _ := strings.Cut(below, "/")
	version, _, _ := strings.Cut(below, "/")
	if group == "" || version == "" {
		return nil
	}
	return servers[version+"."+group]
}

// coreName is the name of the APIService of the core group.
const coreName = "v1."

// APIServicesOf returns the names of the APIServices that point to a service.
func (r *Registry) APIServicesOf(namespace, service string) []string {
	var names []string
	for _, s := range r.Servers() {
		if to := s.APIService.Spec.Service; to.Namespace == namespace && to.Name == service {
			names = append(names, s.APIService.Name)
		}
	}
	return names
}

// Registered returns all APIServices, including that of StandIn, sorted by name, with the fields for discovery: the
// name, the version and its priority.
func (r *Registry) Registered() ([]*apiregistrationv1.APIService, error) {
	under := r.resource()
	list, err := r.store.List(under.Prefix, store.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading the APIServices: %w", err)
	}
	services := make([]*apiregistrationv1.APIService, len(list.Records), len(list.Records)+1)
	for i, record := range list.Records {
		spec := gjson.Get(record.Value, "spec")
		services[i] = &apiregistrationv1.APIService{Spec: apiregistrationv1.APIServiceSpec{
			Group: spec.Get("group").Str, Version: spec.Get("version").Str,
			GroupPriorityMinimum: int32(spec.Get("groupPriorityMinimum").Int()),
			VersionPriority:      int32(spec.Get("versionPriority").Int()),
		}}
		services[i].Name = under.NameOf(record.Key)
	}
	if in := r.standIn.Load(); in != nil {
		if i, found := slices.BinarySearchFunc(services, in.server.APIService.Name, func(a *apiregistrationv1.APIService, name string) int { return strings.Compare(a.Name, name) }); !found {
			services = slices.Insert(services, i, in.server.APIService)
		}
	}
	return services, nil
}
