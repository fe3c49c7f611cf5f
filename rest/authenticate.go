package rest

import (
	"context"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/fakecluster/fakecluster/internal/auth/authentication"
)

// authenticate puts the user of a request into its context, and rejects requests without a
// user. A real server accepts requests without credentials as those of system:anonymous,
// unless its flag --anonymous-auth is false.
func authenticate(users *authentication.Authenticator) filter {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			done := trackAuthentication(req.Context())
			by, ok, err := users.Authenticate(req)
			done()
			if err != nil || !ok {
				writeError(w, req, apierrors.NewUnauthorized("Unauthorized"))
				return
			}
			c := contextOf(req)
			c.observe.User(by)
			c.user = by
			next.ServeHTTP(w, req)
		})
	}
}

// trackAuthentication begins to measure how long the authentication of a request takes, if it has an audit
// event, and returns the function that ends it.
func trackAuthentication(ctx context.Context) (done func()) {
	if _, tracked := apirequest.LatencyTrackersFrom(ctx); !tracked {
		return func() {}
	}
	began := time.Now()
	return func() { apirequest.TrackAuthenticationLatency(ctx, time.Since(began)) }
}
