package fakecluster_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientrest "k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/fakecluster/fakecluster/fakecluster"
	recordsession "github.com/fakecluster/fakecluster/internal/scenario/record"
	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
	"github.com/fakecluster/fakecluster/rest"
)

// The values that are secret contain one of these.
const (
	secretText   = "Xq7Zk9WvPj3LmT8s"
	secretNumber = 918273645546
)

// leak returns a piece of a text that shows a secret: six characters of it, as they are, in base64 at any offset, or
// in hexadecimal. Of a number it takes nine: others are latencies and places.
func leak(text string) string {
	forms := []string{secretText[:6], secretText[len(secretText)-6:], fmt.Sprint(secretNumber)[:9], hex.EncodeToString([]byte(secretText[:6]))}
	for offset := range 3 {
		encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("-", offset) + secretText))
		forms = append(forms, strings.TrimRight(encoded, "=")[4:14])
	}
	for _, form := range forms {
		for _, in := range []string{text, strings.ToLower(text)} {
			if i := strings.Index(in, form); i >= 0 {
				return in[max(0, i-200):min(len(in), i+100)]
			}
		}
	}
	return ""
}

// echo is what the webhook does with the object that it gets.
type echo int64

const (
	echoNothing echo = iota
	echoDenial
	echoReason
	echoDetails
	echoWarning
	echoAnnotation
	echoPatch
	echoNonsense
	echoPanic
	echoError // of a function
	echoNotFound
	echoPanicHere
	echoes
)

// echoing answers AdmissionReviews: it repeats the object's content in one of many ways.
func echoing(how *atomic.Int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var review admissionv1.AdmissionReview
		_ = json.NewDecoder(req.Body).Decode(&review)
		object := string(review.Request.Object.Raw)
		if object == "" {
			object = string(review.Request.OldObject.Raw)
		}
		answer := &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		switch echo(how.Load()) {
		case echoDenial:
			answer.Allowed, answer.Result = false, &metav1.Status{Message: "I do not like " + object}
		case echoReason:
			answer.Allowed, answer.Result = false, &metav1.Status{Reason: metav1.StatusReason(secretText), Code: 422}
		case echoDetails:
			answer.Allowed, answer.Result = false, &metav1.Status{Message: "no", Reason: "Invalid", Details: &metav1.StatusDetails{
				Name: secretText, Causes: []metav1.StatusCause{{Type: "FieldValueForbidden", Field: secretText, Message: "Forbidden: " + object}}}}
		case echoWarning:
			answer.Warnings = []string{object, "unknown field \"" + secretText + "\"", secretText, strings.Repeat("x", 250) + secretText}
		case echoAnnotation:
			answer.AuditAnnotations = map[string]string{"object": object, secretText: "key"}
		case echoPatch:
			if review.Request.Kind.Kind != "Secret" {
				break // what it copies elsewhere is not a secret
			}
			kind := admissionv1.PatchTypeJSONPatch
			answer.PatchType, answer.Patch = &kind, []byte(`[{"op":"add","path":"/metadata/annotations","value":{"echo":"`+secretText+`"}}]`)
		case echoNonsense:
			http.Error(w, object, http.StatusInternalServerError)
			return
		case echoPanic:
			panic("I cannot stand " + object)
		}
		review.Response, review.Request = answer, nil
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review)
	})
}

const echoingManifests = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: bundles.example.com}
spec:
  group: example.com
  names: {plural: bundles, singular: bundle, kind: Bundle, listKind: BundleList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          count: {type: integer, maximum: 3}
          secret: {type: object, x-kubernetes-preserve-unknown-fields: true}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: echo}
spec:
  matchConstraints:
    resourceRules: [{operations: [CREATE, UPDATE], apiGroups: [""], apiVersions: [v1], resources: [secrets]}]
  validations:
  - expression: "!has(object.data) || !('denied' in object.data)"
    messageExpression: "'it has the data ' + string(object.data['denied'])"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: echo}
