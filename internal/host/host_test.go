package host_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	clientcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fakecluster/fakecluster/internal/host"
	"github.com/fakecluster/fakecluster/internal/release"
)

// client is a client of a host in the test, without a socket.
type client struct {
	t       testing.TB
	host    *host.Host
	session string
	end     func() // ends the session, as if its connection had ended, and waits until the host has noticed
	called  map[string]bool
}

// newClient makes a host and a client with a session.
func newClient(t testing.TB) *client {
	h := host.New(host.Options{Version: "v1.2.3", Build: "b", PID: 42, Bubble: bubbles(t)})
	t.Cleanup(func() { _ = h.Close() })
	return openSession(t, h)
}

func openSession(t testing.TB, h *host.Host) *client {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	read, write := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.ServeHTTP(&streamed{header: http.Header{}, Writer: write}, httptest.NewRequestWithContext(ctx, "POST", "/v1/sessions", nil))
	}()
	line, err := bufio.NewReader(read).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var s host.Session
	if err := json.Unmarshal(line, &s); err != nil {
		t.Fatal(err)
	}
	end := sync.OnceFunc(func() { cancel(); <-ended })
	t.Cleanup(end)
	return &client{t: t, host: h, session: s.Session, end: end, called: map[string]bool{"POST /v1/sessions": true}}
}

// send sends a request, in which SESSION is replaced, and returns the code and the content of the answer.
func (c *client) send(method, path, body string) (int, string) {
	req := httptest.NewRequest(method, path, strings.NewReader(strings.ReplaceAll(body, "SESSION", c.session)))
	answer := httptest.NewRecorder()
	c.host.ServeHTTP(answer, req)
	return answer.Code, answer.Body.String()
}

