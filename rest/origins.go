package rest

import (
	"net/http"

	genericfilters "k8s.io/apiserver/pkg/server/filters"
)

// allowOrigins lets web pages of some origins read answers, as kube-apiserver's flag --cors-allowed-origins
// does. The patterns are valid regular expressions. Without patterns, no answer has such headers.
func allowOrigins(patterns []string) filter {
	return func(next http.Handler) http.Handler {
		return genericfilters.WithCORS(next, patterns, nil, nil, nil, "true")
	}
}
