package rest

import (
	"net/http"

	"k8s.io/apiserver/pkg/server/statusz"
	"k8s.io/apiserver/pkg/util/compatibility"
)

// serveStatusz answers /statusz by upstream's handler: which version runs, since when, and the paths
// that it serves.
func serveStatusz(w http.ResponseWriter, req *http.Request, paths []string) {
	mux := http.NewServeMux()
	statusz.Install(mux, "apiserver", statusz.NewRegistry(compatibility.DefaultBuildEffectiveVersion(), statusz.WithListedPaths(paths)))
	mux.ServeHTTP(w, req)
}
