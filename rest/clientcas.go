package rest

import "net/http"

// publishClientCAs republishes the client CAs when their files have changed, before a request is served.
func (h *handler) publishClientCAs(next http.Handler) http.Handler {
	if !h.cluster.TrustsFiles() {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		h.cluster.PublishTrust()
		next.ServeHTTP(w, req)
	})
}
