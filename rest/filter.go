package rest

import (
	"net/http"
	"slices"
)

// filter wraps a handler: it answers a request itself, or passes it on.
type filter func(next http.Handler) http.Handler

// behind returns a handler that passes requests through the filters, in their order, and then to h.
func behind(filters []filter, h http.Handler) http.Handler {
	for _, f := range slices.Backward(filters) {
		h = f(h)
	}
	return h
}
