package rest

import "net/http"

// publishClientCAs has the cluster publish whom it trusts before a request is served, if files that
// say so have changed.
func (s *Server) publishClientCAs(next http.Handler) http.Handler {
	if s.options.AuthenticationInfo == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		s.cluster.PublishTrust()
		next.ServeHTTP(w, req)
	})
}
