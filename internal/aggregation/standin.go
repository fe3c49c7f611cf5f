package aggregation

import (
	"net/http"
	"sync"

	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// standIn is a server for a version of the API without an APIService of its own.
type standIn struct {
	server *Server
	// standsFor reports whether the server takes the place of the service of an existing APIService.
	standsFor func(*apiregistrationv1.ServiceReference) bool
}

// StandIn forwards the version of the API in a to the service in a, until end is called, although the APIService a is
// not stored. It has no effect while an APIService with the name exists, unless standsFor returns true for its service.
func (r *Registry) StandIn(a *apiregistrationv1.APIService, standsFor func(*apiregistrationv1.ServiceReference) bool) (end func(), err error) {
	a = a.DeepCopy()
	a.Status.Conditions = []apiregistrationv1.APIServiceCondition{{Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionTrue}}
	s := &Server{registry: r, APIService: a}
	s.transport = sync.OnceValues(func() (*http.Transport, error) { return newTransport(a, r.network) })
	r.standIn.Store(&standIn{s, standsFor})
	return func() {
		r.standIn.Store(nil)
		_ = r.Refresh() // fails only if the store is closed
		s.closeIdle()
	}, r.Refresh()
}

// answering returns the server itself, or the standIn that takes its place.
func (s *Server) answering() *Server {
	if in := s.registry.standIn.Load(); in != nil && in.standsInFor(s.APIService) {
		return in.server
	}
	return s
}

// standsInFor reports whether the server takes the place of that of an APIService.
func (s *standIn) standsInFor(a *apiregistrationv1.APIService) bool {
	return s.server.APIService.Name == a.Name && s.server.APIService != a && s.standsFor(a.Spec.Service)
}
