package rest

import "net/http"

// serveHealth answers the paths that ask whether the server is up. They need no
// token.
func serveHealth(w http.ResponseWriter, req *http.Request) bool {
	switch req.URL.Path {
	case "/healthz", "/livez", "/readyz":
	default:
		return false
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write([]byte("ok"))
	return true
}