spec: {policyName: echo, validationActions: %s}
---
apiVersion: v1
kind: Secret
metadata: {name: param, namespace: default}
stringData: {word: %s}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: param}
spec:
  paramKind: {apiVersion: v1, kind: Secret}
  matchConstraints:
    resourceRules: [{operations: [CREATE, UPDATE], apiGroups: [""], apiVersions: [v1], resources: [configmaps]}]
  validations:
  - expression: "!has(object.data) || !('denied' in object.data)"
    messageExpression: "'the word is ' + params.data.word"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: param}
spec: {policyName: param, validationActions: [Deny], paramRef: {name: param, namespace: default, parameterNotFoundAction: Deny}}
`

const echoingWebhook = `
apiVersion: admissionregistration.k8s.io/v1
kind: %sWebhookConfiguration
metadata: {name: echo}
webhooks:
- name: echo.example.com
  sideEffects: None
  failurePolicy: %s
  admissionReviewVersions: [v1]
  clientConfig: {service: {name: hooks, namespace: default}}
  rules:
  - {operations: [CREATE, UPDATE, DELETE], apiGroups: [""], apiVersions: [v1], resources: [secrets]}
  - {operations: [CREATE, UPDATE], apiGroups: [example.com], apiVersions: [v1], resources: [bundles]}
