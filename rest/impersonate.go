package rest

import (
	"net/http"
	"strings"

	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/filters/impersonation"
	"k8s.io/client-go/kubernetes/scheme"
)

// impersonate makes a request that of another user, if its header says so and its user may.
// It is upstream's filter, a new one for each request: upstream's remembers for ten seconds who
// was allowed to impersonate whom.
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
