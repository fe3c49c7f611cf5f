package redact

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/fakecluster/fakecluster/inspect"
)

const body = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"stringData":{"tls.crt":"hunter2"},"more":{"hunter3":1}}`

// What is the server's own sentence is shown, and nothing after it.
func TestTexts(t *testing.T) {
	r := Request{Resource: "secrets", Namespace: "ns", Name: "a", User: "jane", Body: []byte(body)}
	for text, want := range map[string]string{
		`secrets "a" not found`:                               ``,
		`secrets "hunter2" not found`:                         `~`,
		`secrets "a" not foundhunter2`:                        `secrets "a" not found~`,
		`hunter2s "a" not found`:                              `~`,
		`object is being deleted: secrets "a" already exists`: ``,
		`Operation cannot be fulfilled on secrets "a": the object has been modified; please apply your changes to the latest version and try again`: ``,
		`Operation cannot be fulfilled on secrets "a": hunter2`:                                                     `Operation cannot be fulfilled on secrets "a": ~`,
		`secrets "a" is forbidden: User "jane" cannot get resource "secrets" in API group "" in the namespace "ns"`: ``,
		`secrets "a" is forbidden: User "jane" cannot get resource "secrets" in API group "" in the namespace "ns": hunter2`: `secrets "a" is forbidden: ` +
			`User "jane" cannot get resource "secrets" in API group "" in the namespace "ns"~`,
		`secrets "a" is forbidden: User "hunter2" cannot get resource "secrets" in API group "" at the cluster scope`:                                           `~`,
		`secrets "a" is forbidden: unable to create new content in namespace ns because it is being terminated`:                                                 ``,
		`secrets "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: hunter2`:                                                      `secrets "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: ~`,
		`Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': hunter2`:                                                                         `Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': ~`,
		`policy 'p' with binding 'b' denied request: hunter2`:                                                                                                   `policy 'p' with binding 'b' denied request: ~`,
		`admission webhook "w.example.com" denied the request: hunter2`:                                                                                         `admission webhook "w.example.com" denied the request: ~`,
		`admission webhook "w.example.com" denied the request without explanation`:                                                                              ``,
		`Internal error occurred: failed calling webhook "w.example.com": failed to call webhook: Post "https://w.ns.svc:443/x?timeout=10s": EOF`:               ``,
		`Internal error occurred: failed calling webhook "w.example.com": failed to call webhook: an error on the server ("hunter2") has prevented the request`: `Internal error occurred: failed calling webhook "w.example.com": failed to call webhook: ~`,
		`Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 4`:                                                             ``,
		`Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 4: hunter2`:                                                    `Secret in version "v1" cannot be handled as a Secret: ~`,
		`Hunter in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 4`:                                                             `~`,
		`Secret in version "v1" cannot be handled as a Secret: json: cannot unmarshal number into Go struct field Secret.data of type []uint8`:                  ``,
		`Secret in version "v1" cannot be handled as a Secret: json: cannot unmarshal number 12345 into Go struct field Secret.data of type []uint8`:            `Secret in version "v1" cannot be handled as a Secret: ~`,
		`Secret in version "v1" cannot be handled as a Secret: strict decoding error: unknown field "more", duplicate field "stringData.tls.crt"`:               ``,
		`Secret in version "v1" cannot be handled as a Secret: strict decoding error: unknown field "more", unknown field "hunter2"`:                            `Secret in version "v1" cannot be handled as a Secret: strict decoding error: unknown field "more"~`,
		`unknown field "more.hunter3"`: ``, // the name of a field
		`unknown field "hunter2"`:      `~`,
		`the object provided is unrecognized (must be of type Secret): couldn't get it (68756e746)`:                                   `the object provided is unrecognized (must be of type Secret): ~`,
		`the name of the object (hunter2) does not match the name on the URL (a)`:                                                     `~`,
		`Apply failed with 1 conflict: conflict with "m" using v1: .stringData.tls.crt`:                                               ``,
		`failed to create typed patch object (/a; /v1, Kind=Secret): .more: field not declared in schema`:                             ``,
		`failed to create typed patch object (/a; /v1, Kind=Secret): .more: expected string, got &value.valueUnstructured{Value:123}`: `failed to create typed patch object (/a; /v1, Kind=Secret): .more: expected string, got ~`,
		`error converting YAML to JSON: yaml: line 3: unknown anchor 'hunter2' referenced`:                                            `error converting YAML to JSON: yaml: line 3: ~`,
		`yaml: line 3: mapping values are not allowed in this context`:                                                                ``,
		`hunter2`: `~`,
		``:        ``,
	} {
		if want == "" {
			want = text
		}
		if d := cmp.Diff(strings.ReplaceAll(want, "~", HiddenText), r.Text(text)); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
}

