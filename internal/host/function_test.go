package host_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/internal/host"
)

// hookConfiguration has a webhook for ConfigMaps that calls the Service hook.
const hookConfiguration = `{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "hook"}, "webhooks": [{
	"name": "hook.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
	"clientConfig": {"service": {"namespace": "default", "name": "hook", "path": "/maps"}},
	"rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]}]}`

// tryFunctions checks that a cluster calls the handlers at the URLs of its client, for Services and for webhooks.
func tryFunctions(t *testing.T, c *client) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var review struct{ Request struct{ UID, Name string } }
		if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		if review.Request.Name == "panic" {
			w.Header().Set("Fakecluster-Panic", "out of order (there)")
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		fmt.Fprintf(w, `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": {"uid": %q, "allowed": false, "status": {"message": "no by %s of %s"}}}`,
			review.Request.UID, req.URL.Path, req.Host)
	}))
	defer server.Close()
	denied := func(made host.Cluster, name, want string) {
		t.Helper()
		req, err := http.NewRequest("POST", made.URL+mapsPath, strings.NewReader(`{"metadata": {"name": "`+name+`"}}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+made.Token)
		req.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		var status struct{ Message string }
		if err := json.NewDecoder(answer.Body).Decode(&status); err != nil || !strings.Contains(status.Message, want) {
			t.Errorf("%d %q, want %q; %v", answer.StatusCode, status.Message, want, err)
		}
	}
	paths := quote(write(t, "webhook.json", hookConfiguration))
	made := c.start(`{"session": "SESSION", "webhookPaths": [` + paths + `], "services": [{"namespace": "default", "name": "hook", "port": 443, "url": "` + server.URL + `/base"}]}`)
	if len(made.Services) != 1 || !strings.HasPrefix(made.Services[0].Address, "https://127.0.0.1:") || made.CABundle == "" {
		t.Errorf("the cluster: %+v", made)
	}
	denied(made, "a", "no by /base/maps of hook.default.svc:443")
	denied(made, "panic", "EOF")
	if found := do[host.Findings](c, "GET /v1/clusters/{cluster}/findings", made.Cluster, "").Text; !strings.Contains(found, "out of order (there)") {
		t.Errorf("the findings: %s", found)
	}
	forked := do[host.Cluster](c, "POST /v1/clusters/{cluster}/fork", made.Cluster, `{"session": "SESSION"}`)
	denied(forked, "a", "no by /base/maps of hook.default.svc:443")
	if forked.Services[0].Address == made.Services[0].Address {
		t.Errorf("the Service of the fork is at %s, where that of its origin is", forked.Services[0].Address)
	}

	served := c.start(`{"session": "SESSION", "webhookPaths": [` + paths + `]}`)
	do[struct{}](c, "POST /v1/clusters/{cluster}/webhooks", served.Cluster, `{"url": "`+server.URL+`/served"}`)
	denied(served, "a", "no by /served/maps")

	for body, want := range map[string]string{
		`{}`:                           "url is missing: give the URL at which the client serves the handler",
		`{"url": "http://10.0.0.1/x"}`: `url: \"http://10.0.0.1/x\" is not an http URL of this machine`,
		`{"url": "https://127.0.0.1"}`: "is not an http URL of this machine",
	} {
		if code, text := c.send("POST", "/v1/clusters/"+served.Cluster+"/webhooks", body); code != http.StatusBadRequest || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s, want %s", body, code, text, want)
		}
	}
	for _, one := range []host.Cluster{made, forked, served} {
		do[host.Ended](c, "DELETE /v1/clusters/{cluster}", one.Cluster, "")
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

// tryExec checks that a program runs in a Pod of the Deployment web, and that a function of the client has its streams.
func tryExec(t *testing.T, c *client, alive host.Cluster) {
	var mu sync.Mutex
	printed, read := "", false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var asked host.ExecTransfer
		if err := json.NewDecoder(req.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		switch {
		case asked.Stream == "stdout":
			printed += string(asked.Data)
			fmt.Fprint(w, `{}`)
		case asked.Stream == "stdin" && !read:
			read = true
			fmt.Fprint(w, `{"data": "aGVsbG8K"}`)
		default:
			fmt.Fprint(w, `{"eof": true}`)
		}
	}))
	defer server.Close()
	pods, err := clientset(t, alive.Kubeconfig).CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	body := func(program string) string {
		return `{"pod": "` + pods.Items[0].Name + `", "args": ["sh", "-c", "` + program + `"], "url": "` + server.URL + `"}`
	}
	if got := do[host.PodExecuted](c, "POST /v1/clusters/{cluster}/exec", alive.Cluster, body("cat; exit 4")); got.Code != 4 || printed != "hello\n" {
		t.Errorf("code %d, printed %q", got.Code, printed)
	}
	if code, text := c.send("POST", "/v1/clusters/"+alive.Cluster+"/exec", `{"pod": "none", "args": ["true"], "url": "`+server.URL+`"}`); code != http.StatusUnprocessableEntity || !strings.Contains(text, `pods \"none\" not found`) {
		t.Errorf("a Pod that does not exist: %d %s", code, text)
	}
}

