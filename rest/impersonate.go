package rest

import (
	"context"
	"net/http"
	"strings"

	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/filters/impersonation"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/lru"
)

// maxImpersonators limits the users whose impersonation by the verb impersonate is remembered.
const maxImpersonators = 1000

// impersonate makes the user in the header Impersonate-User the user of the request, if the authenticated user
// may impersonate that user.
//
// Roles allow this with the verb impersonate, or with the verbs of constrained impersonation, such as
// impersonate:user-info. Upstream's filter tries the constrained verbs first, unless the last impersonation
// of the user was allowed by the verb impersonate. The message of a rejection and the groups of a node depend
// on that. So a user whose last impersonation was allowed by the verb impersonate keeps its filter. Every
// other request gets a new filter, because a filter caches for ten seconds that the constrained verbs were
// allowed.
//
// Versions without the feature gate have the verb impersonate only.
func impersonate(a authorizer.UnconditionalAuthorizer) filter {
	if !utilfeature.DefaultFeatureGate.Enabled(features.ConstrainedImpersonation) {
		return func(next http.Handler) http.Handler { return impersonation.WithImpersonation(next, a, scheme.Codecs) }
	}
	return func(next http.Handler) http.Handler {
		kept := lru.New(maxImpersonators) // impersonating handlers, by the names of users
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if !impersonates(req.Header) {
				next.ServeHTTP(w, req)
				return
			}
			by, _ := apirequest.UserFrom(req.Context())
			last, _ := kept.Get(by.GetName())
			handler, ok := last.(http.Handler)
			if !ok {
				handler = impersonation.WithConstrainedImpersonation(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
					impersonationOf(req.Context()).allowed()
					next.ServeHTTP(w, req)
				}), notesVerbs{a}, scheme.Codecs)
			}
			i := &impersonating{}
			i.allowed = func() {
				if i.verb == "impersonate" {
					kept.Add(by.GetName(), handler)
				} else {
					kept.Remove(by.GetName())
				}
			}
			handler.ServeHTTP(w, req.WithContext(context.WithValue(req.Context(), impersonatingKey{}, i)))
		})
	}
}

// impersonating is an impersonation while it is decided.
type impersonating struct {
	verb    string // that was allowed last
	allowed func() // is called when it has been decided
}

type impersonatingKey struct{}

// impersonationOf returns what impersonate has put into the context of a request.
func impersonationOf(ctx context.Context) *impersonating {
	i, _ := ctx.Value(impersonatingKey{}).(*impersonating)
	return i
}

// notesVerbs notes which verbs are allowed.
type notesVerbs struct {
	authorizer.UnconditionalAuthorizer
}

// Authorize implements authorizer.UnconditionalAuthorizer.
func (n notesVerbs) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	decision, reason, err := n.UnconditionalAuthorizer.Authorize(ctx, a)
	if decision == authorizer.DecisionAllow {
		impersonationOf(ctx).verb = a.GetVerb()
	}
	return decision, reason, err
}

// impersonates reports whether a header names another user.
func impersonates(header http.Header) bool {
	for name := range header {
		if strings.HasPrefix(name, "Impersonate-") {
			return true
		}
	}
	return false
}