// do sends a request to an operation, with the cluster in place of {cluster}, and returns its answer.
func do[Answer any](c *client, operation, cluster, body string) (answer Answer) {
	c.t.Helper()
	c.called[strings.SplitN(operation, "?", 2)[0]] = true
	method, path, _ := strings.Cut(operation, " ")
	path = strings.NewReplacer("{cluster}", cluster, "{fault}", "1", "{node}", "n1").Replace(path)
	code, text := c.send(method, path, body)
	if code != http.StatusOK && code != http.StatusNoContent {
		c.t.Fatalf("%s: %d %s", operation, code, text)
	}
	switch any(answer).(type) {
	case string:
		return any(text).(Answer)
	case struct{}:
		if text != "" {
			c.t.Fatalf("%s: the answer is %q", operation, text)
		}
		return answer
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	if err := decoder.Decode(&answer); err != nil {
		c.t.Fatalf("%s: %v in %s", operation, err, text)
	}
	return answer
}

func (c *client) start(body string) host.Cluster {
	c.t.Helper()
	return do[host.Cluster](c, "POST /v1/clusters", "", body)
}

// clientset returns a client for a kubeconfig.
func clientset(t testing.TB, kubeconfig string) *kubernetes.Clientset {
	t.Helper()
	cfg, err := clientcmd.RESTConfigFromKubeConfig([]byte(kubeconfig))
	if err != nil {
		t.Fatal(err)
	}
	cfg.UserAgent = "tester"
	set, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if transport, ok := set.RESTClient().(interface{ Client() *http.Client }); ok {
			transport.Client().CloseIdleConnections()
		}
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return set
}

func write(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const role = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: operator}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [create]}
- {apiGroups: [""], resources: [secrets], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: operator}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: operator}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: jane}]
`

// Each operation of the table does what it says.
func TestOperations(t *testing.T) {
	c := newClient(t)
	roles := write(t, "role.yaml", role)
	made := c.start(`{"session": "SESSION", "manifests": [` + quote(roles) + `], "audit": "Metadata", "seed": 7, "objects": [
		{"kind": "k8s.io/api/core/v1.ConfigMap", "metadata": {"name": "first"}, "data": {"n": "1"}}]}`)
	if made.Cluster != "c1" || !strings.HasPrefix(made.URL, "http://127.0.0.1:") || made.Token == "" || made.WebhookServer != nil {
		t.Errorf("the new cluster: %+v", made)
	}
	if got := do[host.Cluster](c, "GET /v1/clusters/{cluster}", "c1", ""); !reflect.DeepEqual(got, made) {
		t.Errorf("the cluster is %+v, and was started as %+v", got, made)
	}
	if got := do[host.Clusters](c, "GET /v1/clusters", "", "").Clusters; !slices.Equal(got, []string{"c1"}) {
		t.Errorf("clusters %v", got)
	}
	if got, want := do[host.Info](c, "GET /v1/info", "", ""), (host.Info{Version: "v1.2.3", Kubernetes: release.Libraries, BehavesAs: newest, Build: "b", PID: 42, Sessions: 1, Clusters: 1}); got != want {
		t.Errorf("the host is %+v, want %+v", got, want)
	}
	admin := clientset(t, made.Kubeconfig)
	maps := admin.CoreV1().ConfigMaps("default")
	first, err := maps.Get(t.Context(), "first", metav1.GetOptions{})
	if err != nil || first.Data["n"] != "1" {
		t.Fatalf("the object of the start: %v, %v", first, err)
	}

	jane := do[host.Credentials](c, "POST /v1/clusters/{cluster}/credentials", "c1", `{"user": "jane"}`)
	if jane.URL != made.URL || jane.Token == "" || jane.Token == made.Token {
		t.Errorf("the credentials of jane: %+v", jane)
	}
	asJane := clientset(t, jane.Kubeconfig).CoreV1()
	if _, err := asJane.ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "by-jane"}}, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := asJane.ConfigMaps("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("jane lists without a role: %v", err)
	}
	tryLooks(t, c, maps, roles)
	tryFaults(t, c, maps)
	tryHold(t, c, maps)
	tryWaits(t, c, maps)
	tryCopies(t, c, admin)
	tryWorkloads(t, c)
	tryFunctions(t, c)
	tryContainers(t, c)
	tryBubble(t, c)
	tryExploration(t, c)

	do[struct{}](c, "DELETE /v1/clusters/{cluster}/stats", "c1", "")
	if got := do[host.Requests](c, "GET /v1/clusters/{cluster}/requests", "c1", "").Requests; len(got) != 0 {
		t.Errorf("requests after the reset: %v", got)
	}
	ended := do[host.Ended](c, "DELETE /v1/clusters/{cluster}", "c1", "")
	if want := []string{"the fault never fired: delete configmaps: Unavailable; no request matched; 6 requests differ in one field only: the last has the Verb \"get\""}; !slices.Equal(ended.Errors, want) {
		t.Errorf("errors of the end %q, want %q", ended.Errors, want)
	}
	if text := do[string](c, "GET /v1/openapi", "", ""); text != string(host.Document()) {
		t.Error("the host serves another document than it has")
	}
	c.end()
	do[struct{}](c, "POST /v1/end", "", "")

	for _, route := range host.Routes() {
		if !c.called[route] {
			t.Errorf("no test calls %s", route)
		}
	}
}

type configMaps = clientcorev1.ConfigMapInterface

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// tryLooks tries what looks at a cluster.
func tryLooks(t *testing.T, c *client, maps configMaps, roles string) {
	access := do[host.Access](c, "GET /v1/clusters/{cluster}/access?user=jane", "c1", "")
	if len(access.Requests) != 2 || access.Requests[0].Verb != "create" || !access.Requests[0].Allowed || access.Requests[1].Verb != "list" || access.Requests[1].Allowed || len(access.Rules) != 1 {
		t.Errorf("the access of jane: %+v", access)
	}
	c.fails("POST /v1/clusters/{cluster}/check/role", `{"user": "jane", "paths": [`+quote(roles)+`]}`, "do not allow everything that jane has requested\nmissing, as markers for controller-gen:\n")
	c.fails("POST /v1/clusters/{cluster}/check/unused-rules", `{"user": "jane", "paths": [`+quote(roles)+`]}`, "have rules that jane has never needed\nnever used:\n")
	c.fails("POST /v1/clusters/{cluster}/check/budget", `{"noBareLists": true}`, "more requests than the budget allows:\n\ta list without a selector: tester list configmaps in default: 403 Forbidden: ")
	do[struct{}](c, "POST /v1/clusters/{cluster}/check/budget", "c1", `{"noConflicts": true}`)

	requests := do[host.Requests](c, "GET /v1/clusters/{cluster}/requests", "c1", "").Requests
	var lines []string
	for _, r := range requests {
		lines = append(lines, fmt.Sprintf("%d %s %s %s: %d", r.Number, r.Client, r.Verb, r.Object, r.Code))
	}
	want := []string{"1 tester get configmaps default/first: 200", "2 tester create configmaps in default: 201", "3 tester list configmaps in default: 403"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if later := do[host.Requests](c, "GET /v1/clusters/{cluster}/requests?after=2", "c1", "").Requests; len(later) != 1 || later[0].Number != 3 {
		t.Errorf("the requests after 2: %+v", later)
	}
	if stats := do[host.Stats](c, "GET /v1/clusters/{cluster}/stats", "c1", ""); len(stats.Counts) != 3 || stats.Counts[0].Client != "tester" || stats.Counts[0].Verb != "create" || stats.Counts[0].Requests != 1 {
		t.Errorf("stats: %+v", stats)
	}
	if found := do[host.Findings](c, "GET /v1/clusters/{cluster}/findings", "c1", ""); !strings.Contains(found.Text, "refused:") || len(found.Sections) == 0 {
		t.Errorf("findings: %+v", found)
	}
	if writes, want := do[host.Lines](c, "GET /v1/clusters/{cluster}/last-writes", "c1", "").Lines, "tester (jane) create configmaps default/by-jane"; len(writes) != 1 || !strings.HasPrefix(writes[0], want) {
		t.Errorf("last writes %q, want one %q", writes, want)
	}
	if trail := do[host.AuditTrail](c, "GET /v1/clusters/{cluster}/audit", "c1", ""); len(trail.Events) == 0 {
		t.Error("the audit trail is empty")
	}
	do[struct{}](c, "POST /v1/clusters/{cluster}/failure", "c1", `{"message": "the greeting is wrong"}`)
	if page := do[string](c, "GET /v1/clusters/{cluster}/report?title=TestIt", "c1", ""); !strings.HasPrefix(page, "<!doctype html>") || !strings.Contains(page, "</html>") {
		t.Errorf("the page: %.300q", page)
	}

	e := do[host.Explanation](c, "POST /v1/clusters/{cluster}/explain", "c1", `{"object": {"kind": "k8s.io/api/core/v1.ConfigMap", "metadata": {"name": "Bad"}}, "as": {"user": "jane"}}`)
	if e.Answer.Code != 422 || e.Request.User != "jane" || !strings.Contains(e.Text, "as jane, manager fakecluster-explain (dry run): 422") {
		t.Errorf("the explanation: %+v", e)
	}

	changed := configMap("first")
	changed.Data = map[string]string{"n": "2"}
	if _, err := maps.Update(t.Context(), changed, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	history := do[host.History](c, "GET /v1/clusters/{cluster}/history?kind=ConfigMap&name=first", "c1", "").Revisions
	if len(history) != 2 || history[1].Client != "tester" || !strings.Contains(history[1].Text, `data.n: "1" → "2"`) {
		t.Fatalf("history: %+v", history)
	}
	before := do[host.Found](c, fmt.Sprintf("GET /v1/clusters/{cluster}/object-at?kind=ConfigMap&name=first&revision=%d", history[0].Revision.Revision), "c1", "").Object
	if n := before["data"].(map[string]any)["n"]; n != "1" {
		t.Errorf("the object was %v", before)
	}
}

// fails sends a request to a check that has to fail, with a text.
func (c *client) fails(operation, body, want string) {
	c.t.Helper()
	c.called[operation] = true
	method, path, _ := strings.Cut(operation, " ")
	code, text := c.send(method, strings.Replace(path, "{cluster}", "c1", 1), body)
	var got host.Failure
	if err := json.Unmarshal([]byte(text), &got); err != nil || code != 422 || !strings.Contains(got.Error, want) {
		c.t.Errorf("%s: %d %s\nwant 422 and %q", operation, code, text, want)
	}
}

func tryFaults(t *testing.T, c *client, maps configMaps) {
	injected := do[host.Injection](c, "POST /v1/clusters/{cluster}/faults", "c1", `{"verb": "get", "resource": "configmaps", "times": 1, "effect": {"type": "Fail", "status": {"code": 418, "reason": "Teapot", "message": "short and stout"}}}`)
	if want := (host.Injection{Fault: 1, Text: "get configmaps, at most 1: Fail(short and stout)"}); injected.Fault != want.Fault || injected.Fired != 0 {
		t.Errorf("injected: %+v", injected)
	}
	if _, err := maps.Get(t.Context(), "first", metav1.GetOptions{}); err == nil || err.Error() != "short and stout" {
		t.Errorf("the fault strikes with %v", err)
	}
	if fired := do[host.Injection](c, "GET /v1/clusters/{cluster}/faults/{fault}", "c1", "").Fired; fired != 1 {
		t.Errorf("the fault has fired %d times", fired)
	}
	do[host.Injection](c, "DELETE /v1/clusters/{cluster}/faults/{fault}", "c1", "")
	do[host.Injection](c, "POST /v1/clusters/{cluster}/faults", "c1", `{"verb": "delete", "resource": "configmaps", "effect": {"type": "Unavailable"}}`)
	if injected := do[host.Injections](c, "GET /v1/clusters/{cluster}/faults", "c1", "").Faults; len(injected) != 2 || injected[0].Fired != 1 || injected[1].Fault != 2 {
		t.Errorf("faults: %+v", injected)
	}
}

func tryHold(t *testing.T, c *client, maps configMaps) {
	w, err := maps.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for range 3 {
		<-w.ResultChan() // what the watch begins with: kube-root-ca.crt is not there, so first, by-jane
		if len(w.ResultChan()) == 0 {
			break
		}
	}
	do[struct{}](c, "POST /v1/clusters/{cluster}/hold", "c1", "")
	for _, name := range []string{"a", "b", "c", "d"} {
		if _, err := maps.Create(t.Context(), configMap(name), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	pending := do[host.Deliveries](c, "GET /v1/clusters/{cluster}/hold?wait=true", "c1", "").Pending
	if len(pending) != 4 || pending[0].Text != "ADDED configmaps default/a to tester" || pending[0].Resource != "configmaps" {
		t.Fatalf("pending: %+v", pending)
	}
	for _, how := range []string{`{"first": 1}`, `{"events": [` + encoded(pending[1]) + `]}`, `{"resource": "configmaps"}`} {
		want := 1
		if strings.Contains(how, "resource\": \"configmaps\"}") {
			want = 2
		}
		if got := do[host.Delivered](c, "POST /v1/clusters/{cluster}/hold/deliver", "c1", how).Delivered; got != want {
			t.Errorf("%s delivers %d, want %d", how, got, want)
		}
	}
	if got := do[host.Delivered](c, "POST /v1/clusters/{cluster}/hold/deliver", "c1", `{"userAgent": "tester"}`).Delivered; got != 0 {
		t.Errorf("%d events were left", got)
	}
	do[struct{}](c, "DELETE /v1/clusters/{cluster}/hold", "c1", "")
}

func encoded(value any) string {
	text, _ := json.Marshal(value)
	return string(text)
}

func tryWaits(t *testing.T, c *client, maps configMaps) {
	do[struct{}](c, "POST /v1/clusters/{cluster}/settle", "c1", `{"timeout": "1m"}`)
	c.fails("POST /v1/clusters/{cluster}/settle", `{"timeout": "1ns"}`, "deadline")
	found := do[host.Found](c, "POST /v1/clusters/{cluster}/wait", "c1", `{"object": {"kind": "k8s.io/api/core/v1.ConfigMap", "name": "first"}, "cel": "object.data.n == '2'"}`).Object
	if found["kind"] != "ConfigMap" {
		t.Errorf("found %v", found)
	}
	if gone := do[host.Found](c, "POST /v1/clusters/{cluster}/wait", "c1", `{"object": {"apiVersion": "v1", "kind": "ConfigMap", "name": "nowhere"}, "gone": true}`); gone.Object != nil {
		t.Errorf("what is gone is %v", gone.Object)
	}
	c.fails("POST /v1/clusters/{cluster}/wait", `{"object": {"kind": "ConfigMap", "name": "first"}, "hasCondition": "Ready", "within": "1ns"}`, "WaitFor: ConfigMap default/first: ")
}

// tryCopies tries forks, snapshots and compaction.
func tryCopies(t *testing.T, c *client, admin *kubernetes.Clientset) {
	fork := do[host.Cluster](c, "POST /v1/clusters/{cluster}/fork", "c1", `{"session": "SESSION"}`)
	forked := clientset(t, fork.Kubeconfig).CoreV1().ConfigMaps("default")
	if _, err := forked.Create(t.Context(), configMap("of-the-fork"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := forked.Get(t.Context(), "first", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := admin.CoreV1().ConfigMaps("default").Get(t.Context(), "of-the-fork", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the origin of the fork has its object: %v", err)
	}
	snapshot := do[string](c, "GET /v1/clusters/{cluster}/snapshot", fork.Cluster, "")
	data := base64.StdEncoding.EncodeToString([]byte(snapshot))
	for _, body := range []string{
		`{"session": "SESSION", "snapshotData": "` + data + `"}`,
		`{"session": "SESSION", "snapshot": ` + quote(write(t, "snapshot", snapshot)) + `}`,
	} {
		copied := c.start(body)
		if _, err := clientset(t, copied.Kubeconfig).CoreV1().ConfigMaps("default").Get(t.Context(), "of-the-fork", metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
	}
	do[struct{}](c, "POST /v1/clusters/{cluster}/compact", "c1", "")
	c.fails("GET /v1/clusters/{cluster}/object-at?kind=ConfigMap&name=first&revision=2", "", "too old resource version: 2 (")
}

func tryWorkloads(t *testing.T, c *client) {
	alive := c.start(`{"session": "SESSION", "workloads": {"nodes": 2, "behaviors": [{"image": "web", "startDelay": "1ms"}, {"image": "unused", "neverReady": true}]}, "objects": [
		{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": {"app": "web"}},
		 "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web"}]}}}}]}`)
	do[host.Found](c, "POST /v1/clusters/{cluster}/wait", alive.Cluster, `{"object": {"kind": "Deployment", "name": "web"}, "hasCondition": "Available"}`)
	do[struct{}](c, "POST /v1/clusters/{cluster}/nodes/{node}", alive.Cluster, `{"action": "cordon"}`)
	n1, err := clientset(t, alive.Kubeconfig).CoreV1().Nodes().Get(t.Context(), "n1", metav1.GetOptions{})
	if err != nil || !n1.Spec.Unschedulable {
		t.Errorf("the cordoned node: %v, %v", n1.Spec, err)
	}
	tryExec(t, c, alive)
	tryNetwork(t, c, alive)
	ended := do[host.Ended](c, "DELETE /v1/clusters/{cluster}/workloads", alive.Cluster, "")
	if want := []string{"the behavior of image unused has applied to no container; correct what it selects, or leave it out"}; !slices.Equal(ended.Errors, want) {
		t.Errorf("errors of the workloads %q, want %q", ended.Errors, want)
	}
	do[struct{}](c, "POST /v1/clusters/{cluster}/workloads", alive.Cluster, `{"workloads": {"nodes": 1}}`)
	if code, text := c.send("POST", "/v1/clusters/"+alive.Cluster+"/workloads", "{}"); code != 409 {
		t.Errorf("workloads in a living cluster: %d %s", code, text)
	}
}

func quote(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

// A request with a mistake is rejected in words that say what to write instead.
func TestMistakesAreRejected(t *testing.T) {
	c := newClient(t)
	c.start(`{"session": "SESSION"}`)
	for _, test := range []struct {
		name, method, path, body string
		code                     int
		want                     string
	}{
		{"an unknown field", "POST", "/v1/clusters/c1/settle", `{"timeOut": "1s"}`, 400, `the request of POST /v1/clusters/{cluster}/settle: unknown field "timeOut"; its fields are timeout`},
		{"an unknown field of an effect", "POST", "/v1/clusters/c1/faults", `{"effect": {"kind": "Conflict"}}`, 400, `the request of POST /v1/clusters/{cluster}/faults: unknown field "effect.kind"; its fields are verb, resource, subresource, namespace, name, user, userAgent, auditID, after, times, probability, optional, latency, effect`},
		{"a field for an operation without any", "POST", "/v1/clusters/c1/compact", `{"now": true}`, 400, `the request of POST /v1/clusters/{cluster}/compact: unknown field "now"; it has no fields`},
		{"a value of the wrong type", "POST", "/v1/clusters/c1/fork", `{"session": 1}`, 400, `the request of POST /v1/clusters/{cluster}/fork: the field session cannot be a number; its fields are session`},
		{"a list in place of an object", "POST", "/v1/clusters/c1/fork", `[]`, 400, `the request of POST /v1/clusters/{cluster}/fork: the body must be a JSON object, but has the type array; its fields are session`},
		{"text after the object", "POST", "/v1/clusters/c1/fork", `{}{}`, 400, `the request of POST /v1/clusters/{cluster}/fork: invalid character '{' after top-level value; its fields are session`},
		{"an unknown parameter", "GET", "/v1/clusters/c1/requests?since=1", "", 400, `unknown parameter "since": the operation has after`},
		{"a parameter that is not a number", "GET", "/v1/clusters/c1/requests?after=x", "", 400, `the parameter after must be a whole number, not "x"`},
		{"a parameter that is given twice", "GET", "/v1/clusters/c1/requests?after=1&after=2", "", 400, `the parameter after is given 2 times`},
		{"a parameter for an operation without any", "GET", "/v1/info?x=1", "", 400, `unknown parameter "x": the operation has none`},
		{"a query in place of a body", "POST", "/v1/clusters/c1/settle?timeout=1s", "", 400, `POST /v1/clusters/{cluster}/settle takes its request as JSON in the body, not in the query`},
		{"no session", "POST", "/v1/clusters", "", 400, "session is missing: a cluster needs a session, which POST /v1/sessions opens"},
		{"a session that has ended", "POST", "/v1/clusters", `{"session": "x"}`, 404, `there is no session "x": it has ended with its connection; POST /v1/sessions opens another one`},
		{"a relative path", "POST", "/v1/clusters", `{"session": "SESSION", "crdPaths": ["config/crd"]}`, 400, `the path "config/crd" is relative: give an absolute one, because the host runs in another folder`},
		{"a relative path of a program", "POST", "/v1/clusters", `{"session": "SESSION", "workloads": {"programs": [{"image": "a", "path": "bin/a"}]}}`, 400, `the path "bin/a" is relative: give an absolute one, because the host runs in another folder`},
		{"a relative path of a program in YAML", "POST", "/v1/clusters", `{"session": "SESSION", "workloads": "programs: [{image: a, path: bin/a}]"}`, 400, `the path "bin/a" is relative: give an absolute one, because the host runs in another folder`},
		{"a program that a folder does not have", "POST", "/v1/clusters", `{"session": "SESSION", "workloads": "nodes: 1", "programs": [{"image": "a", "path": "bin/a"}], "folder": "/nowhere"}`, 400, `Image or Command: the program /nowhere/bin/a: exec: "/nowhere/bin/a": stat /nowhere/bin/a: no such file or directory`},
		{"workloads that are not YAML", "POST", "/v1/clusters", `{"session": "SESSION", "workloads": "nodes: ["}`, 400, "workloads:1: not YAML: did not find expected node content"},
		{"workloads that are a word", "POST", "/v1/clusters", `{"session": "SESSION", "workloads": "nodes"}`, 400, "workloads:1:1: this must be a mapping with some of behaviors, controlPlane, controllers, nodes, programs, provisioners, scheduler"},
		{"a relative path of roles", "POST", "/v1/clusters/c1/check/role", `{"user": "jane", "paths": ["config/rbac"]}`, 400, `the path "config/rbac" is relative: give an absolute one, because the host runs in another folder`},
		{"an option that is wrong", "POST", "/v1/clusters", `{"session": "SESSION", "controllers": ["x"]}`, 400, ""},
		{"an object without a kind", "POST", "/v1/clusters", `{"session": "SESSION", "objects": [{"metadata": {"name": "a"}}]}`, 400, "objects[0]: the object does not have a kind: give its apiVersion and kind"},
		{"a type of Go that is not known", "POST", "/v1/clusters", `{"session": "SESSION", "objects": [{"kind": "example.com/api.Thing"}]}`, 400, "objects[0]: the object of the type example.com/api.Thing does not name its apiVersion and kind: set both"},
		{"an unknown field of workloads", "POST", "/v1/clusters", `{"session": "SESSION", "workloads": {"nodez": 1}}`, 400, `workloads:1:2: unknown field "nodez" (allowed: behaviors, controlPlane, controllers, nodes, programs, provisioners, scheduler)`},
		{"a snapshot that is not one", "POST", "/v1/clusters", `{"session": "SESSION", "snapshotData": "?"}`, 400, "snapshotData is not base64: encode the answer of GET /v1/clusters/CLUSTER/snapshot"},
		{"a snapshot without an end", "POST", "/v1/clusters", `{"session": "SESSION", "snapshot": "/dev/zero"}`, 400, "the snapshot /dev/zero is not a regular file; write one with fakecluster snapshot"},
		{"a snapshot in a folder", "POST", "/v1/clusters", `{"session": "SESSION", "snapshot": "/dev"}`, 400, "the snapshot /dev is not a regular file; write one with fakecluster snapshot"},
		{"an unknown cluster", "GET", "/v1/clusters/c9", "", 404, `there is no cluster "c9": it was deleted, or has ended with the connection of its session`},
		{"an unknown path", "GET", "/v1/clusterz", "", 404, `the control API does not have "/v1/clusterz": GET /v1/openapi lists its operations`},
		{"a method that the path does not have", "PUT", "/v1/clusters", "", 405, `"/v1/clusters" takes [GET POST], not PUT`},
		{"an unknown effect", "POST", "/v1/clusters/c1/faults", `{"effect": {"type": "conflict"}}`, 400, `the fault cannot be injected: there is no effect "conflict"; the effects are Conflict CutAfterCommit CutBeforeCommit DelayWatch DropWatch ExpireWatch Fail FailConversion FailWebhook InternalError RefuseAdmission StaleRead Timeout TooManyRequests Unavailable`},
		{"a fault that contradicts itself", "POST", "/v1/clusters/c1/faults", `{"verb": "get", "effect": {"type": "Conflict"}}`, 400, "the fault cannot be injected: Conflict cannot strike the verb get; it strikes create, update, patch, delete, deletecollection"},
		{"an unknown fault", "GET", "/v1/clusters/c1/faults/7", "", 404, `there is no fault "7": the answer of injectFault has its number`},
		{"a delivery without a hold", "POST", "/v1/clusters/c1/hold/deliver", `{"first": 1}`, 409, "no watch events are held: begin with POST to the hold of the cluster"},
		{"a node without workloads", "POST", "/v1/clusters/c1/nodes/n1", `{"action": "cordon"}`, 409, "nothing lives in the cluster: start it with workloads, as remote.Workloads(\"nodes: 1\") does, or POST to its workloads, as RunWorkloads does"},
		{"a connection without workloads", "POST", "/v1/clusters/c1/network", `{"action": "dial", "network": "tcp", "address": "web:80"}`, 409, "nothing lives in the cluster: start it with workloads, as remote.Workloads(\"nodes: 1\") does, or POST to its workloads, as RunWorkloads does"},
		{"an unknown action in the network", "POST", "/v1/clusters/c1/network", `{"action": "dance"}`, 400, `action: there is no "dance"; there are close, closeWrite, dial, portForward, read, write`},
		{"two conditions", "POST", "/v1/clusters/c1/wait", `{"object": {"kind": "Namespace", "name": "default"}, "gone": true, "cel": "true"}`, 400, "give exactly one of hasCondition, cel and gone, not 2"},
		{"a kind that several groups have", "POST", "/v1/clusters/c1/wait", `{"object": {"kind": "Event", "name": "a"}, "gone": true}`, 400, `the kind Event is in the groups ["" "events.k8s.io"]: give its apiVersion`},
		{"a kind that is not served", "POST", "/v1/clusters/c1/wait", `{"object": {"kind": "example.com/api.Thing", "name": "a"}, "gone": true}`, 400, "the cluster does not serve a kind Thing: give an apiVersion and a kind that it serves"},
		{"nobody's credentials", "POST", "/v1/clusters/c1/credentials", `{"groups": ["a"]}`, 400, "user is missing: give a user, or a namespace and a serviceAccount"},
		{"the end of a host that is used", "POST", "/v1/end", "", 409, "1 sessions use the host: it ends by itself when their clients have gone, unless it runs with --stay"},
	} {
		t.Run(test.name, func(t *testing.T) {
			code, text := c.send(test.method, test.path, test.body)
			var got host.Failure
			if err := json.Unmarshal([]byte(text), &got); err != nil || code != test.code || test.want != "" && got.Error != test.want {
				t.Errorf("%d %s\nwant %d %s", code, text, test.code, test.want)
			}
		})
	}
	// A fault that was rejected is not an error of the end: its client has been told.
	if ended := do[host.Ended](c, "DELETE /v1/clusters/{cluster}", "c1", ""); len(ended.Errors) > 0 {
		t.Errorf("errors of the end: %q", ended.Errors)
	}
}

// Clusters end with the connection of their session, and those of other sessions go on.
// A kind is found by its name alone, also while an aggregated API is not available.
func TestAKindIsFoundWithoutAnAggregatedAPI(t *testing.T) {
	c := newClient(t)
	made := c.start(`{"session": "SESSION", "objects": [
		{"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1beta1.metrics.k8s.io"}, "spec": {"group": "metrics.k8s.io", "version": "v1beta1",
			"groupPriorityMinimum": 100, "versionPriority": 100, "insecureSkipTLSVerify": true, "service": {"namespace": "kube-system", "name": "metrics-server"}}},
		{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.example.com"}, "spec": {"group": "example.com", "scope": "Cluster",
			"names": {"plural": "things", "kind": "Thing"}, "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]}},
		{"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}}]}`)
	if history := do[host.History](c, "GET /v1/clusters/{cluster}/history?kind=Thing&name=a", made.Cluster, "").Revisions; len(history) != 1 {
		t.Errorf("the history is %+v", history)
	}
}

func TestClustersEndWithTheirSession(t *testing.T) {
	one := newClient(t)
	other := openSession(t, one.host)
	one.start(`{"session": "SESSION"}`)
	kept := other.start(`{"session": "SESSION"}`)
	do[host.Cluster](one, "POST /v1/clusters/{cluster}/fork", "c2", `{"session": "SESSION"}`) // belongs to the session that forks
	one.end()
	if got, want := do[host.Clusters](other, "GET /v1/clusters", "", "").Clusters, []string{"c2"}; !slices.Equal(got, want) {
		t.Errorf("clusters %v, want %v", got, want)
	}
	if _, err := clientset(t, kept.Kubeconfig).CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if code, text := one.send("POST", "/v1/clusters", `{"session": "SESSION"}`); code != 404 {
		t.Errorf("a cluster of the session that has ended: %d %s", code, text)
	}
}

// A host without clients is done after a while, and a session keeps it.
func TestAHostWithoutClientsIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := host.New(host.Options{Idle: time.Minute})
		defer h.Close()
		isDone := func() bool {
			synctest.Wait()
			select {
			case <-h.Done():
				return true
			default:
				return false
			}
		}
		time.Sleep(59 * time.Second)
		c := openSession(t, h)
		time.Sleep(time.Hour)
		if isDone() {
			t.Fatal("the host is done while a session is open")
		}
		c.end()
		time.Sleep(59 * time.Second)
		if isDone() {
			t.Fatal("the host is done before a minute has passed")
		}
		time.Sleep(2 * time.Second)
		if !isDone() {
			t.Error("the host goes on without clients")
		}
	})
}