// A text about something else is shown, unless it quotes a Secret or the request sends one.
func TestTextsAboutOtherObjects(t *testing.T) {
	const text = "hunter2"
	for rule, c := range map[string]struct {
		r     Request
		text  string
		hides bool
	}{
		"a ConfigMap":              {Request{Resource: "configmaps", Body: []byte(`{"kind":"ConfigMap"}`)}, text, false},
		"a resource like it":       {Request{Group: "example.com", Resource: "secrets"}, text, false},
		"a reference to a Secret":  {Request{Body: []byte(`{"kind":"Event","involvedObject":{"kind":"Secret","apiVersion":"v1","name":"a"}}`)}, text, false},
		"a Secret elsewhere":       {Request{Resource: "configmaps", Body: []byte(body)}, text, true},
		"a Secret in a List":       {Request{Resource: "things", Body: []byte(`{"kind":"List","items":[` + body + `]}`)}, text, true},
		"a Secret in YAML":         {Request{Resource: "things", Body: []byte("spec:\n  kind: Secret\n  data: {a: b}\n")}, text, true},
		"a Secret in a text":       {Request{Resource: "things", Body: []byte(`{"data":{"x":"kind: Secret\ndata: {}"}}`)}, text, true},
		"what is meant as one":     {Request{Resource: "things", Body: []byte(`{"spec":{"stringData":{"a":"b"}}}`)}, text, true},
		"a body that is cut":       {Request{Resource: "things", Body: []byte(body[:60])}, text, true},
		"a marked request":         {Request{Resource: "things", Secret: true}, text, true},
		"a token":                  {Request{Resource: "serviceaccounts", Subresource: "token"}, text, true},
		"a review of a token":      {Request{Group: "authentication.k8s.io", Resource: "tokenreviews"}, text, true},
		"a text that quotes one":   {Request{}, `spec: Invalid value: "{\"kind\":\"Secret\",\"data\":{}}"`, true},
		"as Go prints it":          {Request{}, `map[data:map[a:hunter2] kind:Secret]`, true},
		"as Go prints a struct":    {Request{}, `v1.TypeMeta{Kind:"Secret", APIVersion:"v1"}`, true},
		"a text that names a kind": {Request{}, `no matches for kind "Secret" in version "v2"`, false},
	} {
		if got := c.r.Text(c.text); (got == HiddenText) != c.hides || !c.hides && got != c.text {
			t.Errorf("%s: %s", rule, got)
		}
	}
}

