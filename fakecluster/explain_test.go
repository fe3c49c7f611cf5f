package fakecluster_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientrest "k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/faults"
	"github.com/fakecluster/fakecluster/inspect"
)

const ratio = "{apiVersion: example.com/v1, kind: Ratio, metadata: {name: a%s}, spec: {least: %d, most: %d}}"

func explainedBy(t *testing.T, c *fakecluster.Cluster, w fakecluster.Write) inspect.Explanation {
	t.Helper()
	e, err := c.Explain(w)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// says checks the text of an explanation, without its first line.
func says(t *testing.T, e inspect.Explanation, want ...string) {
	t.Helper()
	_, got, _ := strings.Cut(strings.TrimSuffix(e.String(), "\n"), "\n")
	if diff := cmp.Diff(strings.Join(want, "\n"), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", e.Request.Object, diff)
	}
}

// reviews answers AdmissionReviews with the responses of answer.
func reviews(answer func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		review.Response = answer(review.Request)
		review.Response.UID = review.Request.UID
		review.Request = nil
		_ = json.NewEncoder(w).Encode(review)
	})
}

const explainedHooks = `
apiVersion: admissionregistration.k8s.io/v1
kind: %s
metadata: {name: %s}
webhooks:
- name: %s.example.com
  sideEffects: None
  admissionReviewVersions: [v1]
  clientConfig: {caBundle: %s, service: {name: hooks, namespace: default, path: /%s}}
  rules: [{operations: [%s], apiGroups: [example.com], apiVersions: [v1], resources: [%s]}]
`

func TestExplainWebhooks(t *testing.T) {
	patch := admissionv1.PatchTypeJSONPatch
	mux := http.NewServeMux()
	mux.Handle("/mutate", reviews(func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		return &admissionv1.AdmissionResponse{Allowed: true, PatchType: &patch, Patch: []byte(`[{"op":"add","path":"/spec/most","value":7}]`),
			AuditAnnotations: map[string]string{"rounded": "yes"}}
	}))
	mux.Handle("/validate", reviews(func(r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		return &admissionv1.AdmissionResponse{Allowed: r.Name == "a", Warnings: []string{"seven is a lot"}, Result: &metav1.Status{Message: "the name is not a"}}
	}))
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithService("default", "hooks", 443, mux))
	hook := func(kind, name, operations, resources string) {
		t.Helper()
		ca := fmt.Sprintf("%q", jsonBytes(t, c.CABundle()))
		mustExplain(t, c, fmt.Sprintf(explainedHooks, kind, name, name, ca, name, operations, resources))
	}
	mustExplain(t, c, ratios)
	hook("MutatingWebhookConfiguration", "mutate", "CREATE", "ratios")
	hook("ValidatingWebhookConfiguration", "validate", "CREATE", "ratios")
	hook("ValidatingWebhookConfiguration", "misled", "UPDATE", "'*'")

	e := explainedBy(t, c, fakecluster.Write{Manifest: fmt.Sprintf(ratio, "", 1, 20)})
	says(t, e,
		"  mutating webhook mutate.example.com (configuration mutate) changed it",
		"    spec.most: 20 → 7",
		"  validating webhook misled.example.com (configuration misled) was not called: its rules do not match CREATE of ratios in example.com/v1",
		"  validating webhook validate.example.com (configuration validate) allowed it",
		"    it warns: seven is a lot",
		"  CEL rules: 1 passed (cost 5)",
		"  spec.least: added 1, managed by fakecluster-explain",
		"  spec.most: added 7, managed by fakecluster-explain",
		"  warning: seven is a lot")
	step := e.Admission[0]
	if string(step.Patch) != `[{"op":"add","path":"/spec/most","value":7}]` || step.Annotations["rounded"] != "yes" || step.Latency <= 0 {
		t.Errorf("%+v", step)
	}
	if e.Annotations["mutate.example.com/rounded"] != "yes" {
		t.Error(e.Annotations)
	}
	e = explainedBy(t, c, fakecluster.Write{Manifest: strings.ReplaceAll(fmt.Sprintf(ratio, "", 1, 20), "name: a", "name: b")})
	last := e.Admission[len(e.Admission)-1]
	if last.Outcome != inspect.Denied || last.Message != `admission webhook "validate.example.com" denied the request: the name is not a` || e.Answer.Code != 400 {
		t.Errorf("%+v", e)
	}
}

