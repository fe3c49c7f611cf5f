package remote

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/fakecluster/fakecluster/remote/faults"
	"github.com/fakecluster/fakecluster/remote/inspect"
)

// user is a client of a cluster.
type user struct {
	t     testing.TB
	url   string
	token string
	// transport sends its requests; nil: one without connections that stay open.
	transport http.RoundTripper
}

// admin returns the administrator of a cluster, who uses its transport in a bubble.
func admin(t testing.TB, c *Cluster) user {
	u := user{t: t, url: c.URL(), token: c.Token()}
	if c.bubble != nil {
		u.transport = c.Transport()
	}
	return u
}

// open sends a request, and returns its answer, whose body goes on.
func (u user) open(method, path, body string) (*http.Response, error) {
	u.t.Helper()
	req, err := http.NewRequest(method, u.url+path, strings.NewReader(body))
	if err != nil {
		u.t.Fatal(err)
	}
	req.Header.Set("User-Agent", "tester")
	req.Header.Set("Content-Type", "application/json")
	if u.token != "" {
		req.Header.Set("Authorization", "Bearer "+u.token)
	}
	client := http.Client{Transport: u.transport}
	if u.transport == nil {
		client.Transport = &http.Transport{DisableKeepAlives: true}
	}
	return client.Do(req)
}

// send sends a request, and returns the code of the answer and its content. A request of which the connection breaks has the code 0.
func (u user) send(method, path, body string) (int, map[string]any) {
	u.t.Helper()
	answer, err := u.open(method, path, body)
	if err != nil {
		return 0, nil
	}
	defer answer.Body.Close()
	var content map[string]any
	if err := json.NewDecoder(answer.Body).Decode(&content); err != nil {
		u.t.Fatal(err)
	}
	return answer.StatusCode, content
}

// must sends a request that has to succeed.
func (u user) must(method, path, body string) map[string]any {
	u.t.Helper()
	code, content := u.send(method, path, body)
	if code/100 != 2 {
		u.t.Fatalf("%s %s: %d %v", method, path, code, content)
	}
	return content
}

const (
	maps     = "/api/v1/namespaces/default/configmaps"
	cronTabs = "/apis/stable.example.com/v1/namespaces/default/crontabs"
)

func configMap(name string) string {
	return `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "` + name + `"}, "data": {"n": "1"}}`
}

// ConfigMap is a typed object that need not name its kind, as those of k8s.io/api.
type ConfigMap struct {
	Metadata struct {
		Name            string `json:"name"`
		ResourceVersion string `json:"resourceVersion,omitempty"`
	} `json:"metadata"`
	Data map[string]string `json:"data,omitempty"`
}

func named(name string) *ConfigMap {
	m := &ConfigMap{}
	m.Metadata.Name = name
	return m
}

func TestACluster(t *testing.T) {
	c := Start(t, CRDPaths("../scenarios/crontab"), Objects(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "first"}}))
	u := admin(t, c)
	u.must("GET", maps+"/first", "")
	u.must("POST", cronTabs, `{"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": "a"}, "spec": {"cronSpec": "* * * * */5", "image": "a"}}`)
	if code, _ := (user{t: t, url: c.URL(), token: ""}).send("GET", maps, ""); code != 401 {
		t.Errorf("without the token: %d", code)
	}
	if kubeconfig, err := c.Kubeconfig(); err != nil || !bytes.Contains(kubeconfig, []byte("server: https://127.0.0.1:")) {
		t.Errorf("kubeconfig: %v\n%s", err, kubeconfig)
	}

	f := c.Fork(t)
	admin(t, f).must("POST", maps, configMap("of-the-fork"))
	if code, _ := u.send("GET", maps+"/of-the-fork", ""); code != 404 {
		t.Errorf("the origin has the object of the fork: %d", code)
	}
	admin(t, f).must("GET", cronTabs+"/a", "")

	var content bytes.Buffer
	if err := f.Snapshot(&content); err != nil {
		t.Fatal(err)
	}
	admin(t, Start(t, Snapshot(&content))).must("GET", maps+"/of-the-fork", "")
	if err := c.Compact(); err != nil {
		t.Error(err)
	}
}

