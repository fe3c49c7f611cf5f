package rest

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiserver/pkg/server/healthz"

	"github.com/fakecluster/fakecluster/internal/auth"
)

// healthChecks are the checks of a real server that stand for something that a cluster has. All
// of them are fulfilled as long as the server answers.
var healthChecks = []string{
	"ping", "log", "etcd", "poststarthook/crd-informer-synced", "poststarthook/start-system-namespaces-controller",
	"poststarthook/rbac/bootstrap-roles", "poststarthook/scheduling/bootstrap-system-priority-classes",
	"poststarthook/priority-and-fairness-config-producer", "poststarthook/kube-apiserver-autoregistration", "autoregister-completion",
}

// health is upstream's handler of the paths that ask whether the server is up, and of those of
// single checks below them. It is the same for all servers, and made once in a process.
var health = sync.OnceValue(func() *http.ServeMux {
	mux := http.NewServeMux()
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

// answerHealth answers the paths that ask whether the server is up. They need no
// credentials, which only decide who is named in the event of the request. The paths of single
// checks do need them.
func answerHealth(users *auth.Authenticator) filter {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			switch req.URL.Path {
			case "/healthz", "/livez", "/readyz":
				by, ok, err := users.Authenticate(req)
				if err != nil || !ok {
					by = auth.Anonymous
				}
				logUser(req, by)
				logDecision(req.Context(), "allow", "")
				health().ServeHTTP(w, req)
			default:
				next.ServeHTTP(w, req)
			}
		})
	}
}

// isHealthCheck tells whether a path is below one of those of answerHealth.
func isHealthCheck(path string) bool {
	root, _, below := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return below && (root == "healthz" || root == "livez" || root == "readyz")
}
