//go:build go1.25

package remote

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	bubbles "github.com/fakecluster/fakecluster/remote/internal/bubble"
)

// everywhere runs a test outside of bubbles and in one.
func everywhere(t *testing.T, test func(t *testing.T)) {
	t.Run("outside", test)
	t.Run("in a bubble", func(t *testing.T) { synctest.Test(t, test) })
}

// denial is a webhook that calls a function for each review, and denies with its text; an empty text allows.
func denial(review func(req *http.Request, name string) string) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		var got struct{ Request struct{ UID, Name string } }
		if err := json.NewDecoder(req.Body).Decode(&got); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		text := review(req, got.Request.Name)
		fmt.Fprintf(w, `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": {"uid": %q, "allowed": %v, "status": {"message": %q}}}`, got.Request.UID, text == "", text)
	}
}

// webhook is a configuration for creates of ConfigMaps, which calls the Service hook.
func webhook(caBundle []byte, timeout int) string {
	config := map[string]any{"service": map[string]any{"namespace": "default", "name": "hook", "path": "/maps"}}
	if caBundle != nil {
		config["caBundle"] = caBundle
	}
	text, _ := json.Marshal(map[string]any{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": map[string]any{"name": "hook"}, "webhooks": []any{map[string]any{
		"name": "hook.example.com", "admissionReviewVersions": []string{"v1"}, "sideEffects": "None", "timeoutSeconds": timeout, "clientConfig": config,
		"rules": []any{map[string]any{"apiGroups": []string{""}, "apiVersions": []string{"v1"}, "operations": []string{"CREATE"}, "resources": []string{"configmaps"}}},
	}}})
	return string(text)
}

const configurations = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"

// hook starts a cluster whose webhook for ConfigMaps is a handler of the test.
func hook(t testing.TB, h http.Handler) (*Cluster, user) {
	t.Helper()
	c := Start(t, Service("default", "hook", 443, h))
	u := admin(t, c)
	u.must("POST", configurations, webhook(c.CABundle(), 10))
	return c, u
}

// denied checks that a create is denied with a message.
func (u user) denied(name, want string) {
	u.t.Helper()
	code, content := u.send("POST", maps, configMap(name))
	if message, _ := content["message"].(string); code/100 == 2 || !strings.Contains(message, want) {
		u.t.Errorf("creating %s: %d %s, want %s", name, code, message, want)
	}
}

// A webhook of a Service is a handler of the test, also in a fork. It gets the request as net/http does, and may use the cluster meanwhile.
func TestAServiceIsAHandlerOfTheTest(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		var u user
		c, u := hook(t, denial(func(req *http.Request, name string) string {
			if req.Method != "POST" || req.URL.Path != "/maps" || req.URL.Query().Get("timeout") != "10s" || req.Host != "hook.default.svc:443" || req.Header.Get("Content-Type") != "application/json" {
				t.Errorf("the request: %s %s of %s %v", req.Method, req.RequestURI, req.Host, req.Header)
			}
			if name == "nested" {
				u.must("POST", maps, configMap("inner"))
				u.must("GET", maps+"/inner", "")
			}
			if name == "no" {
				return "not " + name
			}
			return ""
		}))
		u.must("POST", maps, configMap("a"))
		u.denied("no", `admission webhook "hook.example.com" denied the request: not no`)
		u.must("POST", maps, configMap("nested"))
		if got := metadata(u.must("GET", maps+"/inner", ""), "name"); got != "inner" {
			t.Errorf("the object of the webhook: %v", got)
		}
		u = admin(t, c.Fork(t))
		u.must("POST", maps, configMap("b"))
		u.denied("no", "not no")
		if address := c.ServiceURL("default", "hook", 443); !strings.HasPrefix(address, "https://") || c.ServiceURL("default", "hook", 80) != "" {
			t.Errorf("the address: %s", address)
		}
	})
}

