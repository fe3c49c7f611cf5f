package scenarios

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A configuration refers to an address outside, and the scenario sees the reference that it wrote.
func TestAddressesOfHooks(t *testing.T) {
	c := &external{word: "fc-x"}
	if err := c.serveHooks([]Service{{"default", "hook", 443, http.NotFoundHandler()}}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.hooks.close(); err != nil {
			t.Error(err)
		}
	}()
	outside := c.hooks.at[0].outside
	sent := func(body string) string { return c.hooks.outward(string(c.outwardBody([]byte(body)))) }

	address := c.ServiceURL("default", "hook", 443) + "/a"
	if got, want := sent(`{"clientConfig":{"url":"`+address+`"}}`), `{"clientConfig":{"url":"`+outside+`/a"}}`; got != want {
		t.Errorf("an address: %s, want %s", got, want)
	}
	if got, want := string(c.inward([]byte(`Post "`+outside+`/a?timeout=10s": EOF`))), `Post "`+address+`?timeout=10s": EOF`; got != want {
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
	back := string(c.inward([]byte(`{"clientConfig":{"caBundle":"YQ==","url":"` + outside + `/a"}}`)))
	if want := `{"clientConfig":{"caBundle":"YQ==","service":{"name":"hook","namespace":"default","path":"/a","port":443}}}`; back != want {
		t.Errorf("back: %s, want %s", back, want)
	}
}

// A webhook sees a call in the words of the scenario, and the API server the answer in its own. What the
// runner asks itself is not for the webhook.
func TestCallsOfHooks(t *testing.T) {
	c := &external{word: "fc-x", hooks: &hooks{}}
	var seen []string
	hook := c.hook(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
	if !c.hooks.called.Load() {
		t.Error("nobody has called")
	}
}

// What tries have called is forgotten, and what a step has read in vain is read again.
func TestTriesLeaveNoCalls(t *testing.T) {
	w := &webhook{calls: []any{"a"}}
	forget := webhooks{w}.mark()
	w.calls = append(w.calls, "b")
	forget()
	if len(w.calls) != 1 || w.calls[0] != "a" {
		t.Errorf("after a try: %v", w.calls)
	}
	unread := w.peek()
	w.read()
	w.calls = append(w.calls, "c")
	unread()
	if len(w.calls) != 2 || w.calls[0] != "a" || w.calls[1] != "c" {
		t.Errorf("after a reading in vain: %v", w.calls)
	}
}
