package rest

import "net/http"

// publishClientCAs republishes the client CAs when their files have changed, before a request is served.
func (s *Server) publishClientCAs(next http.Handler) http.Handler {
	if s.options.AuthenticationInfo == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		s.cluster.PublishTrust()
		next.ServeHTTP(w, req)
	})
}
