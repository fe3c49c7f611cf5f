package rest

import (
	"crypto/subtle"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// admin is the user who bears the cluster's token: a member of the group that may do
// everything.
var admin = &user.DefaultInfo{
	Name:   "kubernetes-admin",
	Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated},
}

// authenticate puts into the context who makes a request, and refuses those without the
// token.
func authenticate(token string) filter {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if !bears(req, token) {
				writeError(w, req, apierrors.NewUnauthorized("Unauthorized"))
				return
			}
			logUser(req, admin)
			next.ServeHTTP(w, req.WithContext(apirequest.WithUser(req.Context(), admin)))
		})
	}
}

// bears tells whether a request bears the token.
func bears(req *http.Request, token string) bool {
	scheme, given, ok := strings.Cut(strings.TrimSpace(req.Header.Get("Authorization")), " ")
	return ok && strings.EqualFold(scheme, "Bearer") &&
		subtle.ConstantTimeCompare([]byte(strings.TrimSpace(given)), []byte(token)) == 1
}
