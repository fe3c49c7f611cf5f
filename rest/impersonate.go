package rest

import (
	"net/http"
	"strings"

	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/filters/impersonation"
	"k8s.io/client-go/kubernetes/scheme"
)

// impersonate turns a request into one of another user, if its header says so and its user may
// impersonate that user. It makes upstream's filter anew for each request, because upstream's
// remembers its decisions for ten seconds.
func impersonate(a authorizer.UnconditionalAuthorizer) filter {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if !impersonates(req.Header) {
				next.ServeHTTP(w, req)
				return
			}
			impersonation.WithConstrainedImpersonation(next, a, scheme.Codecs).ServeHTTP(w, req)
		})
	}
}

// impersonates tells whether a header asks for another user.
func impersonates(header http.Header) bool {
	for name := range header {
		if strings.HasPrefix(name, "Impersonate-") {
			return true
		}
	}
	return false
}