// jsonBytes is how JSON has bytes, without the quotes.
func jsonBytes(t *testing.T, b []byte) string {
	text, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Trim(string(text), `"`)
}

// mustExplain creates the object of a manifest.
func mustExplain(t *testing.T, c *fakecluster.Cluster, text string) {
	t.Helper()
	if e := explainedBy(t, c, fakecluster.Write{Manifest: text, Commit: true}); e.Answer.Code >= 400 {
		t.Fatal(e)
	}
}

func TestExplainPolicies(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithObjects(manifest(ratios)))
	mustExplain(t, c, `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: small}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints: {resourceRules: [{operations: [CREATE, UPDATE], apiGroups: [example.com], apiVersions: [v1], resources: [ratios]}]}
  validations:
  - {expression: object.spec.least >= 0}
  - {expression: object.spec.most <= int(params.data.most), messageExpression: "'at most ' + params.data.most"}
`)
	mustExplain(t, c, `{apiVersion: v1, kind: ConfigMap, metadata: {name: limits}, data: {most: "50"}}`)
	mustExplain(t, c, `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: everywhere}
spec: {policyName: small, validationActions: [Deny], paramRef: {name: limits, namespace: default, parameterNotFoundAction: Deny}}
`)
	mustExplain(t, c, `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: label}
spec:
  reinvocationPolicy: Never
  matchConstraints: {resourceRules: [{operations: [CREATE], apiGroups: [example.com], apiVersions: [v1], resources: [ratios]}]}
  matchConditions: [{name: large, expression: object.spec.most > 30}]
  mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: "Object{metadata: Object.metadata{labels: Object.metadata.labels{size: 'large'}}}"}}]
`)
	mustExplain(t, c, `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicyBinding, metadata: {name: all}, spec: {policyName: label}}`)

	says(t, explainedBy(t, c, fakecluster.Write{Manifest: fmt.Sprintf(ratio, "", 1, 20)}),
		"  mutating policy label (binding all) was not called: its match condition is not true: large",
		"  validating policy small (binding everywhere, params default/limits) allowed it",
		"    cost 12",
		"  CEL rules: 1 passed (cost 5)",
		"  spec.least: added 1, managed by fakecluster-explain",
		"  spec.most: added 20, managed by fakecluster-explain")
	says(t, explainedBy(t, c, fakecluster.Write{Manifest: fmt.Sprintf(ratio, "", 1, 60)}),
		"  mutating policy label (binding all) changed it",
		`    metadata.labels.size: added "large"`,
		"  validating policy small (binding everywhere, params default/limits) refused it: at most 50",
		"    validations[1] is not true: object.spec.most <= int(params.data.most)",
		"    cost 12",
		"  CEL rules: 1 passed (cost 5)")
}

