package rest

import (
	"net/http"
	"strings"
	"sync"

	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/apiserver/pkg/server/routes"
)

// profiles serves the profiles of Go's pprof. They are those of the process, which the test and all its
// clusters share.
var profiles = sync.OnceValue(func() http.Handler {
	m := mux.NewPathRecorderMux("profiles")
	routes.Profiling{}.Install(m)
	return m
})

// isProfilePath reports whether a path is that of profiles.
func isProfilePath(path string) bool {
	return path == "/debug/pprof" || strings.HasPrefix(path, "/debug/pprof/")
}
