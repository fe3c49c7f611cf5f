package rest

import (
	"net/http"

	"k8s.io/apiserver/pkg/endpoints/filters"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/fakecluster/fakecluster/internal/auth/authentication"
	"github.com/fakecluster/fakecluster/internal/observe"
)

// authorize refuses what the user of a request may not do.
func (h *handler) authorize(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		ctx := req.Context()
		observed := observe.From(ctx)
		by, _ := apirequest.UserFrom(ctx)
		if by == authentication.Admin {
			observed.Exempt()
			next.ServeHTTP(w, req)
			return
		}
		if by != nil {
			observed.Impersonated(by)
		}
		attributes, err := filters.GetAuthorizerAttributes(ctx)
		if err == nil {
			err = h.cluster.Access.Decide(ctx, attributes, observed)
		}
		if err != nil {
			w.Header().Set("X-Content-Type-Options", "nosniff")
			writeError(w, req, err)
			return
		}
		next.ServeHTTP(w, req)
	})
}
