package policy_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"

	restadmission "github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/admission/policy"
)

// annotated remembers the audit annotations of a request.
type annotated struct {
	admission.Attributes
	annotations map[string]string
}

func (a annotated) AddAnnotationWithLevel(key, value string, _ auditinternal.Level) error {
	a.annotations[key] = value
	return nil
}

// annotations are what the plugin writes into the audit about a create.
func annotations(t *testing.T, p restadmission.Plugin, data map[string]string) (map[string]string, error) {
	t.Helper()
	w := newWorld().create(t.Context(), data)
	to := annotated{w.Attributes, map[string]string{}}
	w.Attributes = to
	err := p.Validate(t.Context(), w)
	return to.annotations, err
}

func TestValuesOfAuditAnnotationsAreThoseOfAllBindings(t *testing.T) {
	var c configured
	c.validating = append(c.validating, record("ValidatingAdmissionPolicy", "p", constraints("", "configmaps")+`,"auditAnnotations":[
		{"key":"value","valueExpression":"'of ' + request.name"},
		{"key":"null","valueExpression":"null"},
		{"key":"empty","valueExpression":"'  '"},
		{"key":"long","valueExpression":"[1,2,3,4,5,6,7,8,9,10,11].map(i, object.data.long).join('')"},
		{"key":"param","valueExpression":"params == null ? 'none' : 'some'"}],"paramKind":{"apiVersion":"v1","kind":"ConfigMap"}`))
	for _, b := range []string{"a", "b"} {
		c.validatingBindings = append(c.validatingBindings, record("ValidatingAdmissionPolicyBinding", b, `"policyName":"p","validationActions":["Audit"]`))
	}
	got, err := annotations(t, c.plugin(t), map[string]string{"long": strings.Repeat("x", 1000)})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"p/value": "of a", "p/param": "none", "p/long": strings.Repeat("x", 10*1024)}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestDifferentValuesOfAnAuditAnnotationAreJoined(t *testing.T) {
	w := newWorld()
	w.objects = map[string]runtime.Object{}
	var c configured
	c.validating = append(c.validating, record("ValidatingAdmissionPolicy", "p", constraints("", "configmaps")+`,"paramKind":{"apiVersion":"v1","kind":"ConfigMap"},
		"auditAnnotations":[{"key":"param","valueExpression":"string(params.data.value)"}]`))
	for _, b := range []string{"a", "b", "c"} {
		value := b
		if b == "c" {
			value = "a"
		}
		w.objects[b] = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: b}, Data: map[string]string{"value": value}}
		c.validatingBindings = append(c.validatingBindings, record("ValidatingAdmissionPolicyBinding", b,
			fmt.Sprintf(`"policyName":"p","validationActions":["Audit"],"paramRef":{"name":%q,"parameterNotFoundAction":"Deny"}`, b)))
	}
	write := w.create(t.Context(), nil)
	to := annotated{write.Attributes, map[string]string{}}
	write.Attributes = to
	if err := c.plugin(t).Validate(t.Context(), write); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]string{"p/param": "a, b"}, to.annotations); d != "" {
		t.Error(d)
	}
}

