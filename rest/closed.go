package rest

import (
	"context"
	"net/http"
)

// refuseOnceClosed answers all requests with a 503 once the server is closed.
func refuseOnceClosed(closing context.Context) filter {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if closing.Err() != nil {
				http.Error(w, "the cluster is closed", http.StatusServiceUnavailable)
				return
			}
			next.ServeHTTP(w, req)
		})
	}
}