// Users act under RBAC, and their requests are compared with roles.
func TestUsers(t *testing.T) {
	c := Start(t, Seed(1), Audit("Metadata"))
	jane := c.ConfigFor("jane", "team")
	if code, content := (user{t: t, url: jane.Host, token: jane.BearerToken}).send("GET", maps, ""); code != 403 || !strings.Contains(fmt.Sprint(content["message"]), `User "jane" cannot list resource "configmaps"`) {
		t.Errorf("jane lists: %d %v", code, content)
	}
	account := c.ServiceAccountConfig("default", "operator")
	if code, _ := (user{t: t, url: account.Host, token: account.BearerToken}).send("GET", maps, ""); code != 401 {
		t.Errorf("an account that does not exist: %d", code)
	}
	access := c.Access("jane")
	if want := []PolicyRule{{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"configmaps"}}}; len(access.Requests) != 1 || fmt.Sprint(access.Rules) != fmt.Sprint(want) {
		t.Errorf("access: %+v", access)
	}
	role := filepath.Join(t.TempDir(), "role.json")
	if err := os.WriteFile(role, []byte(`{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"}, "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	failures(t, "do not allow everything that jane has requested\nmissing, as markers for controller-gen:", func(t testing.TB) { c.CheckRole(t, "jane", role) })
	failures(t, "have rules that jane has never needed", func(t testing.TB) { c.CheckUnusedRules(t, "jane", role) })
	failures(t, "fakecluster: more requests than the budget allows:\n\ta list without a selector: tester ", func(t testing.TB) { c.CheckBudget(t, Budget{NoBareLists: true}) })
	failures(t, "", func(t testing.TB) { c.CheckBudget(t, Budget{NoBareLists: true, After: c.Requests()[1].Number}) })
	if len(c.Audit()) == 0 {
		t.Error("the audit trail is empty")
	}
}

func TestFaults(t *testing.T) {
	c := Start(t)
	u := admin(t, c)
	u.must("POST", maps, configMap("a"))
	conflict := c.Inject(faults.Fault{Verb: "update", Resource: "configmaps", Times: 1, Latency: time.Millisecond, Effect: faults.Conflict()})
	if code, content := u.send("PUT", maps+"/a", configMap("a")); code != 409 || content["reason"] != "Conflict" {
		t.Errorf("the conflict: %d %v", code, content)
	}
	if conflict.Fired() != 1 || conflict.Err() != nil || conflict.Fault().Verb != "update" {
		t.Errorf("the injection: %d, %v", conflict.Fired(), conflict.Err())
	}
	cut := c.Inject(faults.Fault{Verb: "create", Resource: "configmaps", Effect: faults.CutAfterCommit()})
	if code, _ := u.send("POST", maps, configMap("b")); code != 0 {
		t.Errorf("a connection that was cut answers %d", code)
	}
	cut.Stop()
	u.must("GET", maps+"/b", "")
	c.Inject(faults.Fault{Verb: "get", Times: 1, Effect: faults.Fail(&statusError{status{418, "Teapot", "short and stout"}})})
	if code, content := u.send("GET", maps+"/b", ""); code != 418 || content["message"] != "short and stout" {
		t.Errorf("the failure: %d %v", code, content)
	}
}

// statusError is an error as those of k8s.io/apimachinery/pkg/api/errors are.
type statusError struct{ ErrStatus status }

type status struct {
	Code    int    `json:"code"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

func (e *statusError) Error() string { return e.ErrStatus.Message }

// A mistake fails the test at once, and a fault that never fires fails it at the end.
func TestMistakesFailTheTest(t *testing.T) {
	failures(t, "fakecluster: the fault cannot be injected: Conflict cannot strike the verb get; it strikes create, update, patch, delete, deletecollection", func(t testing.TB) {
		Start(t).Inject(faults.Fault{Verb: "get", Effect: faults.Conflict()})
	})
	failures(t, "fakecluster: the fault never fired: create configmaps: Unavailable; no request matched", func(t testing.TB) {
		Start(t).Inject(faults.Fault{Verb: "create", Resource: "configmaps", Effect: faults.Unavailable()})
	})
	failures(t, "", func(t testing.TB) {
		Start(t).Inject(faults.Fault{Verb: "create", Effect: faults.Unavailable(), Optional: true})
	})
	failures(t, "fakecluster: Seed is given twice; give it once", func(t testing.TB) { Start(t, Seed(1), Seed(2)) })
	failures(t, "nowhere", func(t testing.TB) { Start(t, CRDPaths("nowhere")) })
	failures(t, "fakecluster: option 2 is nil", func(t testing.TB) { Start(t, Seed(1), nil) })
	failures(t, `fakecluster: Audit: there is no level "all"; the levels are None, Metadata, Request and RequestResponse`, func(t testing.TB) { Start(t, Audit("all")) })
	failures(t, "fakecluster: Snapshot: the reader is nil", func(t testing.TB) { Start(t, Snapshot(nil)) })
	failures(t, "fakecluster: HasCondition: give one status, not 2", func(t testing.TB) {
		Start(t).WaitFor(t, named("a"), HasCondition("Ready", "True", "False").Within(time.Minute))
	})
	failures(t, "fakecluster: WaitFor: ConfigMap default/a: not met after 1ns: ", func(t testing.TB) { Start(t).WaitFor(t, named("a"), HasCondition("Ready").Within(1)) })

	c, err := New()
	if err != nil {
		t.Fatal(err)
	}
	if i := c.Inject(faults.Fault{Verb: "get", Effect: faults.Conflict()}); i.Err() == nil {
		t.Error("a fault that contradicts itself has no error")
	}
	c.Inject(faults.Fault{Verb: "create", Effect: faults.Unavailable()})
	if err := c.Close(); err == nil || len(strings.Split(err.Error(), "\n")) != 2 {
		t.Errorf("Close: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("the second Close: %v", err)
	}
}

// What a failed test logs, and the page that it writes.
func TestTheLogOfAFailedTest(t *testing.T) {
	folder := t.TempDir()
	t.Setenv(reportFolder, folder)
	r := &recorder{TB: t, failed: true}
	r.run(func(t testing.TB) {
		c := Start(t)
		(user{t: t, url: c.URL(), token: ""}).send("GET", maps, "")
		c.ReportFailure("it is wrong")
	})
	log := strings.Join(r.log, "\n")
	if !strings.Contains(log, "fakecluster: what happened in the cluster, the newest first (1 request, ") || !strings.Contains(log, "401 Unauthorized") {
		t.Errorf("the log:\n%s", log)
	}
	page := filepath.Join(folder, "remote.TestTheLogOfAFailedTest.html")
	if content, err := os.ReadFile(page); err != nil || !bytes.HasPrefix(content, []byte("<!doctype html>")) || !strings.Contains(log, "fakecluster: the report is in "+page) {
		t.Errorf("the page: %v", err)
	}
	passed := &recorder{TB: t}
	passed.run(func(t testing.TB) { (user{t: t, url: Start(t).URL(), token: ""}).send("GET", maps, "") })
	if len(passed.log) > 0 {
		t.Errorf("a test that passes logs %q", passed.log)
	}
}

func TestWaiting(t *testing.T) {
	c := Start(t)
	u := admin(t, c)
	u.must("POST", maps, configMap("a"))
	typed, unstructured := named("a"), map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}}
	c.WaitFor(t, typed, CEL("object.data.n == '1'"))
	c.WaitFor(t, unstructured, CEL("object.data.n == '1'"))
	if typed.Data["n"] != "1" || typed.Metadata.ResourceVersion == "" || fmt.Sprint(unstructured["data"]) != "map[n:1]" {
		t.Errorf("the objects that were met: %+v, %v", typed, unstructured)
	}
	c.WaitFor(t, Named("v1", "ConfigMap", "", "nowhere"), Gone().Within(time.Minute))
	if err := c.Settle(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestLooking(t *testing.T) {
	c := Start(t)
	u := admin(t, c)
	u.must("POST", maps, configMap("a"))
	u.must("PUT", maps+"/a", strings.Replace(configMap("a"), `"1"`, `"2"`, 1))
	requests := c.Requests()
	if len(requests) != 2 || requests[1].Client() != "tester" || requests[1].Verb != "update" || requests[1].Object() != "configmaps default/a" || requests[1].Code != 200 || requests[1].Latency <= 0 {
		t.Errorf("requests: %+v", requests)
	}
	if total := c.Stats().Total(func(counted inspect.Counted) bool { return counted.Verb == "update" }); total.Requests != 1 || total.Revisions != 1 {
		t.Errorf("updates: %+v", total)
	}
	if writes := c.LastWrites(1); len(writes) != 1 || !strings.Contains(writes[0], `update configmaps default/a: data.n: "1" → "2"`) {
		t.Errorf("last writes: %q", writes)
	}
	history, err := c.History(named("a"))
	if err != nil || len(history) != 2 || history[1].Changes[0].Path != "data.n" || history[1].Client() != "tester" || !strings.Contains(history.String(), `data.n: "1" → "2"`) {
		t.Fatalf("history: %v, %v", history, err)
	}
	if former, err := c.ObjectAt(named("a"), history[0].Revision); err != nil || fmt.Sprint(former["data"]) != "map[n:1]" {
		t.Errorf("the object was %v, %v", former, err)
	}
	jane := c.ConfigFor("jane")
	e, err := c.Explain(Write{Object: named("b"), As: &jane})
	if err != nil || e.Answer.Code != 403 || !strings.Contains(e.String(), "as jane") || e.Request.User != "jane" || e.Access == nil || e.Access.Allowed {
		t.Errorf("explanation: %+v, %v", e, err)
	}
	if found := c.Findings(); !strings.Contains(found.String(), "403 Forbidden") || len(found.Sections) == 0 {
		t.Errorf("findings: %+v", found)
	}
	if path, err := c.WriteReport(t.TempDir(), "title"); err != nil || filepath.Base(path) != "remote.title.html" {
		t.Errorf("report: %s, %v", path, err)
	}
	c.ResetStats()
	if left := c.Requests(); len(left) != 0 {
		t.Errorf("requests after the reset: %v", left)
	}
}

func TestHold(t *testing.T) {
	c := Start(t)
	u := admin(t, c)
	req, err := http.NewRequest("GET", c.URL()+maps+"?watch=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.Token())
	req.Header.Set("User-Agent", "watcher")
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	events := bufio.NewReader(answer.Body)

	h := c.Hold()
	for _, name := range []string{"a", "b", "c", "d"} {
		u.must("POST", maps, configMap(name))
	}
	pending := h.Wait()
	if len(pending) != 4 || pending[0].String() != "ADDED configmaps default/a to watcher" {
		t.Fatalf("pending: %v", pending)
	}
	if n := h.Deliver(1); n != 1 {
		t.Errorf("delivered %d", n)
	}
	if line, err := events.ReadString('\n'); err != nil || !strings.Contains(line, `"name":"a"`) {
		t.Errorf("the first event: %s, %v", line, err)
	}
	if n := h.DeliverThese(h.Pending()[0]); n != 1 {
		t.Errorf("delivered %d", n)
	}
	if n := h.DeliverKind("secrets") + h.DeliverTo("nobody"); n != 0 {
		t.Errorf("delivered %d events to others", n)
	}
	if n := h.DeliverKind("configmaps"); n != 2 {
		t.Errorf("delivered %d", n)
	}
	h.Release()
	u.must("POST", maps, configMap("e"))
	for _, name := range []string{"b", "c", "d", "e"} {
		if line, err := events.ReadString('\n'); err != nil || !strings.Contains(line, `"name":"`+name+`"`) {
			t.Errorf("the event of %s: %s, %v", name, line, err)
		}
	}
}

func TestWorkloads(t *testing.T) {
	deployment := `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": {"app": "web"}},
		"template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web"}]}}}}`
	c := Start(t, Workloads("{nodes: 1, behaviors: [{image: web, startDelay: 1ms}]}"))
	admin(t, c).must("POST", "/apis/apps/v1/namespaces/default/deployments", deployment)
	c.WaitFor(t, Named("apps/v1", "Deployment", "", "web"), HasCondition("Available"))
	if err := c.Node("n1").Cordon(); err != nil {
		t.Error(err)
	}
	if err := c.Node("n2").Cordon(); err == nil {
		t.Error("a node that does not exist is cordoned")
	}
	f := c.Fork(t)
	if err := f.Node("n1").Uncordon(); err == nil || !strings.HasPrefix(err.Error(), "nothing lives in the cluster") {
		t.Errorf("workloads in a fork: %v", err)
	}
	if err := f.RunWorkloads("nodes: 1"); err != nil {
		t.Error(err)
	}
	if err := f.EndWorkloads(); err != nil {
		t.Error(err)
	}
}

// A program of the test's folder runs as a container.
func TestAProgramOfTheTest(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("programs of containers run on Linux only")
	}
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	tool := filepath.Join(t.TempDir(), "tool")
	if err := os.WriteFile(tool, []byte("#!/bin/sh\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(folder, tool)
	if err != nil {
		t.Fatal(err)
	}
	c := Start(t, Workloads("nodes: 1\nprograms: [{image: tool, path: "+relative+"}]"))
	admin(t, c).must("POST", "/api/v1/namespaces/default/pods", `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "tool"},
		"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "tool"}]}}`)
	c.WaitFor(t, Named("v1", "Pod", "", "tool"), CEL(`object.status.?phase.orValue("") == "Failed"`))
}

// Webhooks call the address of the test.
func TestWebhookServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "webhook.json")
	if err := os.WriteFile(path, []byte(`{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "w"}, "webhooks": [{
		"name": "w.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None", "clientConfig": {"service": {"namespace": "default", "name": "w", "path": "/validate"}},
		"rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c := Start(t, WebhookPaths(path))
	s := c.WebhookServer()
	if len(c.CABundle()) == 0 || s.Host != "127.0.0.1" || s.Port == 0 {
		t.Fatalf("the webhook server: %+v", s)
	}
	server := &http.Server{Addr: fmt.Sprintf("%s:%d", s.Host, s.Port), Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var review struct{ Request struct{ UID string } }
		_ = json.NewDecoder(req.Body).Decode(&review)
		fmt.Fprintf(w, `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": {"uid": %q, "allowed": false, "status": {"message": "no by %s"}}}`, review.Request.UID, req.URL.Path)
	})}
	l, err := net.Listen("tcp", server.Addr)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = server.ServeTLS(l, filepath.Join(s.CertDir, "tls.crt"), filepath.Join(s.CertDir, "tls.key"))
	}()
	defer server.Close()
	code, content := admin(t, c).send("POST", maps, configMap("a"))
	if want := `admission webhook "w.example.com" denied the request: no by /validate`; code != 400 && code != 403 || content["message"] != want {
		t.Errorf("%d %v, want %s", code, content, want)
	}
}
