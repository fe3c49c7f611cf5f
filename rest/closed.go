package rest

import (
	"context"
	"errors"
	"net/http"
)

// errClosed is the error of a request that the end of the server interrupts.
var errClosed = errors.New("the cluster is closed")

// refuseOnceClosed answers all requests with a 503 once the server is closed.
func refuseOnceClosed(closing context.Context) filter {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if closing.Err() != nil {
				http.Error(w, errClosed.Error(), http.StatusServiceUnavailable)
				return
			}
			next.ServeHTTP(w, req)
		})
	}
}
