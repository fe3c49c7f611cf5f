package rest

import "net/http"

// answerHealth answers the paths that ask whether the server is up. They need no token.
func answerHealth(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch req.URL.Path {
		case "/healthz", "/livez", "/readyz":
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			w.Header().Set("X-Content-Type-Options", "nosniff")
			_, _ = w.Write([]byte("ok")) // the client may have gone
		default:
			next.ServeHTTP(w, req)
		}
	})
}