// A handler finds the TLS connection of its caller: a webhook that of the API server, and an aggregated API server also the certificate with
// which the API server is a front proxy.
func TestTheRequestOfAHandlerHasTLS(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		got := make(chan *http.Request, 100)
		_, u := hook(t, denial(func(req *http.Request, _ string) string { got <- req; return "" }))
		u.must("POST", maps, configMap("a"))
		req := <-got
		if s := req.TLS; s == nil || s.Version != tls.VersionTLS13 || s.CipherSuite == 0 || s.ServerName != "hook.default.svc" || !s.HandshakeComplete || len(s.PeerCertificates) != 0 || req.Header.Get(tlsHeader) != "" {
			t.Errorf("of a webhook: %+v %v", s, req.Header)
		}

		api := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			got <- req
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "tests.example.com/v1", "resources": []}`)
		})
		u = admin(t, Start(t, Service("default", "api", 443, api), Objects(apiService("api")), Workloads("nodes: 1")))
		u.must("GET", "/apis/tests.example.com/v1/things", "")
		for req = <-got; !strings.HasSuffix(req.URL.Path, "/things"); req = <-got {
		}
		if s := req.TLS; s == nil || s.ServerName != "api.default.svc" || len(s.PeerCertificates) != 1 || s.PeerCertificates[0].Subject.CommonName != "front-proxy-client" {
			t.Errorf("of an aggregated API server: %+v", s)
		}
	})
}

// apiService is an APIService of a Service in the namespace default.
func apiService(service string) map[string]any {
	return map[string]any{"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": "v1.tests.example.com"}, "spec": map[string]any{
		"group": "tests.example.com", "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 10, "service": map[string]any{"namespace": "default", "name": service, "port": 443}}}
}

// A fork in a bubble calls the handler in the bubble, and its origin outside.
func TestAServiceOfAForkInABubble(t *testing.T) {
	calls := map[string]int{}
	var mu sync.Mutex
	c, u := hook(t, denial(func(*http.Request, string) string {
		mu.Lock()
		defer mu.Unlock()
		calls[map[bool]string{true: "inside", false: "outside"}[bubbles.Inside()]]++
		return ""
	}))
	u.must("POST", maps, configMap("a"))
	synctest.Test(t, func(t *testing.T) {
		u := admin(t, c.Fork(t))
		u.must("POST", maps, configMap("b"))
		u.must("POST", maps, configMap("c"))
	})
	u.must("POST", maps, configMap("d"))
	if calls["inside"] != 2 || calls["outside"] != 2 {
		t.Errorf("calls: %v", calls)
	}
}

// A handler may sleep in the time of the bubble, and its call ends at the timeout of the webhook.
func TestTimePassesInAHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		canceled := make(chan time.Duration, 1)
		_, u := hook(t, denial(func(req *http.Request, name string) string {
			if name == "slow" {
				time.Sleep(7 * time.Second)
				return ""
			}
			began := time.Now()
			<-req.Context().Done()
			canceled <- time.Since(began)
			return ""
		}))
		began := time.Now()
		u.must("POST", maps, configMap("slow"))
		within(t, "the slow webhook", time.Since(began), 7*time.Second, 0)
		began = time.Now()
		u.denied("endless", `failed calling webhook "hook.example.com": failed to call webhook: Post "https://hook.default.svc:443/maps?timeout=10s": context deadline exceeded`)
		within(t, "the timeout", time.Since(began), 10*time.Second, time.Second)
		within(t, "the context of the handler", <-canceled, 10*time.Second, time.Second)
	})
}

// Many calls at a time, whose handlers use the cluster.
func TestManyCallsAtATime(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		var u user
		_, u = hook(t, denial(func(_ *http.Request, name string) string {
			if !strings.HasPrefix(name, "inner") {
				u.must("POST", maps, configMap("inner"+name))
			}
			return ""
		}))
		var clients sync.WaitGroup
		for i := range 20 {
			clients.Add(1)
			go func() {
				defer clients.Done()
				u.must("POST", maps, configMap(fmt.Sprint("a", i)))
			}()
		}
		clients.Wait()
		if n := len(u.items(maps)); n != 40 {
			t.Errorf("%d ConfigMaps", n)
		}
	})
}

// quiet keeps the log of the process while a test runs.
func quiet(t *testing.T) *strings.Builder {
	var text strings.Builder
	log.SetOutput(&text)
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
	return &text
}

// A handler that panics, or ends its goroutine, closes the connection; the panic is logged, and among the findings.
func TestAHandlerThatPanics(t *testing.T) {
	logged := quiet(t)
	everywhere(t, func(t *testing.T) {
		logged.Reset()
		c, u := hook(t, denial(func(_ *http.Request, name string) string {
			switch name {
			case "panic":
				panic("out of order")
			case "abort":
				panic(http.ErrAbortHandler)
			case "exit":
				runtime.Goexit()
			}
			return ""
		}))
		for _, name := range []string{"panic", "abort", "exit"} {
			u.denied(name, `failed calling webhook "hook.example.com": failed to call webhook: Post "https://hook.default.svc:443/maps?timeout=10s": EOF`)
		}
		u.must("POST", maps, configMap("a"))
		if text := c.Findings().String(); strings.Count(text, "out of order") == 0 || !strings.Contains(text, "function_test.go") || strings.Contains(text, "function.go") {
			t.Errorf("findings: %s", text)
		}
		if text := logged.String(); strings.Count(text, "panic serving") != 1 || !strings.Contains(text, "http: panic serving /maps: out of order") || !strings.Contains(text, "function_test.go") {
			t.Errorf("the log: %s", text)
		}
	})
}

// An APIService has a handler of the test serve a version of the API, whose watches stream.
func TestAnAPIServiceIsAHandlerOfTheTest(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		more := make(chan string)
		api := http.NewServeMux()
		api.HandleFunc("/", func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "tests.example.com/v1", "resources": []}`)
		})
		api.HandleFunc("/apis/tests.example.com/v1/things", func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("X-User", req.Header.Get("X-Remote-User"))
			w.WriteHeader(http.StatusAccepted)
			for text := range more {
				fmt.Fprint(w, text)
				w.(http.Flusher).Flush()
			}
		})
		u := admin(t, Start(t, Service("default", "api", 443, api), Objects(apiService("api"))))
		go func() { more <- "begins" }()
		answer, err := u.open("GET", "/apis/tests.example.com/v1/things?watch=true", "")
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusAccepted || answer.Header.Get("X-User") != "kubernetes-admin" {
			t.Errorf("the answer: %s %v", answer.Status, answer.Header)
		}
		for _, text := range []string{"begins", "goes on", "ends here"} {
			if text != "begins" {
				go func() { more <- text }()
			}
			got := make([]byte, len(text))
			if _, err := io.ReadFull(answer.Body, got); err != nil || string(got) != text {
				t.Errorf("read %q, want %q; %v", got, text, err)
			}
		}
		close(more)
		if rest, err := io.ReadAll(answer.Body); err != nil || len(rest) > 0 {
			t.Errorf("the end: %q %v", rest, err)
		}
	})
}