// Of field errors the field, the kind of the error and the end are shown.
func TestStatus(t *testing.T) {
	r := Request{Resource: "secrets", Name: "a"}
	status := func(message string, causes ...metav1.StatusCause) *metav1.Status {
		return &metav1.Status{Reason: "Invalid", Message: message, Details: &metav1.StatusDetails{Causes: causes}}
	}
	for _, c := range []struct {
		status *metav1.Status
		want   string
	}{
		{status(`Secret "a" is invalid: type: Invalid value: "x": field is immutable`, metav1.StatusCause{Field: "type", Message: `Invalid value: "x": field is immutable`}),
			`Secret "a" is invalid: type: Invalid value: ~: field is immutable`},
		{status(`Secret "a" is invalid: [x, y]`, metav1.StatusCause{Field: "data[.dockerconfigjson]", Message: "Required value"},
			metav1.StatusCause{Field: "immutable", Message: "Forbidden: field is immutable when `immutable` is set"}, metav1.StatusCause{Field: "data[a b]", Message: "Invalid value: \"a b\": no"}),
			"Secret \"a\" is invalid: [data[.dockerconfigjson]: Required value, immutable: Forbidden: field is immutable when `immutable` is set, (hidden): Invalid value: ~]"},
		{status(`Hunter "a" is invalid: no`, metav1.StatusCause{Field: "hunter2", Message: "Forbidden: no"}), `~`},
		{status(`admission webhook "w" denied the request: no`, metav1.StatusCause{Field: "hunter2", Message: "Forbidden: no"}), `admission webhook "w" denied the request: ~`},
	} {
		if reason, got := r.Status(c.status); reason != "Invalid" || got != strings.ReplaceAll(c.want, "~", HiddenText) {
			t.Errorf("%s %s", reason, got)
		}
	}
	if reason, _ := r.Status(&metav1.Status{Reason: "Hunter2"}); reason != "(hidden)" {
		t.Error(reason)
	}
}

// Names of fields stay, and values go, except for those that are public.
func TestValues(t *testing.T) {
	for rule, c := range map[string]struct{ tree, want string }{
		"a Secret": {
			`{"apiVersion":"v1","kind":"Secret","type":"t","immutable":true,"metadata":{"name":"a","labels":{"a":"b"},"annotations":{"p":"x","kubernetes.io/service-account.name":"s"}},"data":{"a":"x","b":5,"c":null,"d":{"e":["x"]}},"spec":{"p":"x"}}`,
			`{"apiVersion":"v1","data":{"a":"~","b":"~","c":null,"d":{"e":["~"]}},"immutable":true,"kind":"Secret","metadata":{"annotations":{"kubernetes.io/service-account.name":"s","p":"~"},"labels":{"a":"b"},"name":"a"},"spec":{"p":"~"},"type":"t"}`,
		},
		"a list of Secrets":  {`{"kind":"SecretList","items":[{"metadata":{"name":"a"},"data":{"a":"x"}}]}`, `{"items":[{"data":{"a":"~"},"metadata":{"name":"a"}}],"kind":"SecretList"}`},
		"one in another":     {`{"kind":"Bundle","spec":{"n":1,"of":[{"kind":"Secret","data":{"a":"x"}}]}}`, `{"kind":"Bundle","spec":{"n":1,"of":[{"data":{"a":"~"},"kind":"Secret"}]}}`},
		"a reference":        {`{"kind":"Secret","apiVersion":"v1","name":"a"}`, `{"apiVersion":"v1","kind":"Secret","name":"a"}`},
		"a manifest":         {`{"data":{"file":"kind: Secret\nstringData: {a: x}","other":"x"}}`, `{"data":{"file":"~","other":"x"}}`},
		"a token":            {`{"kind":"TokenRequest","spec":{"audiences":["a"]},"status":{"token":"x"}}`, `{"kind":"TokenRequest","spec":{"audiences":["a"]},"status":{"token":"~"}}`},
		"a review of one":    {`{"kind":"TokenReview","spec":{"token":"x"},"status":{"authenticated":true}}`, `{"kind":"TokenReview","spec":{"token":"~"},"status":{"authenticated":true}}`},
		"a ConfigMap":        {`{"kind":"ConfigMap","data":{"a":"x"}}`, `{"data":{"a":"x"},"kind":"ConfigMap"}`},
		"a kind that is not": {`{"kind":"SecretList","items":[{"kind":"hunter2","apiVersion":"hunter2"}]}`, `{"items":[{"apiVersion":"~","kind":"~"}],"kind":"SecretList"}`},
	} {
		var tree any
		if err := utiljson.Unmarshal([]byte(c.tree), &tree); err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(Value(tree))
		if err != nil || string(got) != strings.ReplaceAll(c.want, "~", Hidden) {
			t.Errorf("%s: %s, %v", rule, got, err)
		}
	}
}

