package rest

import (
	"context"
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/internal/server"
)

// announceReads calls the functions that are called before reads.
func announceReads(reads *server.Reads) filter {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if info := infoOf(req); reads.Any() && info.IsResourceRequest && slices.Contains([]string{"get", "list", "watch"}, info.Verb) {
				var watch context.Context
				if info.Verb == "watch" {
					watch = req.Context()
				}
				reads.Announce(schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}, req.UserAgent(), watch)
			}
			next.ServeHTTP(w, req)
		})
	}
}
