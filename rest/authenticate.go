package rest

import (
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/fakecluster/fakecluster/internal/auth"
)

// authenticate puts into the context who makes a request, and refuses those whose user it
// does not know. A real server takes a request without credentials for one of system:anonymous,
// unless its flag --anonymous-auth is false.
func authenticate(users *auth.Authenticator) filter {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			by, ok, err := users.Authenticate(req)
			if err != nil || !ok {
				writeError(w, req, apierrors.NewUnauthorized("Unauthorized"))
				return
			}
			logUser(req, by)
			next.ServeHTTP(w, req.WithContext(apirequest.WithUser(req.Context(), by)))
		})
	}
}