// A patch has the paths of its values.
func TestPatches(t *testing.T) {
	r := Request{Resource: "secrets"}
	for patch, want := range map[string]string{
		`{"data":{"a":"x","$patch":"replace"},"metadata":{"labels":{"a":"b"}}}`: `{"data":{"$patch":"replace","a":0},"metadata":{"labels":{"a":"b"}}}`,
		`{"data":{"$patch":"x"}}`: `{"data":{"$patch":0}}`,
		`[{"op":"add","path":"/data/a~1b","value":"x"},{"op":"test","path":"/metadata/name","value":"a"},{"op":"x","path":"","value":{"type":"t","data":{"a":1}}}]`: `[` +
			`{"op":"add","path":"/data/a~1b","value":0},{"op":"test","path":"/metadata/name","value":"a"},{"op":"(a secret)","path":"","value":{"data":{"a":0},"type":"t"}}]`,
	} {
		var tree any
		if err := utiljson.Unmarshal([]byte(patch), &tree); err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(r.Replace(tree, func([]string, any) any { return 0 }))
		if err != nil || string(got) != want {
			t.Errorf("%s, %v", got, err)
		}
	}
}

func TestQuery(t *testing.T) {
	for query, want := range map[string]string{
		"":                                 "",
		"limit=5&labelSelector=a%3Db":      "limit=5&labelSelector=a%3Db",
		"token=hunter2&limit=5":            "token=(hidden)&limit=5",
		"hunter2":                          "(hidden)",
		"command=login&command=hunter2&%3": "command=(hidden)&command=(hidden)&(hidden)",
	} {
		if got := Query(query); got != want {
			t.Errorf("%s: %s", query, got)
		}
	}
}

// An error keeps its Status.
func TestErrors(t *testing.T) {
	cause := errors.New("hunter2")
	err := Request{Resource: "secrets"}.Error(cause)
	if err.Error() != HiddenText || !errors.Is(err, cause) {
		t.Error(err)
	}
	if other := (Request{}).Error(cause); other != cause {
		t.Error(other)
	}
}

// Every text and every value of an explanation passes through the rules.
func TestExplanations(t *testing.T) {
	const secret = "hunter2"
	changes := []inspect.FieldChange{{Path: "data.a", Was: secret, Is: map[string]any{"b": secret}}, {Path: "metadata.labels.a", Is: "shown"}}
	refusals := []inspect.FieldError{{Path: secret + "\n", Message: `Invalid value: "` + secret + `": no`}}
	e := Request{Resource: "secrets"}.Explanation(inspect.Explanation{
		Pruned: []inspect.FieldValue{{Path: "more", Value: secret}}, Defaulted: []inspect.FieldValue{{Path: `metadata.annotations["x"]`, Value: secret}},
		Read: changes, Prepared: changes, Changes: changes, Overtaken: &inspect.Overtaken{By: []inspect.InterveningWrite{{Changes: changes}}},
		Refused: refusals, Ratcheted: refusals, Warnings: []string{secret}, Annotations: map[string]string{secret: secret, "authorization.k8s.io/decision": "allow"},
		Admission: []inspect.AdmissionStep{{
			Message: secret, Changes: changes, Patch: json.RawMessage(`[{"value":"` + secret + `"}]`), Warnings: []string{secret},
			Annotations: map[string]string{"a": secret}, Expressions: []inspect.Expression{{Message: secret}},
		}},
	})
	text, err := json.Marshal(e)
	if err != nil || strings.Contains(string(text)+e.String(), secret) {
		t.Errorf("%s %v", text, err)
	}
	if n := strings.Count(string(text), "shown"); n != 5 {
		t.Errorf("%d labels: %s", n, text)
	}
	if e.Annotations["authorization.k8s.io/decision"] != "allow" {
		t.Error(e.Annotations)
	}
}
