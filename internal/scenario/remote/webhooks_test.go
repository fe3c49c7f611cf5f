package remote

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fakecluster/fakecluster/internal/scenario/player"
	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// A configuration refers to an address outside, and the scenario sees the reference that it wrote.
func TestAddressesOfHooks(t *testing.T) {
	c := &remoteCluster{prefix: "fc-x"}
	if err := c.serveWebhooks([]player.Service{{Service: syntax.Service{Namespace: "default", Name: "hook", Port: 443}, Handler: http.NotFoundHandler()}}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.webhooks.close(); err != nil {
			t.Error(err)
		}
	}()
	outside := c.webhooks.addresses[0].outside
	sent := func(body string) string { return c.webhooks.toCluster(string(c.bodyToCluster([]byte(body)))) }

	address := c.ServiceURL("default", "hook", 443) + "/a"
	if got, want := sent(`{"clientConfig":{"url":"`+address+`"}}`), `{"clientConfig":{"url":"`+outside+`/a"}}`; got != want {
		t.Errorf("an address: %s, want %s", got, want)
	}
	if got, want := string(c.toScenario([]byte(`Post "`+outside+`/a?timeout=10s": EOF`))), `Post "`+address+`?timeout=10s": EOF`; got != want {
		t.Errorf("a message: %s, want %s", got, want)
	}
	for config, want := range map[string]string{
		`{"clientConfig":{"service":{"name":"hook","namespace":"default","path":"/a"}}}`: `{"clientConfig":{"url":"` + outside + `/a"}}`,
		`{"clientConfig":{"service":{"name":"hook","namespace":"default","port":443}}}`:  `{"clientConfig":{"url":"` + outside + `"}}`,
		`{"clientConfig":{"service":{"name":"hook","namespace":"default","port":444}}}`:  `{"clientConfig":{"service":{"name":"hook","namespace":"fc-x-default","port":444}}}`,
		`{"clientConfig":{"service":{"name":"other","namespace":"default"}}}`:            `{"clientConfig":{"service":{"name":"other","namespace":"fc-x-default"}}}`,
		`{"spec":{"service":{"name":"hook","namespace":"default"}}}`:                     `{"spec":{"service":{"name":"hook","namespace":"fc-x-default"}}}`,
	} {
		if got := sent(config); got != want {
			t.Errorf("%s: %s, want %s", config, got, want)
		}
	}
	back := string(c.toScenario([]byte(`{"clientConfig":{"caBundle":"YQ==","url":"` + outside + `/a"}}`)))
	if want := `{"clientConfig":{"caBundle":"YQ==","service":{"name":"hook","namespace":"default","path":"/a","port":443}}}`; back != want {
		t.Errorf("back: %s, want %s", back, want)
	}
}

// A webhook sees a call in the words of the scenario, and the API server the answer in its own. What the
// runner asks itself is not for the webhook.
func TestCallsOfHooks(t *testing.T) {
	c := &remoteCluster{prefix: "fc-x", webhooks: &webhookServers{}}
	var seen []string
	hook := c.webhookHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var text strings.Builder
		if err := r.Write(&text); err != nil {
			t.Error(err)
		}
		seen = append(seen, text.String()[strings.LastIndex(text.String(), "\n")+1:])
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte(`{"namespace":"b"}`))
	}))
	call := func(path, body string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		hook.ServeHTTP(w, httptest.NewRequest("POST", path, strings.NewReader(body)))
		return w
	}
	if w := call("/", `{"namespace":"fc-x-a"}`); w.Code != http.StatusTeapot || w.Body.String() != `{"namespace":"fc-x-b"}` {
		t.Errorf("the answer: %d %s", w.Code, w.Body)
	}
	for path, want := range map[string]string{
		"/":                      `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"allowed":true,"uid":"u"}}`,
		"/fakecluster-marker/m1": `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"allowed":false,"status":{"message":"marked m1"},"uid":"u"}}`,
	} {
		w := call(path, `{"apiVersion":"admission.k8s.io/v1","request":{"uid":"u","name":"fc-x-marker"}}`)
		if got := strings.TrimSpace(w.Body.String()); got != want {
			t.Errorf("a probe at %s: %s, want %s", path, got, want)
		}
	}
	if len(seen) != 1 || seen[0] != `{"namespace":"a"}` {
		t.Errorf("the webhook saw %q", seen)
	}
	if !c.webhooks.called.Load() {
		t.Error("nobody has called")
	}
}
