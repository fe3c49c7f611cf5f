package rest

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/component-base/metrics/prometheus/slis"

	"github.com/fakecluster/fakecluster/internal/auth"
)

// healthChecks are those checks of a real server that stand for something that a cluster has.
// All of them pass as long as the server answers.
var healthChecks = []string{
	"ping", "log", "etcd", "poststarthook/crd-informer-synced", "poststarthook/start-system-namespaces-controller",
	"poststarthook/rbac/bootstrap-roles", "poststarthook/scheduling/bootstrap-system-priority-classes",
	"poststarthook/priority-and-fairness-config-producer", "poststarthook/kube-apiserver-autoregistration", "autoregister-completion",
}

// health is upstream's handler of the paths that ask whether the server is up, and of those of
// single checks below them. It is the same for all servers, and made once in a process.
var health = sync.OnceValue(func() *http.ServeMux {
	mux := http.NewServeMux()
	slis.SLIMetricsWithReset{}.Install(mux) // before the first check, which is counted then
	fulfilled := func(names ...string) []healthz.HealthChecker {
		var all []healthz.HealthChecker
		for _, name := range names {
			all = append(all, healthz.NamedCheck(name, func(*http.Request) error { return nil }))
		}
		return all
	}
	alive := slices.Insert(slices.Clone(healthChecks), 2, "loopback-serving-certificate")
	healthz.InstallPathHandler(mux, "/healthz", fulfilled(alive...)...)
	healthz.InstallPathHandler(mux, "/livez", fulfilled(alive...)...)
	healthz.InstallPathHandler(mux, "/readyz", fulfilled(append(slices.Clone(healthChecks), "etcd-readiness", "informer-sync", "shutdown")...)...)
	return mux
})

// answerHealth answers the paths that ask whether the server is up to requests without credentials.
// A real server lets everybody ask, by a ClusterRole, unless its configuration names the paths for
// which credentials may be missing. Requests with credentials are authorized, and so
// are those for the paths of single checks.
func answerHealth(users *auth.Authenticator, counts *requestCounts) filter {
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
			logUser(req, auth.Anonymous)
			logDecision(req.Context(), "allow", "")
			counts.health(w, req)
		})
	}
}

// isHealthRoot tells whether a path asks for all checks.
func isHealthRoot(path string) bool {
	return path == "/healthz" || path == "/livez" || path == "/readyz"
}

// isHealthCheck tells whether a path is one of the health checks, or of a single check.
func isHealthCheck(path string) bool {
	root, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return root == "healthz" || root == "livez" || root == "readyz"
}
