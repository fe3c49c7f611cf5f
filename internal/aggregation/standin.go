package aggregation

import (
	"net/http"
	"sync"

	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// standIn is a server that serves a version of the API as long as no APIService has another server do so.
type standIn struct {
	server *Server
	// standsFor reports whether the server answers in the place of the one that an APIService of its name points to.
	standsFor func(*apiregistrationv1.ServiceReference) bool
}

// StandIn has the service of an APIService serve the version of the API that it names, without an object: as long as no APIService of this
// name exists, and while one exists that points to a service for which standsFor returns true. end ends that.
func (r *Registry) StandIn(a *apiregistrationv1.APIService, standsFor func(*apiregistrationv1.ServiceReference) bool) (end func(), err error) {
	a = a.DeepCopy()
	a.Status.Conditions = []apiregistrationv1.APIServiceCondition{{Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionTrue}}
	s := &Server{registry: r, APIService: a}
	s.transport = sync.OnceValues(func() (*http.Transport, error) { return newTransport(a, r.network) })
	r.standIn.Store(&standIn{s, standsFor})
	return func() {
		r.standIn.Store(nil)
		_ = r.Refresh() // an error: the store is closed
		s.closeIdle()
	}, r.Refresh()
}

// answering returns the server that answers for one: itself, or the one that stands in.
func (s *Server) answering() *Server {
	if in := s.registry.standIn.Load(); in != nil && in.standsInFor(s.APIService) {
		return in.server
	}
	return s
}

// standsInFor reports whether the server stands in for that of an APIService.
func (s *standIn) standsInFor(a *apiregistrationv1.APIService) bool {
	return s.server.APIService.Name == a.Name && s.server.APIService != a && s.standsFor(a.Spec.Service)
}