// A handler outside of bubbles may take over the connection of a request, as that of an exec does. In a bubble it is told that it cannot.
func TestAHandlerUpgradesAConnection(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		var refused error
		api := http.NewServeMux()
		api.HandleFunc("/", func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "tests.example.com/v1", "resources": []}`)
		})
		api.HandleFunc("/apis/tests.example.com/v1/echo", func(w http.ResponseWriter, req *http.Request) {
			conn, both, err := http.NewResponseController(w).Hijack()
			if refused = err; err != nil {
				http.Error(w, err.Error(), http.StatusNotImplemented)
				return
			}
			defer conn.Close()
			fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
			_, _ = io.Copy(conn, both)
		})
		c := Start(t, Service("default", "api", 443, api), Objects(apiService("api")), Workloads("nodes: 1"))
		req, err := http.NewRequest("GET", c.URL()+"/apis/tests.example.com/v1/echo", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"echo"}, "Authorization": {"Bearer " + c.Token()}}
		answer, err := c.Transport().RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if bubbles.Inside() {
			if answer.StatusCode != http.StatusNotImplemented || !errors.Is(refused, http.ErrNotSupported) {
				t.Errorf("the answer is %s, and the handler is told %v", answer.Status, refused)
			}
			return
		}
		if answer.StatusCode != http.StatusSwitchingProtocols {
			text, _ := io.ReadAll(answer.Body)
			t.Fatalf("the answer is %s %s", answer.Status, text)
		}
		stream := answer.Body.(io.ReadWriteCloser)
		if _, err := io.WriteString(stream, "hello"); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 5)
		if _, err := io.ReadFull(stream, got); err != nil || string(got) != "hello" {
			t.Errorf("read %q, %v", got, err)
		}
	})
}

// ServeWebhooks answers the webhooks of WebhookPaths without a socket.
func TestServeWebhooks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "webhook.json")
	if err := os.WriteFile(path, []byte(webhook(nil, 10)), 0o600); err != nil {
		t.Fatal(err)
	}
	everywhere(t, func(t *testing.T) {
		c := Start(t, WebhookPaths(path))
		u := admin(t, c)
		if bubbles.Inside() {
			u.denied("early", "no webhook server runs: in a testing/synctest bubble it cannot listen on a socket; give its handler to Cluster.ServeWebhooks")
		}
		for _, text := range []string{"first", "second"} {
			if err := c.ServeWebhooks(denial(func(req *http.Request, _ string) string { return text + " at " + req.URL.Path })); err != nil {
				t.Fatal(err)
			}
			u.denied("a", "denied the request: "+text+" at /maps")
		}
		if err := c.ServeWebhooks((*http.ServeMux)(nil)); err == nil || err.Error() != "ServeWebhooks: the handler is nil" {
			t.Errorf("a nil handler: %v", err)
		}
		fork := c.Fork(t)
		if err := fork.ServeWebhooks(denial(func(*http.Request, string) string { return "fork" })); err != nil {
			t.Fatal(err)
		}
		admin(t, fork).denied("a", "denied the request: fork")
		u.denied("a", "denied the request: second")
		if err := Start(t).ServeWebhooks(http.NotFoundHandler()); err == nil || !strings.HasPrefix(err.Error(), "ServeWebhooks: no webhook calls the handler: start the cluster with WebhookPaths") {
			t.Errorf("without webhooks: %v", err)
		}
	})
}

// versions is a definition with two versions, of which the second is stored.
const versions = `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "crontabs.stable.example.com"}, "spec": {"group": "stable.example.com", "scope": "Namespaced",
	"names": {"plural": "crontabs", "kind": "CronTab"}, "versions": [
	{"name": "v1", "served": true, "storage": false, "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}},
	{"name": "v2", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}}`

// A function converts the objects of a definition; its numbers are whole, and its error fails the request.
func TestConversion(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		u := admin(t, Start(t, Objects(json.RawMessage(versions)), Conversion("crontabs.stable.example.com", ConversionFunc(func(ctx context.Context, obj map[string]any, apiVersion string) error {
			if metadata(obj, "name") == "bad" {
				return fmt.Errorf("no way to %s", apiVersion)
			}
			obj["n"] = obj["n"].(int64) + 1
			return nil
		}))))
		u.must("POST", cronTabs, `{"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": "a"}, "n": 9007199254740993}`)
		answer, err := u.open("GET", strings.Replace(cronTabs, "v1", "v2", 1)+"/a", "")
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if text, err := io.ReadAll(answer.Body); err != nil || !strings.Contains(string(text), `"n":9007199254740994`) || !strings.Contains(string(text), `"apiVersion":"stable.example.com/v2"`) {
			t.Errorf("converted: %s %v", text, err)
		}
		code, content := u.send("POST", cronTabs, `{"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": "bad"}}`)
		if message, _ := content["message"].(string); code != 500 || !strings.Contains(message, "no way to stable.example.com/v2") {
			t.Errorf("a conversion that fails: %d %v", code, content)
		}
	})
}

// Mistakes with handlers are one sentence, and nothing of them is left.
func TestMistakesWithHandlers(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		for _, test := range []struct {
			want   string
			option Option
		}{
			{"Service: the handler for hook.default.svc:443 is nil", Service("default", "hook", 443, nil)},
			{"Service: the handler for hook.default.svc:443 is nil", Service("default", "hook", 443, http.HandlerFunc(nil))},
			{"a service needs a namespace, a name and a port from 1 to 65535", Service("", "hook", 443, http.NotFoundHandler())},
			{"Conversion: the handler for a.b is nil", Conversion("a.b", nil)},
			{"a.b", Conversion("a.b", http.NotFoundHandler())},
		} {
			if c, err := New(test.option); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %s", err, test.want)
				if err == nil {
					_ = c.Close()
				}
			}
		}
		path := filepath.Join(t.TempDir(), "webhook.json")
		if err := os.WriteFile(path, []byte(webhook(nil, 10)), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := New(WebhookPaths(path))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		err = c.ServeWebhooks(http.NotFoundHandler())
		if want := map[bool]string{true: "ServeWebhooks: the cluster has ended", false: "ServeWebhooks: there is no cluster"}[bubbles.Inside()]; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("after the end: %v", err)
		}
	})
	callables.Lock()
	defer callables.Unlock()
	if len(callables.handlers) != 0 || callables.server != nil {
		t.Errorf("%d handlers are left, and a server: %v", len(callables.handlers), callables.server != nil)
	}
}

// A request to the server of the handlers needs the secret of its address.
func TestTheServerOfHandlersHasASecret(t *testing.T) {
	hook(t, denial(func(*http.Request, string) string { t.Error("the handler is called"); return "" }))
	callables.Lock()
	address, number := callables.url, callables.last
	callables.Unlock()
	base := address[:strings.LastIndex(address, "/")]
	for _, path := range []string{"", "/", fmt.Sprintf("/%d", number), fmt.Sprintf("/x/%d", number)} {
		answer, err := http.Get(base + path)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", path, answer.Status)
		}
	}
}

// Handlers and containers of the test work with a cluster of another version, which lives in another host.
func TestFunctionsOfAClusterOfAnotherVersion(t *testing.T) {
	t.Cleanup(func() { killHostOf(t, "1.35") })
	everywhere(t, func(t *testing.T) {
		ran := make(chan string, 1)
		c := Start(t, KubernetesVersion("1.35"), Workloads("nodes: 1"),
			Service("default", "hook", 443, denial(func(_ *http.Request, name string) string { return "not " + name })),
			Image("job", func(_ context.Context, p *Container) error {
				text, err := p.ReadFile("/etc/hostname")
				ran <- fmt.Sprint(p.Hostname, " ", strings.TrimSpace(string(text)), " ", err)
				return nil
			}))
		u := admin(t, c)
		u.must("POST", configurations, webhook(c.CABundle(), 10))
		u.denied("a", "denied the request: not a")
		u.must("POST", pods, pod("job", "job", "", `"restartPolicy": "Never", `))
		if got := <-ran; got != "job job <nil>" {
			t.Errorf("the container: %s", got)
		}
		c.WaitFor(t, Named("v1", "Pod", "", "job"), phase("Succeeded"))
	})
}

// The end of a cluster in a bubble waits for handlers that clean up after the end of their calls, and no longer than a minute.
func TestTheEndOfAClusterWaitsForHandlers(t *testing.T) {
	for _, test := range []struct {
		name          string
		cleanup, want time.Duration
	}{
		{"a handler that cleans up", 20 * time.Second, 20 * time.Second},
		{"a handler that goes on", 5 * time.Minute, time.Minute},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var ending time.Time
				called, ended := make(chan struct{}), make(chan struct{})
				t.Cleanup(func() { // after the end of the cluster, which takes a moment itself
					within(t, "the end of the cluster", time.Since(ending), test.want, 2*time.Second)
					close(ended)
				})
				_, u := hook(t, denial(func(req *http.Request, _ string) string {
					close(called)
					<-req.Context().Done()
					select {
					case <-time.After(test.cleanup):
					case <-ended:
					}
					return ""
				}))
				go func() { // ends with the cluster
					if answer, err := u.open("POST", maps, configMap("a")); err == nil {
						_ = answer.Body.Close()
					}
				}()
				<-called
				ending = time.Now()
			})
		})
	}
}

// Nothing is left of calls whose bubbles have ended.
func TestNothingIsLeftOfCalls(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			_, u := hook(t, denial(func(req *http.Request, _ string) string {
				<-req.Context().Done()
				return ""
			}))
			var waits sync.WaitGroup
			for i := range 3 {
				waits.Add(1)
				go func() {
					defer waits.Done()
					u.denied(fmt.Sprint("a", i), "context deadline exceeded")
				}()
			}
			waits.Wait()
		})
	}
	if text := stacks(); strings.Contains(text, "synctest bubble") {
		t.Errorf("goroutines are left:\n%s", text)
	}
}
