package player

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// What tries have called is forgotten, and what a step has read in vain is read again.
func TestTriesLeaveNoCalls(t *testing.T) {
	w := &webhook{calls: []any{"a"}}
	forget := webhooks{w}.checkpoint()
	w.calls = append(w.calls, "b")
	forget()
	if len(w.calls) != 1 || w.calls[0] != "a" {
		t.Errorf("after a try: %v", w.calls)
	}
	unread := w.undoRead()
	w.read()
	w.calls = append(w.calls, "c")
	unread()
	if len(w.calls) != 2 || w.calls[0] != "a" || w.calls[1] != "c" {
		t.Errorf("after a reading in vain: %v", w.calls)
	}
}

// received starts the webhooks of a scenario, behind one service, and posts a text.
func received(t *testing.T, webhooks, path, text string) (called webhooks, response *http.Response, body string, err error) {
	t.Helper()
	f := syntax.Parse("f.yaml", []byte("scenario: s\nwebhooks:\n"+webhooks+"steps:\n- get: {path: /healthz}\n"))
	if err := f.Err(); err != nil {
		t.Fatal(err)
	}
	called = startWebhooks(f.Scenarios[0])
	services := called.services()
	if len(services) != 1 {
		t.Fatalf("%d services, want 1", len(services))
	}
	server := httptest.NewServer(services[0].Handler)
	defer server.Close()
	defer server.Client().CloseIdleConnections()
	response, err = server.Client().Post(server.URL+path, "application/json", strings.NewReader(text))
	if err != nil {
		return called, nil, "", err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	return called, response, string(data), err
}

const conversionReview = `{"apiVersion": "g/v1", "kind": "Review", "request": {"uid": "u", "objects": [{"a": 1, "b": {"c": "d", "e": null}}]}}`

func TestReplies(t *testing.T) {
	tests := []struct {
		rule, says, sent string
		code             int
		media, body      string
	}{
		{"a fixed response is completed", "response: {allowed: true}", conversionReview,
			200, "application/json", `{"apiVersion":"g/v1","kind":"Review","response":{"allowed":true,"uid":"u"}}`},
		{"what a response says of the uid stands", "response: {uid: other}", conversionReview,
			200, "application/json", `{"apiVersion":"g/v1","kind":"Review","response":{"uid":"other"}}`},
		{"also that there is none", "response: {uid: !absent }", conversionReview,
			200, "application/json", `{"apiVersion":"g/v1","kind":"Review","response":{}}`},
		{"a response is computed", "response: !cel \"{'n': request.objects.size(), 'uid': 'of ' + request.uid}\"", conversionReview,
			200, "application/json", `{"apiVersion":"g/v1","kind":"Review","response":{"n":1,"uid":"of u"}}`},
		{"or a part of it", "response: {objects: [x, !cel \"request.objects[0].merge({'b': {'c': null, 'f': [1.5, true, b'x']}, 'g': duration('1s')})\"]}", conversionReview,
			200, "application/json", `{"apiVersion":"g/v1","kind":"Review","response":{"objects":["x",{"a":1,"b":{"e":null,"f":[1.5,true,"eA=="]},"g":"1s"}],"uid":"u"}}`},
		{"a review of admission is one like others", "response: {allowed: true, patchType: JSONPatch, " +
			"patch: !cel \"base64.encode(bytes('[{\\\"op\\\":\\\"add\\\",\\\"path\\\":\\\"/metadata/labels\\\",\\\"value\\\":{\\\"of\\\":\\\"' + request.object.metadata.name + '\\\"}}]'))\"}",
			`{"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview", "request": {"uid": "u", "operation": "CREATE", "object": {"metadata": {"name": "a"}}}}`,
			200, "application/json", `{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","response":{"allowed":true,"patch":"` +
				base64.StdEncoding.EncodeToString([]byte(`[{"op":"add","path":"/metadata/labels","value":{"of":"a"}}]`)) + `","patchType":"JSONPatch","uid":"u"}}`},
		{"a body stands for all of it", "body: {kind: Other, response: {uid: !cel request.uid }}", conversionReview,
			200, "application/json", `{"kind":"Other","response":{"uid":"u"}}`},
		{"a text is sent as it is, under the code and the headers", "body: no review, code: 418, headers: {Content-Type: text/html}", "not JSON",
			418, "text/html", "no review"},
	}
	for _, test := range tests {
		t.Run(test.rule, func(t *testing.T) {
			called, response, body, err := received(t, "- {name: w, service: {namespace: d, name: x, path: /p}, "+test.says+"}\n", "/p?timeout=1s", test.sent)
			if err != nil {
				t.Fatal(err)
			}
			if err := called.failure(); err != nil {
				t.Error(err)
			}
			got := []string{fmt.Sprint(response.StatusCode), response.Header.Get("Content-Type"), body}
			if d := cmp.Diff([]string{fmt.Sprint(test.code), test.media, test.body}, got); d != "" {
				t.Errorf("answer (-want +got):\n%s", d)
			}
			want := map[string]any{"method": "POST", "path": "/p?timeout=1s", "headers": map[string]any{"Content-Type": "application/json"}}
			if test.sent == "not JSON" {
				want["review"] = "not JSON"
			} else {
				want["review"] = map[string]any{"kind": syntax.Present{}, "request": map[string]any{"uid": "u"}}
			}
			w := called[0]
			if d := Diff([]any{want}, w.read()); d != "" {
				t.Errorf("calls (-want +got):\n%s", d)
			}
			if again := w.read(); len(again) != 0 {
				t.Errorf("calls that were read already: %v", again)
			}
		})
	}
}

// A service selects one of its webhooks by the path of the request, or responds with 404.
func TestWebhooksShareAService(t *testing.T) {
	const two = "- {name: v, service: {namespace: d, name: x, path: /v}, body: from v}\n" +
		"- {name: w, service: {namespace: d, name: x, path: /w}, body: from w}\n"
	const rest = "- {name: r, service: {namespace: d, name: x}, body: from r}\n"
	for _, test := range []struct{ webhooks, path, want string }{
		{two, "/v", "200 from v"},
		{two, "/w", "200 from w"},
		{two, "/", "404 404 page not found\n"},
		{two + rest, "/w", "200 from w"},
		{two + rest, "/w/", "200 from r"},
	} {
		_, response, body, err := received(t, test.webhooks, test.path, "{}")
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(response.StatusCode, " ", body); got != test.want {
			t.Errorf("%s: %q, want %q", test.path, got, test.want)
		}
	}
}

// A webhook that closes its connection has no answer, and one that hangs none either,
// for as long as its caller waits.
func TestSilence(t *testing.T) {
	if _, _, _, err := received(t, "- {name: w, service: {namespace: d, name: x}, silent: close}\n", "/", "{}"); !errors.Is(err, io.EOF) {
		t.Errorf("close: %v, want EOF", err)
	}

	w := &webhook{reply: syntax.WebhookReply{Silent: syntax.SilentHang}}
	ctx, giveUp := context.WithCancel(t.Context())
	called := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		close(called)
		w.ServeHTTP(to, r)
	}))
	defer server.Close()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-called
		giveUp()
	}()
	if _, err := server.Client().Do(request); !errors.Is(err, context.Canceled) {
		t.Errorf("hang: %v, want context canceled", err)
	}
	server.Client().CloseIdleConnections()
	server.Close() // which waits for the handler
	if n := len(w.read()); n != 1 {
		t.Errorf("hang: %d calls, want 1", n)
	}
}