// Plugins that are compiled into the server, and who may do what.
func TestExplainPluginsAndRoles(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithObjects(
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "pods", Namespace: "default"},
			Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"create"}}}},
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "jane", Namespace: "default"},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "pods"}, Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "jane"}}},
	))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx"}}}}
	e := explainedBy(t, c, fakecluster.Write{Object: pod, As: c.ConfigFor("jane")})
	if e.Access == nil || e.Access.Reason != `RBAC: allowed by RoleBinding "jane/default" of Role "pods" to User "jane"` || e.Request.User != "jane" {
		t.Errorf("%+v", e.Access)
	}
	changed := map[string]bool{}
	for _, s := range e.Admission {
		if s.Kind != inspect.Plugin || s.Outcome != inspect.Changed || len(s.Changes) == 0 {
			t.Errorf("%+v", s)
		}
		changed[s.Name] = true
	}
	if !changed["DefaultTolerationSeconds"] || !changed["Priority"] {
		t.Error(changed)
	}
	if !strings.Contains(fmt.Sprint(e.Defaulted), `{spec.restartPolicy Always}`) {
		t.Error(e.Defaulted)
	}
	e = explainedBy(t, c, fakecluster.Write{Verb: "delete", Object: pod, As: c.ConfigFor("jane")})
	if e.Access == nil || e.Access.Allowed || e.Answer.Code != 403 {
		t.Errorf("%+v", e)
	}
	pod.Namespace = "nowhere"
	says(t, explainedBy(t, c, fakecluster.Write{Manifest: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: nowhere}}`}),
		`  plugin NamespaceLifecycle refused it: namespaces "nowhere" not found`)
}

// The object is older than the bound and the rule that it breaks.
func TestExplainRatcheting(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithObjects(manifest(strings.NewReplacer(
		", minimum: 0", "", "            x-kubernetes-validations:\n            - {rule: self.least <= self.most, message: least is more than most}\n", "").Replace(ratios))))
	mustExplain(t, c, fmt.Sprintf(ratio, "", -1, -5))
	definition, err := c.APIExtensions().ApiextensionsV1().CustomResourceDefinitions().Get(t.Context(), "ratios.example.com", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	newer := manifest(ratios)
	newer.SetResourceVersion(definition.ResourceVersion)
	if e := explainedBy(t, c, fakecluster.Write{Verb: "update", Object: newer, Commit: true}); e.Answer.Code != 200 {
		t.Fatal(e)
	}
	e := explainedBy(t, c, fakecluster.Write{Verb: "patch", Object: manifest(fmt.Sprintf(ratio, "", 0, 0)), Patch: `{"metadata":{"labels":{"a":"b"}}}`})
	says(t, e,
		"  accepted: the value is invalid but unchanged (ratcheting): spec: Invalid value: least is more than most",
		"    rule: self.least <= self.most (cost 5)",
		"    schema: openAPIV3Schema.properties.spec",
		"  accepted: the value is invalid but unchanged (ratcheting): spec.least: Invalid value: -1: spec.least in body should be greater than or equal to 0",
		`    schema: openAPIV3Schema.properties.spec.properties.least is {"type":"integer","default":1,"minimum":0}`,
		"  CEL rules: 1 failed (cost 5)",
		`  metadata.labels.a: added "b", managed by fakecluster-explain`,
		"  warning: spec: Invalid value: least is more than most")
}

// Somebody else has written the object since the client read it.
func TestExplainAStaleUpdate(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithObjects(manifest(ratios)))
	mustExplain(t, c, fmt.Sprintf(ratio, "", 1, 20))
	stale, err := c.Dynamic().Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "ratios"}).
		Namespace("default").Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rival := c.RESTConfig()
	rival.UserAgent = "rival/v1"
	explainedBy(t, c, fakecluster.Write{Verb: "patch", Object: manifest(fmt.Sprintf(ratio, "", 0, 0)), Patch: `{"spec":{"most":30}}`, As: rival, Commit: true})
	e := explainedBy(t, c, fakecluster.Write{Verb: "update", Object: stale})
	if e.Answer.Code != 409 || e.Overtaken == nil || e.Overtaken.Is != e.Overtaken.Sent+1 {
		t.Fatalf("%+v", e)
	}
	says(t, e,
		fmt.Sprintf("  the client sent resourceVersion %d, and the current one is %d", e.Overtaken.Sent, e.Overtaken.Is),
		fmt.Sprintf("    revision %d by rival (patch)", e.Overtaken.Is),
		"      spec.most: 20 → 30")
}

// Each way to write has the same explanation of an object.
func TestExplainEachVerb(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithObjects(manifest(ratios)))
	mustExplain(t, c, fmt.Sprintf(ratio, "", 2, 20))
	named := manifest(fmt.Sprintf(ratio, "", 0, 0))
	for _, tt := range []struct {
		name string
		w    fakecluster.Write
		want []string
	}{
		{"a merge patch", fakecluster.Write{Verb: "patch", Patch: `{"spec":{"least":null,"leest":1}}`},
			[]string{"  pruned: spec.leest, which was 1 and is not in the schema", "  defaulted: spec.least = 1", "  CEL rules: 1 passed (cost 5)",
				"  spec.least: 2 → 1, managed by me, before by fakecluster-explain", `  warning: unknown field "spec.leest"`}},
		{"a JSON patch", fakecluster.Write{Verb: "patch", PatchType: types.JSONPatchType, Patch: `[{"op":"remove","path":"/spec/least"}]`},
			[]string{"  defaulted: spec.least = 1", "  CEL rules: 1 passed (cost 5)", "  spec.least: 2 → 1, managed by me, before by fakecluster-explain"}},
		{"an apply by force", fakecluster.Write{Verb: "apply", Force: true, Object: manifest(fmt.Sprintf(ratio, "", 3, 20))},
			[]string{"  CEL rules: 1 passed (cost 5)", "  spec.least: 2 → 3, managed by me, before by fakecluster-explain"}},
		{"a patch that changes nothing", fakecluster.Write{Verb: "patch", Patch: `{"spec":{"least":2}}`},
			[]string{"  CEL rules: 1 passed (cost 5)", "  nothing changes, so nothing is written"}},
		{"a patch that breaks a type", fakecluster.Write{Verb: "patch", Patch: `{"spec":{"most":"x"}}`},
			[]string{
				`  refused: spec.most: Invalid value: "string": spec.most in body must be of type integer: "string"`,
				`    schema: openAPIV3Schema.properties.spec.properties.most is {"type":"integer","default":10}`,
				`  refused: the object: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation`,
			}},
		{"the status", fakecluster.Write{Verb: "patch", Subresource: "status", Patch: `{"spec":{"least":9},"status":{"ready":true}}`},
			[]string{"  set by the rules of the kind: spec.least: 9 → 2", "  CEL rules: 1 passed (cost 5)", "  status.ready: added true, managed by me (status)"}},
		{"a delete", fakecluster.Write{Verb: "delete"}, []string{""}},
		{"a strict create", fakecluster.Write{FieldValidation: "Strict", Manifest: strings.Replace(fmt.Sprintf(ratio, "", 1, 2), "least", "leest", 1)},
			[]string{"  pruned: spec.leest, which was 1 and is not in the schema", "  defaulted: spec.least = 1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.w.Object == nil && tt.w.Manifest == "" {
				tt.w.Object = named
			}
			tt.w.FieldManager = "me"
			e := explainedBy(t, c, tt.w)
			t.Log(e)
			says(t, e, tt.want...)
		})
	}
}

func TestExplainRefusesInvalidWrites(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithObjects(manifest(ratios)))
	obj := manifest(fmt.Sprintf(ratio, "", 1, 2))
	for _, tt := range []struct {
		w    fakecluster.Write
		want string
	}{
		{fakecluster.Write{}, "explain: a Write needs an Object or a Manifest, and not both"},
		{fakecluster.Write{Object: obj, Manifest: "a"}, "explain: a Write needs an Object or a Manifest, and not both"},
		{fakecluster.Write{Manifest: "kind: A"}, "explain: the Manifest needs an apiVersion and a kind"},
		{fakecluster.Write{Verb: "get", Object: obj}, `explain: there is no verb "get" for a write; write create, update, patch, apply or delete`},
		{fakecluster.Write{Object: obj, Patch: "{}"}, "explain: set Patch and PatchType for the verb patch only, not for create"},
		{fakecluster.Write{Verb: "delete", Manifest: "{apiVersion: example.com/v1, kind: Ratio}"}, "explain: the object does not have a name, which the verb delete needs"},
		{fakecluster.Write{Manifest: "{apiVersion: example.com/v1, kind: Rattio}"}, `explain: no matches for kind "Rattio" in version "example.com/v1"`},
		{fakecluster.Write{Object: obj, As: &clientrest.Config{Transport: c.RESTConfig().Transport}}, "explain: 401 Unauthorized: "},
	} {
		if _, err := c.Explain(tt.w); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %s", tt.w, err, tt.want)
		}
	}
}

// Any client may request an explanation by a header.
func TestExplainHeader(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.WithObjects(manifest(ratios)))
	client, err := clientrest.HTTPClientFor(c.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	send := func(method, path, as, body string) (*http.Response, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, c.URL()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/yaml")
		req.Header.Set("Fakecluster-Explain", as)
		answer, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer, string(text)
	}
	const ratios = "/apis/example.com/v1/namespaces/default/ratios"
	answer, text := send("POST", ratios+"?dryRun=All&fieldManager=%C3%B6", "header", fmt.Sprintf(ratio, "", 1, 20))
	if answer.StatusCode != 201 || !strings.HasPrefix(text, `{"apiVersion":"example.com/v1"`) {
		t.Error(answer.Status, text)
	}
	var e inspect.Explanation
	if err := json.Unmarshal([]byte(answer.Header.Get("Fakecluster-Explanation")), &e); err != nil {
		t.Fatal(err)
	}
	want := []inspect.FieldChange{{Path: "spec.least", Is: int64(1), Owners: []string{"ö"}}, {Path: "spec.most", Is: int64(20), Owners: []string{"ö"}}}
	if diff := cmp.Diff(want, e.Changes); diff != "" || e.Request.Manager != "ö" {
		t.Error(diff, e.Request)
	}
	answer, text = send("POST", ratios, "text", fmt.Sprintf(ratio, "", 30, 20))
	if answer.StatusCode != 422 || answer.Header.Get("Content-Type") != "text/plain; charset=utf-8" || !strings.Contains(text, "\n    rule: self.least <= self.most (cost 5)\n") {
		t.Error(answer.Status, text)
	}
	answer, text = send("POST", ratios, "json", fmt.Sprintf(ratio, "", 1, 20))
	if err := json.Unmarshal([]byte(text), &e); err != nil || e.Answer.Code != 201 || answer.Header.Get("Content-Type") != "application/json" {
		t.Error(answer.Status, text, err)
	}
	for _, tt := range []struct{ method, path, as, want string }{
		{"POST", ratios, "xml", `Fakecluster-Explain: \"xml\" is not supported; write header, json or text`},
		{"GET", ratios + "/a", "text", "Fakecluster-Explain: only a create, an update, a patch and a delete of one object are explained"},
		{"DELETE", ratios, "text", "Fakecluster-Explain: only a create"},
	} {
		if answer, text := send(tt.method, tt.path, tt.as, ""); answer.StatusCode != 400 || !strings.Contains(text, tt.want) {
			t.Error(answer.Status, text)
		}
	}
	// Too long for a header.
	big := manifest(fmt.Sprintf(ratio, "", 1, 2))
	big.SetName("b")
	big.SetAnnotations(map[string]string{"long": strings.Repeat("x", 70_000)})
	body, err := big.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	answer, _ = send("POST", ratios, "header", string(body))
	e = inspect.Explanation{}
	if err := json.Unmarshal([]byte(answer.Header.Get("Fakecluster-Explanation")), &e); err != nil || e.Answer.Code != 201 || e.Omitted == "" || e.Changes != nil {
		t.Errorf("%+v, %v", e, err)
	}
}

// A fault is part of the explanation.
func TestExplainAFault(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithObjects(manifest(ratios)))
	c.Inject(faults.Fault{Verb: "create", Times: 1, Effect: faults.RefuseAdmission("not today")})
	e := explainedBy(t, c, fakecluster.Write{Manifest: fmt.Sprintf(ratio, "", 1, 2)})
	if e.Fault != `RefuseAdmission("not today")` || e.Answer.Code != 403 {
		t.Errorf("%+v", e)
	}
}