// tryNetwork checks that a client connects with what runs in a cluster, and attaches to a Pod of the Deployment web.
func tryNetwork(t *testing.T, c *client, alive host.Cluster) {
	act := func(body string) host.ContainerResult {
		t.Helper()
		return do[host.ContainerResult](c, "POST /v1/clusters/{cluster}/network", alive.Cluster, body)
	}
	conn := act(`{"action": "dial", "network": "tcp", "address": "kubernetes.default.svc:443"}`)
	socket := fmt.Sprint(conn.Socket)
	if conn.Socket == 0 || conn.Local == "" || !strings.HasSuffix(conn.Remote, ":443") {
		t.Errorf("a connection: %+v", conn)
	}
	for _, step := range []struct {
		body string
		want host.ContainerResult
	}{
		{`{"action": "write", "socket": ` + socket + `, "data": "R0VUIC8gSFRUUC8xLjEKCg=="}`, host.ContainerResult{}}, // an HTTP request, where TLS is expected
		{`{"action": "closeWrite", "socket": ` + socket + `}`, host.ContainerResult{}},
		{`{"action": "close", "socket": ` + socket + `}`, host.ContainerResult{}},
		{`{"action": "read", "socket": ` + socket + `}`, host.ContainerResult{Failed: "use of closed network connection", Kind: "closed"}},
		{`{"action": "write", "socket": ` + socket + `}`, host.ContainerResult{Failed: "use of closed network connection", Kind: "closed"}},
		{`{"action": "closeWrite", "socket": ` + socket + `}`, host.ContainerResult{Failed: "use of closed network connection", Kind: "closed"}},
		{`{"action": "close", "socket": ` + socket + `}`, host.ContainerResult{Failed: "use of closed network connection", Kind: "closed"}},
		{`{"action": "dial", "network": "tcp", "address": "127.0.0.1:1"}`, host.ContainerResult{Failed: "dial tcp 127.0.0.1:1: connect: connection refused", Kind: "refused"}},
		{`{"action": "portForward", "pod": "none", "port": 80}`, host.ContainerResult{Failed: `unable to upgrade connection: pods "none" not found`}},
	} {
		if got := act(step.body); !reflect.DeepEqual(got, step.want) {
			t.Errorf("%s: %+v, want %+v", step.body, got, step.want)
		}
	}
	c.called["POST /v1/clusters/{cluster}/attach"] = true
	if code, text := c.send("POST", "/v1/clusters/"+alive.Cluster+"/attach", `{"pod": "none", "url": "http://127.0.0.1:1"}`); code != http.StatusUnprocessableEntity || !strings.Contains(text, `pods \"none\" not found`) {
		t.Errorf("attaching to a Pod that does not exist: %d %s", code, text)
	}
}

// tryContainers checks that a container runs as a function at the URL of its client.
func tryContainers(t *testing.T, c *client) {
	results := make(chan host.ContainerResult, 5)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var started host.StartedContainer
		if err := json.NewDecoder(req.Body).Decode(&started); err != nil || started.Name != "c" || started.Pod.Name != "job" || started.URL == "" {
			t.Errorf("started: %+v %v", started, err)
		}
		path := "/v1/clusters/" + started.Cluster + "/containers/" + started.Container
		for _, body := range []string{
			`{"action": "output", "stream": "stdout", "data": "aGVsbG8K"}`, `{"action": "readFile", "path": "missing"}`, `{"action": "input"}`,
			`{"action": "read", "socket": 5}`, `{"action": "close", "socket": 5}`,
		} {
			code, text := c.send("POST", path, body)
			var result host.ContainerResult
			if err := json.Unmarshal([]byte(text), &result); err != nil || code != http.StatusOK {
				t.Errorf("%s: %d %s", body, code, text)
			}
			results <- result
		}
		if code, text := c.send("POST", path, `{"action": "dance"}`); code != http.StatusBadRequest || !strings.Contains(text, `action: there is no \"dance\"`) {
			t.Errorf("an unknown action: %d %s", code, text)
		}
		fmt.Fprint(w, `{"code": 3}`)
	}))
	defer server.Close()
	c.called["POST /v1/clusters/{cluster}/containers/{container}"] = true
	made := c.start(`{"session": "SESSION", "workloads": {"nodes": 1}, "images": [{"name": "job", "url": "` + server.URL + `"}]}`)
	user := clientset(t, made.Kubeconfig).CoreV1().Pods("default")
	job := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "job"}, Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "job"}}}}
	if _, err := user.Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	do[host.Found](c, "POST /v1/clusters/{cluster}/wait", made.Cluster, `{"object": {"kind": "Pod", "name": "job"}, "cel": "has(object.status.phase) && object.status.phase == 'Failed'"}`)
	for _, want := range []host.ContainerResult{
		{}, {Failed: "open /missing: file does not exist", Kind: "notExist"}, {Failed: "EOF", Kind: "eof"},
		{Failed: "use of closed network connection", Kind: "closed"}, {Failed: "use of closed network connection", Kind: "closed"},
	} {
		if got := <-results; !reflect.DeepEqual(got, want) {
			t.Errorf("the result is %+v, want %+v", got, want)
		}
	}
	text, err := user.GetLogs("job", &corev1.PodLogOptions{}).DoRaw(t.Context())
	if err != nil || string(text) != "hello\n" {
		t.Errorf("the log: %s %v", text, err)
	}
	found, err := user.Get(t.Context(), "job", metav1.GetOptions{})
	if err != nil || found.Status.ContainerStatuses[0].State.Terminated.ExitCode != 3 {
		t.Errorf("the Pod: %+v %v", found, err)
	}
	if code, text := c.send("POST", "/v1/clusters/"+made.Cluster+"/containers/1", `{"action": "input"}`); code != http.StatusNotFound || !strings.Contains(text, "the container has ended") {
		t.Errorf("after the end: %d %s", code, text)
	}
	do[host.Ended](c, "DELETE /v1/clusters/{cluster}", made.Cluster, "")
}