func TestFailuresThatAreAuditedAreListed(t *testing.T) {
	var c configured
	c.validate("p", constraints("", "configmaps")+`,"validations":[{"expression":"true"},{"expression":"false","message":"<no>"},{"expression":"1/object.data.size() == 1"}]`)
	c.validatingBindings[0] = record("ValidatingAdmissionPolicyBinding", "b", `"policyName":"p","validationActions":["Audit"]`)
	got, err := annotations(t, c.plugin(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"message":"\u003cno\u003e","policy":"p","binding":"b","expressionIndex":1,"validationActions":["Audit"]},` +
		`{"message":"expression '1/object.data.size() == 1' resulted in error: no such key: data","policy":"p","binding":"b","expressionIndex":2,"validationActions":["Audit"]}]`
	if d := cmp.Diff(map[string]string{"validation.policy.admission.k8s.io/validation_failure": want}, got); d != "" {
		t.Error(d)
	}
}

func TestNoMoreThanFiftyFailuresAreAudited(t *testing.T) {
	var c configured
	c.validate("p", constraints("", "configmaps")+`,"validations":[{"expression":"false"}`+strings.Repeat(`,{"expression":"false"}`, 59)+`]`)
	c.validatingBindings[0] = record("ValidatingAdmissionPolicyBinding", "b", `"policyName":"p","validationActions":["Audit"]`)
	got, err := annotations(t, c.plugin(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(got["validation.policy.admission.k8s.io/validation_failure"], "expressionIndex"); n != 50 {
		t.Errorf("%d failures, want 50", n)
	}
}

// refusal is what a create is refused with; empty: it is not.
func refusal(err error) string {
	if err == nil {
		return ""
	}
	var status *apierrors.StatusError
	if !errors.As(err, &status) {
		return "no Status: " + err.Error()
	}
	return fmt.Sprintf("%d %s %s", status.ErrStatus.Code, status.ErrStatus.Reason, status.ErrStatus.Message)
}

// costly is an expression that costs some 900,000 of the 10,000,000 that a policy
// may cost, and of the 1,000,000 that an expression may: as much as the one text is
// long times as much as the other.
const costly = "!object.data.long.contains(object.data.pattern)"

var costlyData = map[string]string{"long": strings.Repeat("x", 90_000), "pattern": strings.Repeat("y", 1_000)}

func TestThePoliciesExpressionsHaveOneBudget(t *testing.T) {
	const denied = `422 Invalid configmaps "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'p' denied request: `
	for _, tt := range []struct{ name, spec, want string }{
		{"few", `"validations":[` + times(10, `{"expression":"`+costly+`"}`) + `]`, ""},
		{"many validations", `"validations":[` + times(13, `{"expression":"`+costly+`"}`) + `]`,
			denied + "validation failed due to running out of cost budget, no further validation rules will be run"},
		{"many validations, ignored", `"failurePolicy":"Ignore","validations":[` + times(13, `{"expression":"`+costly+`"}`) + `]`, ""},
		{"variables count", `"variables":[` + numbered(13, `{"name":"v%d","expression":"`+costly+`"}`) + `],"validations":[` + numbered(13, `{"expression":"variables.v%d"}`) + `]`,
			denied + "validation failed due to running out of cost budget, no further validation rules will be run"},
		{"messages count", `"validations":[` + times(13, `{"expression":"true","messageExpression":"string(`+costly+`)"}`) + `]`,
			denied + "failed messageExpression: validation failed due to running out of cost budget, no further validation rules will be run"},
		{"audit annotations have one of their own", `"validations":[` + times(3, `{"expression":"`+costly+`"}`) + `],"auditAnnotations":[` + numbered(3, `{"key":"k%d","valueExpression":"string(`+costly+`)"}`) + `]`, ""},
		{"audit annotations", `"auditAnnotations":[` + numbered(13, `{"key":"k%d","valueExpression":"string(`+costly+`)"}`) + `]`,
			denied + "validation failed due to running out of cost budget, no further validation rules will be run"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var c configured
			c.validate("p", tt.spec+","+constraints("", "configmaps"))
			err := c.plugin(t).Validate(t.Context(), newWorld().create(t.Context(), costlyData))
			if got := refusal(err); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func times(n int, text string) string { return strings.TrimSuffix(strings.Repeat(text+",", n), ",") }

func numbered(n int, format string) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(names, ",")
}

// Each evaluation has its own budget: more bindings do not use it up.
func TestEachBindingHasABudget(t *testing.T) {
	var c configured
	c.validating = append(c.validating, record("ValidatingAdmissionPolicy", "p", constraints("", "configmaps")+`,"validations":[`+times(8, `{"expression":"`+costly+`"}`)+`]`))
	for i := range 8 {
		c.validatingBindings = append(c.validatingBindings, record("ValidatingAdmissionPolicyBinding", fmt.Sprint(i), `"policyName":"p","validationActions":["Deny"]`))
	}
	if err := c.plugin(t).Validate(t.Context(), newWorld().create(t.Context(), costlyData)); err != nil {
		t.Error(err)
	}
}

func TestConfigurationsThatValidationKeepsOutFail(t *testing.T) {
	const rules = `"resourceRules":[{"apiGroups":["*"],"apiVersions":["*"],"operations":["*"],"resources":["configmaps"]}]`
	for _, tt := range []struct{ name, spec, want string }{
		{"a failure policy", `"failurePolicy":"Retry","paramKind":{"apiVersion":"a/b/c"},"matchConstraints":{"namespaceSelector":{},"objectSelector":{},` + rules + `}`,
			"unrecognized failure policy: 'Retry'"},
		{"constraints", `"validations":[{"expression":"true"}]`, "failed to configure policy: policy contained no match constraints, a required field"},
		{"a paramKind", `"paramKind":{"apiVersion":"a/b/c"},"matchConstraints":{"namespaceSelector":{},"objectSelector":{},` + rules + `}`,
			"failed to configure policy: failed to parse paramKind APIVersion: unexpected GroupVersion string: a/b/c"},
		{"a selector", `"matchConstraints":{"namespaceSelector":{},"objectSelector":{"matchExpressions":[{"key":"a","operator":"Like"}]},` + rules + `}`,
			`failed to configure policy: Internal error occurred: "Like" is not a valid label selector operator`},
		{"an expression", `"validations":[{"expression":"nothing"}],"matchConstraints":{"namespaceSelector":{},"objectSelector":{},` + rules + `}`,
			"compilation error: compilation failed: ERROR: <input>:1:1: undeclared reference to 'nothing' (in container '')\n | nothing\n | ^"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var c configured
			c.validate("p", tt.spec)
			err := c.plugin(t).Validate(t.Context(), newWorld().create(t.Context(), nil))
			binding := ""
			if tt.name == "an expression" {
				binding = " with binding 'p'"
			}
			want := `422 Invalid configmaps "a" is forbidden: ValidatingAdmissionPolicy 'p'` + binding + ` denied request: ` + tt.want
			if got := refusal(err); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// otherVersion has ConfigMaps in a second version, which does not exist.
type otherVersion struct{ admission.ObjectInterfaces }

var configMapsV2 = schema.GroupVersionResource{Version: "v2", Resource: "configmaps"}

func (o otherVersion) GetEquivalentResourceMapper() runtime.EquivalentResourceMapper { return o }
func (otherVersion) EquivalentResourcesFor(schema.GroupVersionResource, string) []schema.GroupVersionResource {
	return []schema.GroupVersionResource{configMapsV2}
}
func (o otherVersion) KindFor(schema.GroupVersionResource, string) schema.GroupVersionKind {
	return schema.GroupVersionKind{}
}

// convertible is otherVersion with a kind, which nothing can be converted to.
type convertible struct{ otherVersion }

func (o convertible) GetEquivalentResourceMapper() runtime.EquivalentResourceMapper { return o }
func (convertible) KindFor(schema.GroupVersionResource, string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Version: "v2", Kind: "ConfigMap"}
}

const inV2 = `"matchConstraints":{"matchPolicy":"Equivalent","namespaceSelector":{},"objectSelector":{},
	"resourceRules":[{"apiGroups":["*"],"apiVersions":["v2"],"operations":["*"],"resources":["configmaps"]}]}`

func TestObjectsThatCannotBeConverted(t *testing.T) {
	var c configured
	c.validate("p", inV2+`,"validations":[{"expression":"true"}]`)
	c.mutate("m", inV2+`,"reinvocationPolicy":"Never","mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"[]"}}]`)
	p := c.plugin(t)
	for _, tt := range []struct {
		name             string
		as               func(admission.ObjectInterfaces) admission.ObjectInterfaces
		validate, mutate string
	}{
		{"to an unknown kind", func(o admission.ObjectInterfaces) admission.ObjectInterfaces { return otherVersion{o} },
			`422 Invalid configmaps "a" is forbidden: ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: unable to convert to /v2, Resource=configmaps: unknown kind`,
			`403 Forbidden policy "m" denied request: failed to configure policy: unable to convert to /v2, Resource=configmaps: unknown kind`},
		{"because that fails", func(o admission.ObjectInterfaces) admission.ObjectInterfaces { return convertible{otherVersion{o}} },
			`422 Invalid configmaps "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'p' denied request: failed to configure binding: failed to convert object version: ` +
				`no kind "ConfigMap" is registered for version "v2" in scheme`,
			`403 Forbidden policy "m" denied request: failed to configure policy: no kind "ConfigMap" is registered for version "v2" in scheme`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld().create(t.Context(), nil)
			w.ObjectInterfaces = tt.as(w.ObjectInterfaces)
			if got := refusal(p.Validate(t.Context(), w)); !strings.HasPrefix(got, tt.validate) {
				t.Errorf("validate:\ngot  %s\nwant %s", got, tt.validate)
			}
			if got := refusal(p.Mutate(t.Context(), w)); !strings.HasPrefix(got, tt.mutate) {
				t.Errorf("mutate:\ngot  %s\nwant %s", got, tt.mutate)
			}
		})
	}
}

func TestWithoutItsNamespaceAPolicyThatLooksAtItIsNotEvaluated(t *testing.T) {
	w := newWorld().create(t.Context(), nil)
	w.Attributes = admission.NewAttributesRecord(w.GetObject(), nil, w.GetKind(), "gone", "a", w.GetResource(), "", admission.Create, w.GetOperationOptions(), false, w.GetUserInfo())
	var c configured
	c.validate("p", constraints("", "configmaps")+`,"validations":[{"expression":"namespaceObject != null"}]`)
	c.mutate("m", constraints("", "configmaps")+`,"reinvocationPolicy":"Never","mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"namespaceObject == null ? [] : []"}}]`)
	const want = `404 NotFound namespaces "gone" not found`
	if got := refusal(c.plugin(t).Validate(t.Context(), w)); got != want {
		t.Errorf("validate: %s", got)
	}
	if got := refusal(c.plugin(t).Mutate(t.Context(), w)); got != want {
		t.Errorf("mutate: %s", got)
	}
}

func TestAKindWithoutTypesCannotBeChanged(t *testing.T) {
	world := newWorld()
	v := *world.registry.Resource("", "configmaps").Storage
	v.Types = nil
	world.serveConfigMapsAs(&v)
	var c configured
	c.mutate("m", constraints("", "configmaps")+`,"failurePolicy":"Ignore","reinvocationPolicy":"Never","mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"[]"}}]`)
	const want = "503 ServiceUnavailable Resource kind /v1, Kind=ConfigMap not found. There can be a delay between when CustomResourceDefinitions are created and when they are available."
	if got := refusal(c.plugin(t).Mutate(t.Context(), world.create(t.Context(), nil))); got != want {
		t.Errorf("got %s", got)
	}
}

// Many requests use one plugin at the same time.
func TestRequestsDoNotDisturbEachOther(t *testing.T) {
	var c configured
	c.validate("p", constraints("", "configmaps")+`,"variables":[{"name":"a","expression":"object.data.a"},{"name":"b","expression":"variables.a + '!'"}],
		"matchConditions":[{"name":"c","expression":"object.data.a != 'skip'"}],
		"validations":[{"expression":"variables.b == 'good!'","messageExpression":"variables.a + ' in ' + namespaceObject.metadata.name"}]`)
	c.mutate("m", constraints("", "configmaps")+`,"reinvocationPolicy":"IfNeeded","mutations":[
		{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{metadata: Object.metadata{labels: {'a': string(object.data.a)}}}"}}]`)
	p, w := c.plugin(t), newWorld()
	var callers sync.WaitGroup
	for i := range 8 {
		callers.Go(func() {
			for j := range 25 {
				value := []string{"good", "skip", fmt.Sprintf("bad%d-%d", i, j)}[j%3]
				want := ""
				if strings.HasPrefix(value, "bad") {
					want = fmt.Sprintf(`422 Invalid configmaps "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'p' denied request: %s in default`, value)
				}
				write := w.create(context.Background(), map[string]string{"a": value})
				if err := p.Mutate(context.Background(), write); err != nil {
					t.Error(err)
				}
				if got := write.GetObject().(*corev1.ConfigMap).Labels["a"]; got != value {
					t.Errorf("the label is %q, want %q", got, value)
				}
				if got := refusal(p.Validate(context.Background(), write)); got != want {
					t.Errorf("got  %s\nwant %s", got, want)
				}
			}
		})
	}
	callers.Wait()
}

func TestReasonsAreCodes(t *testing.T) {
	for reason, code := range map[string]int{"Forbidden": http.StatusForbidden, "Invalid": http.StatusUnprocessableEntity,
		"RequestEntityTooLarge": http.StatusRequestEntityTooLarge, "Unauthorized": http.StatusUnauthorized, "Strange": http.StatusUnprocessableEntity} {
		var c configured
		c.validate("p", constraints("", "configmaps")+fmt.Sprintf(`,"validations":[{"expression":"false","reason":%q}]`, reason))
		var status *apierrors.StatusError
		if err := c.plugin(t).Validate(t.Context(), newWorld().create(t.Context(), nil)); !errors.As(err, &status) ||
			int(status.ErrStatus.Code) != code || string(status.ErrStatus.Reason) != reason {
			t.Errorf("%s: %v", reason, refusal(err))
		}
	}
}

// oneWay converts objects to what policies see, and not back.
type oneWay struct{ admission.ObjectInterfaces }

func (o oneWay) GetObjectConvertor() runtime.ObjectConvertor {
	return failingConvertor{o.ObjectInterfaces.GetObjectConvertor()}
}

type failingConvertor struct{ runtime.ObjectConvertor }

func (failingConvertor) Convert(any, any, any) error { return errors.New("there is no way back") }

func TestAnObjectThatCannotBeConvertedBackIsAnInternalError(t *testing.T) {
	var c configured
	c.mutate("m", constraints("", "configmaps")+`,"reinvocationPolicy":"Never","mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: 'add', path: '/metadata/labels/b', value: 'c'}]"}}]`)
	w := newWorld().create(t.Context(), nil)
	w.ObjectInterfaces = oneWay{w.ObjectInterfaces}
	const want = "500 InternalError Internal error occurred: failed to convert object: there is no way back"
	if got := refusal(c.plugin(t).Mutate(t.Context(), w)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestABindingThatCannotBeMatchedFails(t *testing.T) {
	w := newWorld().create(t.Context(), nil)
	w.Attributes = admission.NewAttributesRecord(w.GetObject(), nil, w.GetKind(), "gone", "a", w.GetResource(), "", admission.Create, w.GetOperationOptions(), false, w.GetUserInfo())
	var c configured
	c.validate("p", constraints("", "configmaps")+`,"validations":[{"expression":"true"}]`)
	c.mutate("m", constraints("", "configmaps")+`,"reinvocationPolicy":"Never","mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: 'remove', path: '/data'}]"}}]`)
	const selecting = `"policyName":%q,"validationActions":["Warn"],"matchResources":{"namespaceSelector":{"matchLabels":{"a":"b"}},"objectSelector":{}}`
	c.validatingBindings[0] = record("ValidatingAdmissionPolicyBinding", "b", fmt.Sprintf(selecting, "p"))
	c.mutatingBindings[0] = record("MutatingAdmissionPolicyBinding", "b", fmt.Sprintf(selecting, "m"))
	want := `422 Invalid configmaps "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: failed to configure binding: namespaces "gone" not found`
	if got := refusal(c.plugin(t).Validate(t.Context(), w)); got != want {
		t.Errorf("validate:\ngot  %s\nwant %s", got, want)
	}
	want = `403 Forbidden policy 'm' with binding 'b' denied request: failed to configure binding: namespaces "gone" not found`
	if got := refusal(c.plugin(t).Mutate(t.Context(), w)); got != want {
		t.Errorf("mutate:\ngot  %s\nwant %s", got, want)
	}
}

func TestTypesAreCheckedAgainstTenKindsOfARule(t *testing.T) {
	rule := func(resources ...string) admissionregistrationv1.NamedRuleWithOperations {
		return admissionregistrationv1.NamedRuleWithOperations{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
			Rule: admissionregistrationv1.Rule{APIGroups: []string{"", "coordination.k8s.io", "admissionregistration.k8s.io"}, APIVersions: []string{"v1"}, Resources: resources},
		}}
	}
	for _, tt := range []struct {
		name  string
		rules []admissionregistrationv1.NamedRuleWithOperations
		want  int
	}{
		{"as many as there are", []admissionregistrationv1.NamedRuleWithOperations{rule("configmaps", "secret", "Leases", "nothing", "configmaps/status", "*")}, 3},
		{"no more than ten", []admissionregistrationv1.NamedRuleWithOperations{rule("configmaps", "secrets", "events", "serviceaccounts", "leases",
			"validatingadmissionpolicies", "validatingadmissionpolicybindings", "mutatingadmissionpolicies", "mutatingadmissionpolicybindings",
			"validatingwebhookconfigurations", "mutatingwebhookconfigurations")}, 10},
		{"each once", []admissionregistrationv1.NamedRuleWithOperations{rule("configmaps"), rule("configmaps", "leases")}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &admissionregistrationv1.ValidatingAdmissionPolicy{Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
				MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: tt.rules},
				Validations:      []admissionregistrationv1.Validation{{Expression: "object.nowhere == 1"}},
			}}
			warnings := policy.TypeCheck(p, newWorld().registry)
			if len(warnings) != 1 || strings.Count(warnings[0].Warning, "undefined field 'nowhere'") != tt.want {
				t.Errorf("%d kinds, want %d: %v", strings.Count(warnings[0].Warning, "undefined field 'nowhere'"), tt.want, warnings)
			}
		})
	}
}