// A webhook that cannot answer as its author meant fails the step that called it, by
// the line of the expression.
func TestFailingExpressions(t *testing.T) {
	for _, test := range []struct{ says, want string }{
		{"response: !cel request.nothing", "the webhook w: f.yaml:3: request.nothing: no such key: nothing"},
		{"body: {x: [!cel request.uid.size() ]}", ""},
		{"response: !cel request.uid", "the webhook w: the response must be a mapping, not u"},
		{"response: {x: !cel \"{1: 2}\"}", "the webhook w: f.yaml:3: {1: 2}: a field name must be a string, but 1 is a int"},
		{"response: {x: !cel type(1)}", "the webhook w: f.yaml:3: type(1): JSON does not have the type type"},
	} {
		called, response, _, err := received(t, "- {name: w, service: {namespace: d, name: x}, "+test.says+"}\n", "/", conversionReview)
		if err != nil {
			t.Fatal(err)
		}
		got, code := "", 200
		if err := called.failure(); err != nil {
			got, code = err.Error(), 500
		}
		if got != test.want || response.StatusCode != code {
			t.Errorf("%s: %d %q, want %q", test.says, response.StatusCode, got, test.want)
		}
	}
}

func TestAFailingExpressionFailsTheStep(t *testing.T) {
	const text = `scenario: s
webhooks:
- name: convert
  service: {namespace: default, name: example-conversion-webhook-server}
  response: !cel request.nothing
setup:
- file: my-versioned-crontab-with-conversion.yaml
  set: {spec.conversion.webhook.clientConfig.caBundle: !from convert.caBundle}
steps:
- create: {apiVersion: example.com/v1, kind: CronTab, metadata: {name: a}}
  error: {code: 500}
`
	f := syntax.Parse("../../../scenarios/versions/f.yaml", []byte(text))
	if err := f.Err(); err != nil {
		t.Fatal(err)
	}
	const want = "../../../scenarios/versions/f.yaml:10: step 1: create crontabs.example.com default/a: " +
		"the webhook convert: ../../../scenarios/versions/f.yaml:5: request.nothing: no such key: nothing"
	result := Play(t.Context(), f.Scenarios[0], InProcess)
	if result.Failure == nil || result.Failure.String() != want {
		t.Errorf("failure %v, want %s", result.Failure, want)
	}
}
