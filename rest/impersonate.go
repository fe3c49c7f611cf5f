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

// maxImpersonators is how many users are remembered who impersonate by the verb impersonate.
const maxImpersonators = 1000

// impersonate makes the user in the header Impersonate-User the user of the request, if the authenticated user
// may impersonate that user.
//
// Roles can allow that by the verb impersonate, or by verbs for one purpose each. Upstream's filter tries
// the latter first, unless the user was last allowed to by the former. The message of a rejection and the groups of
// a node depend on that. So users who were last allowed to by the verb impersonate keep their filter.
// Each other request gets a new one, because a filter caches for ten seconds that the other verbs
// were allowed.
//
// Versions without the feature gate know the verb impersonate alone.
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
