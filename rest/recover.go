package rest

import (
	"net/http"
	"runtime/debug"

	"k8s.io/klog/v2"
)

// RecoverPanics returns a handler that answers a request for which next panics, as a real server does, and logs
// the panic. The process of the test survives it and can report it. [http.ErrAbortHandler] is passed on.
func RecoverPanics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		defer func() {
			switch err := recover(); err {
			case nil:
			case http.ErrAbortHandler:
				panic(err)
			default:
				stack := debug.Stack()
				if p, ok := err.(*computePanic); ok {
					err, stack = p.value, p.stack
				}
				klog.ErrorS(nil, "A request made the API server panic",
					"method", req.Method, "path", req.URL.Path, "panic", err, "stack", string(stack))
				http.Error(w, "This request caused apiserver to panic. Look in the logs for details.", http.StatusInternalServerError)
			}
		}()
		next.ServeHTTP(w, req)
	})
}
