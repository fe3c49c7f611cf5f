package rest

import "net/http"

// publishTrust has the cluster publish whom it trusts before a request is served, if files that
// say so have changed.
func (s *Server) publishTrust(next http.Handler) http.Handler {
	if s.options.AuthenticationInfo == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		s.cluster.PublishTrust()
		next.ServeHTTP(w, req)
	})
}
