package rest

import (
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/fakecluster/fakecluster/internal/auth"
	"github.com/fakecluster/fakecluster/internal/history"
)

// authenticate puts the user of a request into its context, and refuses requests without a
// known user. A real server accepts requests without credentials as those of system:anonymous,
// unless its flag --anonymous-auth is false.
func authenticate(users *auth.Authenticator) filter {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			began := time.Now()
			by, ok, err := users.Authenticate(req)
			apirequest.TrackAuthenticationLatency(req.Context(), time.Since(began))
			if err != nil || !ok {
				writeError(w, req, apierrors.NewUnauthorized("Unauthorized"))
				return
			}
			logUser(req, by)
			history.From(req.Context()).By(by.GetName())
			contextOf(req).user = by
			next.ServeHTTP(w, req)
		})
	}
}
