package rest

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/server/healthz"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	"k8s.io/component-base/metrics/prometheus/slis"

	"github.com/fakecluster/fakecluster/internal/auth/authentication"
)

// healthChecks are the checks of a real server that all paths have, in its order. All of them pass as long as
// the server answers: what they check is ready before a cluster takes requests, or does not exist here.
var healthChecks = slices.DeleteFunc([]string{
	"ping", "log", "etcd",
	"poststarthook/start-apiserver-admission-initializer",
	"poststarthook/generic-apiserver-start-informers",
	"poststarthook/priority-and-fairness-config-consumer",
	"poststarthook/priority-and-fairness-filter",
	"poststarthook/storage-object-count-tracker-hook",
	"poststarthook/start-apiextensions-informers",
	"poststarthook/start-apiextensions-controllers",
	"poststarthook/crd-informer-synced",
	"poststarthook/start-system-namespaces-controller",
	"poststarthook/peer-endpoint-reconciler-controller",
	"poststarthook/start-cluster-authentication-info-controller",
	"poststarthook/start-kube-apiserver-identity-lease-controller",
	"poststarthook/start-kube-apiserver-identity-lease-garbage-collector",
	"poststarthook/storage-readiness",
	"poststarthook/start-legacy-token-tracking-controller",
	"poststarthook/start-service-ip-repair-controllers",
	"poststarthook/rbac/bootstrap-roles",
	"poststarthook/scheduling/bootstrap-system-priority-classes",
	"poststarthook/priority-and-fairness-config-producer",
	"poststarthook/bootstrap-controller",
	"poststarthook/start-kubernetes-service-cidr-controller",
	"poststarthook/start-kube-aggregator-informers",
	"poststarthook/apiservice-status-local-available-controller",
	"poststarthook/apiservice-status-remote-available-controller",
	"poststarthook/apiservice-registration-controller",
	"poststarthook/apiservice-discovery-controller",
	"poststarthook/kube-apiserver-autoregistration",
	"autoregister-completion",
	"poststarthook/apiservice-openapi-controller",
	"poststarthook/apiservice-openapiv3-controller",
}, func(name string) bool {
	gate, found := healthGates[name]
	return found && !utilfeature.DefaultFeatureGate.Enabled(gate)
})

// healthGates has the checks that older versions do not have, and the feature gates that brought them.
var healthGates = map[string]featuregate.Feature{
	"poststarthook/peer-endpoint-reconciler-controller": features.UnknownVersionInteroperabilityProxy,
	"poststarthook/storage-readiness":                   features.WatchCacheInitializationPostStartHook,
}

// checksAt returns the checks of one of the paths, in the order of its answer.
func checksAt(path string) []string {
	if path == "/readyz" {
		return append(slices.Insert(slices.Clone(healthChecks), 3, "etcd-readiness", "informer-sync"), "shutdown")
	}
	return slices.Insert(slices.Clone(healthChecks), 2, "loopback-serving-certificate")
}

// healthPaths are the paths of the health checks, and of the single checks below them.
var healthPaths = sync.OnceValue(func() []string {
	var checks []string
	for _, path := range []string{"/healthz", "/livez", "/readyz"} {
		checks = append(checks, path)
		for _, name := range checksAt(path) {
			checks = append(checks, path+"/"+name)
		}
	}
	return checks
})

// health is upstream's handler of the health checks of the whole server, and of those of
// single checks below them. It is the same for all servers, and made once in a process.
var health = sync.OnceValue(func() *http.ServeMux {
	mux := http.NewServeMux()
	slis.SLIMetricsWithReset{}.Install(mux) // before the first check, which is counted then
	for _, path := range []string{"/healthz", "/livez", "/readyz"} {
		var checks []healthz.HealthChecker
		for _, name := range checksAt(path) {
			checks = append(checks, healthz.NamedCheck(name, func(*http.Request) error { return nil }))
		}
		healthz.InstallPathHandler(mux, path, checks...)
	}
	return mux
})

// answerHealth answers the health checks of the whole server to requests without credentials.
// A real server allows everybody to read them, by a ClusterRole, unless its configuration names the paths for
// which credentials may be missing. Requests with credentials are authorized, and so
// are those for the paths of single checks.
func (h *handler) answerHealth(counts *requestCounts) filter {
	users := h.cluster.Users
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if !isHealthRoot(req.URL.Path) {
				next.ServeHTTP(w, req)
				return
			}
			// A copy, because authentication removes the token from the request.
			if _, ok, err := users.Authenticate(req.Clone(req.Context())); err != nil || ok || !users.MayBeAnonymous(req.URL.Path) {
				next.ServeHTTP(w, req)
				return
			}
			contextOf(req).observe.Unauthenticated(authentication.Anonymous)
			defer h.beginFlow(w, req, authentication.Anonymous).End()
			counts.health(w, req)
		})
	}
}

// isHealthCheck reports whether a path is one of the health checks, or of a single check.
func isHealthCheck(path string) bool {
	root, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return root == "healthz" || root == "livez" || root == "readyz"
}
