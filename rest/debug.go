package rest

import (
	"net/http"
	"strings"
	"sync"

	"k8s.io/apiserver/pkg/server/flagz"
	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/apiserver/pkg/server/routes"
)

// profiles serves what Go's pprof knows of the process, which is that of the test and of all its
// clusters.
var profiles = sync.OnceValue(func() http.Handler {
	m := mux.NewPathRecorderMux("profiles")
	routes.Profiling{}.Install(m)
	return m
})

// isProfilePath tells whether a path is that of profiles.
func isProfilePath(path string) bool {
	return path == "/debug/pprof" || strings.HasPrefix(path, "/debug/pprof/")
}

// commandLine are the flags that /flagz shows.
type commandLine func() map[string]string

// GetFlagz implements upstream's flagz.Reader.
func (c commandLine) GetFlagz() map[string]string {
	if c == nil {
		return map[string]string{}
	}
	return c()
}

// serveFlagz answers /flagz by upstream's handler: all flags, and their values.
func serveFlagz(w http.ResponseWriter, req *http.Request, of commandLine) {
	m := http.NewServeMux()
	flagz.Install(m, "apiserver", of)
	m.ServeHTTP(w, req)
}