// A client may end a host that nobody uses.
func TestAnUnusedHostCanBeEnded(t *testing.T) {
	c := newClient(t)
	c.end()
	do[struct{}](c, "POST /v1/end", "", "")
	<-c.host.Done()
}

// Other users and the pages of a browser cannot use a host on a port.
func TestOnlyTheUserIsAdmitted(t *testing.T) {
	h := host.New(host.Options{Token: "secret"})
	defer h.Close()
	for _, test := range []struct {
		name   string
		host   string
		header map[string]string
		code   int
	}{
		{"a program with the token", "127.0.0.1:80", map[string]string{"Authorization": "Bearer secret"}, 200},
		{"by the name localhost", "localhost:80", map[string]string{"Authorization": "Bearer secret"}, 200},
		{"over IPv6", "[::1]:80", map[string]string{"Authorization": "Bearer secret"}, 200},
		{"no token", "127.0.0.1:80", nil, 401},
		{"another token", "127.0.0.1:80", map[string]string{"Authorization": "Bearer secrets"}, 401},
		{"another scheme", "127.0.0.1:80", map[string]string{"Authorization": "Basic secret"}, 401},
		{"a name that DNS points here", "evil.example:80", map[string]string{"Authorization": "Bearer secret"}, 403},
		{"a page of another site", "127.0.0.1:80", map[string]string{"Authorization": "Bearer secret", "Origin": "https://evil.example"}, 403},
		{"a link of another site", "127.0.0.1:80", map[string]string{"Authorization": "Bearer secret", "Sec-Fetch-Site": "cross-site"}, 403},
	} {
		t.Run(test.name, func(t *testing.T) {
			req := httptest.NewRequest("GET", "/v1/info", nil)
			req.Host = test.host
			for name, value := range test.header {
				req.Header.Set(name, value)
			}
			answer := httptest.NewRecorder()
			h.ServeHTTP(answer, req)
			if answer.Code != test.code {
				t.Errorf("%d %s, want %d", answer.Code, answer.Body, test.code)
			}
		})
	}
}
