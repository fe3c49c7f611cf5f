package rest

import "net/http"

// forbidCaching says in each answer that caches must not keep it.
func forbidCaching(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Cache-Control", "no-cache, private")
		next.ServeHTTP(w, req)
	})
}