`

// secretWrites draws writes to Secrets, most of them invalid, whose values are secret.
type secretWrites struct{ *rand.Rand }

// text is a text with a secret in it.
func (d secretWrites) text() string {
	return seedtest.Pick(d, "", "", "\"", "a\n", "é<&>", "%!s ") + secretText + seedtest.Pick(d, "", "\\\"", "'", " kind: Secret", strings.Repeat("y", 40))
}

// value is the value of a field.
func (d secretWrites) value() any {
	switch d.IntN(8) {
	case 0:
		return d.text()
	case 1:
		return secretNumber
	case 2:
		return map[string]any{"below": d.text(), "$patch": seedtest.Pick(d, "merge", secretText)}
	case 3:
		return []any{d.text(), secretNumber}
	case 4:
		return nil
	}
	return base64.StdEncoding.EncodeToString([]byte(seedtest.Pick(d, d.text(), `{"auth":"`+secretText+`"}`)))
}

func (d secretWrites) values() map[string]any {
	answers := map[string]any{}
	for range d.IntN(3) + 1 {
		answers[seedtest.Pick(d, "a", "tls.crt", "bad key", "denied", ".dockerconfigjson", "a")] = d.value()
	}
	return answers
}

// object is a Secret, or a part of one.
func (d secretWrites) object(name string) map[string]any {
	object := map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": name}}
	if d.IntN(4) > 0 {
		object["data"] = d.values()
	}
	if d.IntN(3) == 0 {
		object["stringData"] = map[string]any{"a": seedtest.Pick[any](d, d.text(), d.value())}
	}
	metadata := object["metadata"].(map[string]any)
	for range d.IntN(2) {
		switch d.IntN(9) {
		case 0:
			metadata["annotations"] = map[string]any{"password": seedtest.Pick[any](d, d.text(), d.value())}
		case 1:
			applied, _ := json.Marshal(map[string]any{"kind": "Secret", "metadata": map[string]any{}, "stringData": map[string]any{"a": d.text()}})
			metadata["annotations"] = map[string]any{"kubectl.kubernetes.io/last-applied-configuration": string(applied)}
		case 2:
			object["spec"] = map[string]any{"password": d.text()}
		case 3:
			object["kind"] = seedtest.Pick(d, "ConfigMap", "List", "Nothing")
		case 4:
			object["type"] = seedtest.Pick(d, "kubernetes.io/dockerconfigjson", "kubernetes.io/tls", "kubernetes.io/basic-auth")
		case 5:
			object["immutable"] = seedtest.Pick[any](d, true, d.text())
		case 6:
			object["data"] = d.value()
		case 7:
			delete(object, seedtest.Pick(d, "kind", "apiVersion", "metadata"))
		case 8:
			metadata["resourceVersion"] = "1"
		}
	}
	return object
}

// secretWrite is a write.
type secretWrite struct{ method, path, mediaType, body string }

// draw draws a write. Half of them are valid, so that they reach admission.
func (d secretWrites) draw() secretWrite {
	if d.IntN(2) == 0 {
		return d.valid()
	}
	w := secretWrite{mediaType: "application/json"}
	name := seedtest.Pick(d, "one", "two", "three")
	drawn := d.object(name)
	object := any(drawn)
	collection := "/api/v1/namespaces/default/secrets"
	elsewhere := d.IntN(4) == 0
	switch {
	case elsewhere && d.IntN(2) == 0: // a Secret, where it does not belong
		collection, drawn["kind"] = "/api/v1/namespaces/default/configmaps", "Secret"
		if d.IntN(3) == 0 {
			object = map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": map[string]any{"denied": "by the parameter"}}
		}
	case elsewhere: // in another object
		collection, drawn["kind"] = "/apis/example.com/v1/namespaces/default/bundles", "Secret"
		object = map[string]any{"apiVersion": "example.com/v1", "kind": "Bundle", "metadata": map[string]any{"name": name}, "count": d.IntN(6), "secret": drawn}
	case d.IntN(12) == 0:
		w.method, w.path = "POST", seedtest.Pick(d, "/apis/authentication.k8s.io/v1/tokenreviews", "/api/v1/namespaces/default/serviceaccounts/default/token?token="+secretText)
		object = map[string]any{"kind": seedtest.Pick(d, "TokenReview", "TokenRequest"), "apiVersion": "authentication.k8s.io/v1", "spec": map[string]any{"token": d.value()}}
	case d.IntN(12) == 0:
		object = map[string]any{"apiVersion": "v1", "kind": seedtest.Pick(d, "List", "SecretList"), "items": []any{object}}
	}
	if w.method == "" {
		w.method, w.path = "POST", collection
		if d.IntN(4) > 0 {
			w.method, w.path = seedtest.Pick(d, "PUT", "PATCH", "PATCH", "PATCH"), collection+"/"+name
		}
	}
	options := seedtest.Pick(d, "?dryRun=All", "?fieldValidation=Strict", "?fieldValidation=Ignore", "?fieldManager=m", "?force=true&fieldManager=n", "?password="+secretText)
	if !strings.Contains(w.path, "?") {
		w.path += options
	}
	if w.method == "PATCH" {
		w.mediaType = seedtest.Pick(d, "application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json", "application/apply-patch+yaml")
		switch {
		case elsewhere && w.mediaType == "application/json-patch+json":
			object = []any{map[string]any{"op": "add", "path": seedtest.Pick(d, "/secret", "/kind", ""), "value": drawn}}
		case elsewhere:
		case w.mediaType == "application/json-patch+json":
			object = []any{map[string]any{
				"op":    seedtest.Pick(d, "add", "replace", "test", "move", secretText),
				"path":  seedtest.Pick(d, "/data/a", "/data", "/stringData", "/metadata/annotations", "/kind", ""),
				"value": seedtest.Pick[any](d, d.value(), d.values(), d.text(), object),
			}}
		case w.mediaType != "application/apply-patch+yaml":
			object = seedtest.Pick[any](d, object, map[string]any{"data": d.values()}, map[string]any{"data": d.value()}, map[string]any{"kind": d.text()})
		}
	}
	text, _ := json.Marshal(object)
	w.body = string(text)
	switch {
	case d.IntN(12) == 0 && !elsewhere:
		w.body = w.body[:d.IntN(len(w.body)+1)]
	case d.IntN(12) == 0 && !elsewhere:
		w.body = strings.Replace(w.body, `"data":{`, `"data":{"a":"`+secretText+`","a":"`+secretText+`",`, 1)
	case d.IntN(8) == 0 && w.method != "PATCH":
		w.mediaType = "application/yaml"
		w.body = seedtest.Pick(d, w.body, "apiVersion: v1\nkind: Secret\nmetadata: {name: "+name+"}\nstringData: {a: *"+secretText+"}\n",
			"kind: Secret\napiVersion: v1\nmetadata: {name: "+name+"}\nstringData: "+secretText+"\n", "kind: Secret\n stringData: "+secretText+": x")
	}
	return w
}

// valid draws a write that only admission may refuse.
func (d secretWrites) valid() secretWrite {
	name := seedtest.Pick(d, "one", "two", "three")
	w := secretWrite{seedtest.Pick(d, "DELETE", "POST", "PATCH", "PATCH", "PATCH"), "/api/v1/namespaces/default/secrets", "application/json", ""}
	object := map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata":   map[string]any{"name": name, "annotations": map[string]any{"password": d.text()}},
		"stringData": map[string]any{seedtest.Pick(d, "a", "b", "denied"): d.text()},
		"data":       map[string]any{"c": base64.StdEncoding.EncodeToString([]byte(d.text()))},
	}
	switch w.method {
	case "PATCH":
		w.path += "/" + name + "?fieldManager=m&force=true&fieldValidation=Warn"
		w.mediaType = "application/apply-patch+yaml"
	case "DELETE":
		w.path += "/" + name
		return w
	}
	text, _ := json.Marshal(object)
	w.body = strings.Replace(string(text), `"data":{`, `"passwords":"`+secretText+`","data":{`, 1)
	if w.mediaType == "application/apply-patch+yaml" {
		w.body = string(text)
	}
	return w
}

// lockedBuffer is a buffer that several goroutines may write to.
type lockedBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Values of Secrets are in responses only, in all kinds of writes and in all messages that repeat them.
func TestSecretsAreInResponsesAlone(t *testing.T) {
	logged := &lockedBuffer{}
	state := klog.CaptureState()
	defer state.Restore()
	klog.SetLogger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(logged))))
	defer log.SetOutput(log.Writer())
	log.SetOutput(logged)

	folder := t.TempDir()
	t.Setenv("FAKECLUSTER_REPORT", folder)
	random := secretWrites{seedtest.Rand(t)}
	echoed := map[string]int{} // responses with a secret, by where
	for _, kind := range []string{"Mutating", "Validating"} {
		leaksOf(t, random, kind, folder, echoed)
	}
	if found := leak(logged.String()); found != "" {
		t.Errorf("the log of the process has: %s", found)
	}
	for _, want := range []string{"A request made the API server panic", "http: panic serving"} {
		if !strings.Contains(logged.String(), want) {
			t.Errorf("the log of the process lacks %q", want)
		}
	}
	// The test proves something only if responses do contain secrets.
	for where, least := range map[string]int{"422": 20, "warnings": 5, "webhook": 20, "policy": 5, "function": 1} {
		if echoed[where] < least {
			t.Errorf("%d responses have a secret in their %s, of at least %d", echoed[where], where, least)
		}
	}
}

// leaksOf makes random writes, and fails the test if a value is shown.
func leaksOf(t *testing.T, random secretWrites, kind, folder string, echoed map[string]int) {
	var how atomic.Int64
	manifests, webhooks := filepath.Join(t.TempDir(), "manifests.yaml"), filepath.Join(t.TempDir(), "webhooks.yaml")
	must(t, os.WriteFile(manifests, fmt.Appendf(nil, echoingManifests, seedtest.Pick(random, "[Deny, Audit]", "[Warn]"), secretText), 0o600))
	must(t, os.WriteFile(webhooks, fmt.Appendf(nil, echoingWebhook, kind, seedtest.Pick(random, "Fail", "Ignore")), 0o600))
	var recorder recordsession.Recorder
	tb := &failing{TB: t, failed: true}
	c := fakecluster.Start(tb, fakecluster.InProcess(), fakecluster.WithSeed(random.Uint64()), fakecluster.WithManifests(manifests),
		fakecluster.WithWebhookPaths(webhooks), fakecluster.WithMiddleware(recorder.Wrap), fakecluster.WithService("default", "hooks", 443, echoing(&how)),
		fakecluster.WithAdmission(nil, func(_ context.Context, r *fakecluster.AdmissionRequest) error {
			text, _ := json.Marshal(r.Object)
			switch secret := r.Resource.Resource == "secrets"; {
			case secret && echo(how.Load()) == echoError:
				return errors.New("the function says " + string(text))
			case secret && echo(how.Load()) == echoNotFound:
				return apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, secretText)
			case secret && echo(how.Load()) == echoPanicHere:
				panic("the function cannot stand " + string(text))
			}
			return nil
		}))
	must(t, recorder.Begin(c.RESTConfig()))
	client, err := clientrest.HTTPClientFor(c.RESTConfig())
	must(t, err)
	check := func(where, text string) {
		t.Helper()
		if found := leak(text); found != "" {
			t.Errorf("%s has: %s", where, found)
		}
	}
	for range 400 {
		w := random.draw()
		how.Store(int64(seedtest.Pick(random, echoNothing, echoNothing, echo(random.IntN(int(echoes))))))
		for _, explain := range []string{"", seedtest.Pick(random, "json", "text", "header")} {
			req, err := http.NewRequestWithContext(t.Context(), w.method, c.URL()+w.path, strings.NewReader(w.body))
			must(t, err)
			req.Header.Set("Content-Type", w.mediaType)
			if explain != "" {
				req.Header.Set(rest.ExplainHeader, explain)
			}
			answer, err := client.Do(req)
			must(t, err)
			body, err := io.ReadAll(answer.Body)
			must(t, err)
			must(t, answer.Body.Close())
			about := fmt.Sprintf("%+v", w)
			switch explain {
			case "":
				count(echoed, answer, string(body))
			case "header":
				check("an explanation in a header of "+about, answer.Header.Get(rest.ExplanationHeader))
			default:
				check("an explanation of "+about, string(body))
			}
			requests := c.Requests()
			last := requests[len(requests)-1]
			text, err := json.Marshal(last)
			must(t, err)
			check("the history of "+about, last.String()+string(text))
			if t.Failed() {
				return
			}
		}
	}
	for _, name := range []string{"one", "two", "three"} {
		for _, kind := range []string{"v1/Secret", "example.com/v1/Bundle"} {
			obj := &unstructured.Unstructured{}
			obj.SetAPIVersion(kind[:strings.LastIndex(kind, "/")])
			obj.SetKind(kind[strings.LastIndex(kind, "/")+1:])
			obj.SetNamespace("default")
			obj.SetName(name)
			history, err := c.History(obj)
			must(t, err)
			for _, revision := range history {
				revision.Object = nil // which is data
				text, err := json.Marshal(revision)
				must(t, err)
				check("the history of "+name, revision.String()+string(text))
			}
		}
	}
	check("the statistics", c.Stats().String())
	for _, path := range []string{"/", "/data.json"} {
		page := httptest.NewRecorder()
		c.ReportPage("ui").ServeHTTP(page, httptest.NewRequest("GET", path, nil))
		check("--ui "+path, page.Body.String())
	}
	session, steps := recorder.Scenario(recordsession.InitialState{})
	if steps < 300 {
		t.Errorf("%d steps", steps)
	}
	check("the recorded session", string(session))
	check("the log of the test", tb.end())
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	must(t, err)
	if len(files) == 0 {
		t.Error("there is no report")
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		must(t, err)
		check(filepath.Base(path), string(text))
	}
}

// count notes where a response has a secret.
func count(echoed map[string]int, answer *http.Response, body string) {
	warnings := strings.Join(answer.Header["Warning"], "\n")
	for where, text := range map[string]string{"warnings": warnings, fmt.Sprint(answer.StatusCode): body} {
		if leak(text) != "" {
			echoed[where]++
		}
	}
	for where, sign := range map[string]string{"webhook": "admission webhook", "policy": "ValidatingAdmissionPolicy", "function": "the function says"} {
		if strings.Contains(body+warnings, sign) && leak(body+warnings) != "" {
			echoed[where]++
		}
	}
}
