package rest

import (
	"net/http"

	genericfilters "k8s.io/apiserver/pkg/server/filters"
)

// demandHTTPS says in each answer for how long a client must use HTTPS, if there are
// directives.
func demandHTTPS(directives []string) filter {
	return func(next http.Handler) http.Handler { return genericfilters.WithHSTS(next, directives) }
}

// forbidCaching says in each answer that caches must not keep it.
func forbidCaching(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Cache-Control", "no-cache, private")
		next.ServeHTTP(w, req)
	})
}
