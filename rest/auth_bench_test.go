package rest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fakecluster/fakecluster/internal/admission/plugins"
	"github.com/fakecluster/fakecluster/internal/server"
	"github.com/fakecluster/fakecluster/store"
)

// benched makes a server for a benchmark.
func benched(b *testing.B, o server.Options) *Handler {
	b.Helper()
	s, err := store.Open(store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	o.Token = "secret"
	cluster, err := server.New(s, o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(cluster.Close)
	return New(cluster, Options{})
}

// post creates an object, and returns the answer.
func (h *Handler) post(b *testing.B, path, body string) string {
	b.Helper()
	req := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer secret")
	req.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	if w.Code != http.StatusCreated {
		b.Fatal(w.Code, w.Body)
	}
	return w.Body.String()
}

// median sorts.
func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

// BenchmarkAuth measures what a request pays for authentication and authorization:
// "who-ns/op" is the median with the filters for that, less the median without. They take turns. The budget
// is 1 µs for the administrator of the cluster and 5 µs for a user with ten roles.
func BenchmarkAuth(b *testing.B) {
	s := benched(b, server.Options{})
	const roles = "/apis/rbac.authorization.k8s.io/v1"
	s.post(b, "/api/v1/namespaces/default/serviceaccounts", `{"metadata":{"name":"robot"}}`)
	for i := range 200 { // each user has ten of them, and the last of the ten allows the request
		resource := fmt.Sprint("things", i)
		if i%10 == 9 {
			resource = "websites"
		}
		s.post(b, roles+"/clusterroles", fmt.Sprintf(
			`{"metadata":{"name":"r%03d"},"rules":[{"apiGroups":["example.com"],"resources":[%q,%q],"verbs":["get","list","watch","update"]},{"apiGroups":[""],"resources":["configmaps"],"verbs":["get"]}]}`,
			i, resource, resource+"/status"))
		s.post(b, roles+"/clusterrolebindings", fmt.Sprintf(
			`{"metadata":{"name":"r%03d"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"r%03d"},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":%q}]}`,
			i, i, []string{"jane", "system:serviceaccount:default:robot", fmt.Sprint("user", i/10)}[min(i/10, 2)]))
	}
	issued := s.post(b, "/api/v1/namespaces/default/serviceaccounts/robot/token", `{"spec":{}}`)
	_, issued, _ = strings.Cut(issued, `"token":"`)
	issued, _, _ = strings.Cut(issued, `"`)

	passed := 0
	answer := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passed++ })
	before := []filter{giveContext(nil), parsePath}
	with := behind(append(slices.Clip(before), authenticate(s.shared.cluster.Users), impersonate(s.shared.cluster.Access), s.shared.authorize), answer)
	without := behind(before, answer)
	for _, user := range []struct{ name, token, as string }{
		{"administrator", "secret", ""},
		{"user with ten roles", s.shared.cluster.Users.TokenFor("jane", "dev"), ""},
		{"service account with ten roles", issued, ""},
		{"administrator as a user with ten roles", "secret", "jane"},
	} {
		b.Run(user.name, func(b *testing.B) {
			req := httptest.NewRequest(http.MethodPut, "/apis/example.com/v1/namespaces/default/websites/blog?fieldManager=m", nil)
			bearer, as := []string{"Bearer " + user.token}, []string{user.as}
			turn := func(h http.Handler) time.Duration {
				req.Header["Authorization"] = bearer // upstream's code takes these away
				if user.as != "" {
					req.Header["Impersonate-User"] = as
				}
				began := time.Now()
				h.ServeHTTP(discarded{}, req)
				return time.Since(began)
			}
			passed = 0
			var whole, rest []time.Duration
			for b.Loop() {
				whole, rest = append(whole, turn(with)), append(rest, turn(without))
			}
			if passed != 2*b.N {
				b.Fatalf("%d of %d requests were refused", 2*b.N-passed, 2*b.N)
			}
			b.ReportMetric(float64((median(whole) - median(rest)).Nanoseconds()), "who-ns/op")
		})
	}
}

// BenchmarkInTree measures what the admission plugins of kube-apiserver add to a dry run of a create of the
// administrator: "plugins-ns/op" is the median of a server with those that are on by default, less that of
// one without any. They take turns.
func BenchmarkInTree(b *testing.B) {
	off := slices.DeleteFunc(plugins.Names(), func(name string) bool { return name == "NamespaceLifecycle" })
	servers := []*Handler{benched(b, server.Options{}), benched(b, server.Options{DisableAdmissionPlugins: off})}
	for _, s := range servers {
		s.post(b, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", `{"metadata":{"name":"websites.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
			"names":{"plural":"websites","kind":"Website"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`)
	}
	for _, object := range []struct{ kind, path, body string }{
		{"custom object", "/apis/example.com/v1/namespaces/default/websites", `{"apiVersion":"example.com/v1","kind":"Website","metadata":{"name":"a"},"spec":{"replicas":1}}`},
		{"ConfigMap", "/api/v1/namespaces/default/configmaps", `{"metadata":{"name":"a"},"data":{"a":"b"}}`},
		{"Pod", "/api/v1/namespaces/default/pods", `{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i"}]}}`},
	} {
		b.Run(object.kind, func(b *testing.B) {
			took := [2][]time.Duration{}
			for b.Loop() {
				for i, s := range servers {
					req := httptest.NewRequest(http.MethodPost, object.path+"?dryRun=All", strings.NewReader(object.body))
					req.Header["Authorization"], req.Header["Content-Type"] = []string{"Bearer secret"}, []string{"application/json"}
					began := time.Now()
					s.ServeHTTP(httptest.NewRecorder(), req)
					took[i] = append(took[i], time.Since(began))
				}
			}
			b.ReportMetric(float64((median(took[0]) - median(took[1])).Nanoseconds()), "plugins-ns/op")
		})
	}
}
