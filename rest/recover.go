package rest

import (
	"net/http"
	"runtime/debug"

	"k8s.io/klog/v2"
)

// RecoverPanics returns a handler that calls next. If next panics, it answers with status 500 as a real
// server does, and logs the panic and its stack with klog. So the process of the test goes on, and can report
// the panic. It does not recover [http.ErrAbortHandler].
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
