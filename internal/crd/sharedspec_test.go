package crd

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// definitionBodies are bodies whose specs differ in what a spec may have.
func definitionBodies(t *testing.T) map[string][]byte {
	body, err := yaml.YAMLToJSON([]byte(shortcutDefinition))
	if err != nil {
		t.Fatal(err)
	}
	bodies := map[string][]byte{"one version": body}
	change := func(name string, change func(crd, spec map[string]any, version map[string]any)) {
		var crd map[string]any
		if err := json.Unmarshal(body, &crd); err != nil {
			t.Fatal(err)
		}
		delete(crd, "status")
		spec := crd["spec"].(map[string]any)
		change(crd, spec, spec["versions"].([]any)[0].(map[string]any))
		text, err := json.Marshal(crd)
		if err != nil {
			t.Fatal(err)
		}
		bodies[name] = text
	}
	change("two versions alike", func(_, spec, v map[string]any) {
		other := map[string]any{"name": "v2", "served": true, "storage": false, "schema": v["schema"]}
		spec["versions"] = append(spec["versions"].([]any), other)
	})
	change("two versions that differ", func(_, spec, v map[string]any) {
		other := map[string]any{"name": "v2", "served": true, "storage": false, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}
		spec["versions"] = append(spec["versions"].([]any), other)
	})
	change("a webhook, columns and metadata", func(crd, spec, v map[string]any) {
		metadata := crd["metadata"].(map[string]any)
		metadata["annotations"] = map[string]any{"x": `,"spec":{"group":""},"status":`}
		metadata["labels"], metadata["finalizers"] = map[string]any{"a": "b"}, []any{"example.com/f"}
		spec["conversion"] = map[string]any{"strategy": "Webhook", "webhook": map[string]any{
			"conversionReviewVersions": []any{"v1"}, "clientConfig": map[string]any{"url": "https://example.com/convert"}}}
		v["additionalPrinterColumns"] = []any{map[string]any{"name": "A", "type": "string", "jsonPath": ".a"}}
		v["selectableFields"] = []any{map[string]any{"jsonPath": ".a"}}
		v["subresources"] = map[string]any{"status": map[string]any{}}
	})
	return bodies
}

func definitionsCodec(t *testing.T) (*definitionCodec, runtime.Serializer) {
	c := Definitions(false).Storage.Codec.(*definitionCodec)
	info := c.Serializer().SupportedMediaTypes()[0]
	return c, info.Serializer
}

func TestADefinitionThatHasBeenReadBeforeReadsTheSame(t *testing.T) {
	c, serializer := definitionsCodec(t)
	for name, body := range definitionBodies(t) {
		t.Run(name, func(t *testing.T) {
			want, _, err := c.TypedCodec.Decode(body, serializer)
			if err != nil {
				t.Fatal(err)
			}
			for _, time := range []string{"first", "second"} {
				got, kind, err := c.Decode(body, serializer)
				if err != nil || *kind != c.kind {
					t.Fatal(kind, err)
				}
				if diff := cmp.Diff(want.Object, got.Object); diff != "" {
					t.Errorf("read for the %s time (-want +got):\n%s", time, diff)
				}
				crd := got.Object.(*apiextensions.CustomResourceDefinition)
				if sharedSpecOf(&crd.Spec) == nil {
					t.Errorf("read for the %s time, the spec is not shared", time)
				}
				crd.Spec = *crd.Spec.DeepCopy()
				if sharedSpecOf(&crd.Spec) == nil {
					t.Error("the shared spec is not found by an equal one")
				}
				crd.Spec.Versions[0].Served = false
				if sharedSpecOf(&crd.Spec) != nil {
					t.Error("a shared spec is found by one that differs")
				}
			}
		})
	}
}

func TestAValidDefinitionIsValidatedAgainOnceItDiffers(t *testing.T) {
	c, serializer := definitionsCodec(t)
	strategy := Definitions(false).Storage.Strategy
	body := []byte(strings.Replace(string(definitionBodies(t)["two versions alike"]), `"Thing"`, `"Thong"`, 1))
	read := func() *apiextensions.CustomResourceDefinition {
		obj, _, err := c.Decode(body, serializer)
		if err != nil {
			t.Fatal(err)
		}
		strategy.PrepareForCreate(t.Context(), obj.Object)
		return obj.Object.(*apiextensions.CustomResourceDefinition)
	}
	for range 2 {
		if errs := strategy.Validate(t.Context(), read()); len(errs) > 0 {
			t.Fatal(errs)
		}
	}
	if s := sharedSpecOf(&read().Spec); s == nil || s.valid == nil {
		t.Fatal("the cache does not say that it is valid")
	}
	old := read()
	old.ResourceVersion = "1"
	if errs := strategy.ValidateUpdate(t.Context(), old.DeepCopy(), old); len(errs) > 0 {
		t.Fatal(errs)
	}
	if sharedSpecOf(&read().Spec).valid.old == nil {
		t.Error("the cache does not say that its update is valid")
	}
	for rule, change := range map[string]func(*apiextensions.CustomResourceDefinition){
		`metadata.uid: Invalid value: "100m": field is immutable`: func(crd *apiextensions.CustomResourceDefinition) {
			crd.UID = "100m"
		},
		`metadata.creationTimestamp: Invalid value: "2001-01-01T00:00:00Z": field is immutable`: func(crd *apiextensions.CustomResourceDefinition) {
			crd.CreationTimestamp = metav1.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
		},
		`metadata.managedFields[0].operation: Unsupported value: "Other": supported values: "Apply", "Update"`: func(crd *apiextensions.CustomResourceDefinition) {
			crd.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m", Operation: "Other", FieldsType: "FieldsV1"}}
		},
	} {
		crd := old.DeepCopy()
		change(crd)
		if errs := strategy.ValidateUpdate(t.Context(), crd, old); len(errs) != 1 || errs[0].Error() != rule {
			t.Errorf("an update: got %v, want %s", errs, rule)
		}
	}
	for rule, change := range map[string]func(*apiextensions.CustomResourceDefinition){
		`metadata.name: Invalid value: "others.example.com": must be spec.names.plural+"."+spec.group`: func(crd *apiextensions.CustomResourceDefinition) {
			crd.Name = "others.example.com"
		},
		`spec.scope: Unsupported value: "Elsewhere": supported values: "Cluster", "Namespaced"`: func(crd *apiextensions.CustomResourceDefinition) {
			crd.Spec.Scope = "Elsewhere"
		},
		`metadata.labels: Invalid value: "-": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`: func(crd *apiextensions.CustomResourceDefinition) {
			crd.Labels = map[string]string{"-": ""}
		},
	} {
		crd := read()
		change(crd)
		errs := strategy.Validate(t.Context(), crd)
		if len(errs) != 1 || errs[0].Error() != rule {
			t.Errorf("got %v, want %s", errs, rule)
		}
	}
}

// The end of a request does not end the validation that others wait for.
func TestADefinitionIsValidatedAfterTheEndOfItsRequest(t *testing.T) {
	items := strings.Repeat("1, ", 1000) + "1" // a rule notices the end of a context after some of them
	definition := `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "ends.example.com"}, "spec": {"group": "example.com", "scope": "Namespaced",
		"names": {"plural": "ends", "singular": "end", "kind": "End", "listKind": "EndList"}, "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "properties": {
		"spec": {"type": "object", "default": {"a": [` + items + `]}, "properties": {"a": {"type": "array", "maxItems": 1001, "items": {"type": "integer"}}}, "x-kubernetes-validations": [{"rule": "self.a.all(x, x > 0)"}]}}}}}]}}`
	c, serializer := definitionsCodec(t)
	strategy := Definitions(false).Storage.Strategy
	obj, _, err := c.Decode([]byte(definition), serializer)
	if err != nil {
		t.Fatal(err)
	}
	strategy.PrepareForCreate(t.Context(), obj.Object)
	obj.Object.(*apiextensions.CustomResourceDefinition).ResourceVersion = "1"
	ended, end := context.WithCancel(t.Context())
	end()
	if errs := strategy.ValidateUpdate(ended, obj.Object, obj.Object); len(errs) > 0 {
		t.Errorf("an update: %v", errs)
	}
	if errs := strategy.Validate(ended, obj.Object); len(errs) > 0 {
		t.Errorf("a create: %v", errs)
	}
}

func TestACompiledDefinitionSharesWhatItsSpecSays(t *testing.T) {
	c, serializer := definitionsCodec(t)
	body := definitionBodies(t)["two versions that differ"]
	compile := func() *resource.Definition {
		obj, _, err := c.Decode(body, serializer)
		if err != nil {
			t.Fatal(err)
		}
		crd := obj.Object.(*apiextensions.CustomResourceDefinition)
		SetConditions(crd, nil, metav1.NewTime(time.Unix(0, 0)))
		encoded, err := c.EncodeToStore(obj)
		if err != nil {
			t.Fatal(err)
		}
		d, err := Compile(store.Record{Key: DefinitionsPrefix + crd.Name, Value: encoded.Text, Revision: 1}, crd, Outside{})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	first, second := compile(), compile()
	for _, name := range []string{"v1", "v2"} {
		a, b := first.Resource.Version(name), second.Resource.Version(name)
		if a.Identity != b.Identity || a.Codec.(*codec).schemas[name] != b.Codec.(*codec).schemas[name] {
			t.Errorf("%s is compiled twice", name)
		}
	}
	if first.Resource.Version("v1").Identity[2:] == first.Resource.Version("v2").Identity[2:] {
		t.Error("two schemas have one identity")
	}
}

// TestEqualDefinitionsAreValidatedOnce proves that a definition that is created, or updated, while an equal one is validated waits for that one's result,
// and that any other is validated by itself. Later a valid one is not validated again.
func TestEqualDefinitionsAreValidatedOnce(t *testing.T) {
	c, serializer := definitionsCodec(t)
	read := func(uid types.UID, finalizer string) *apiextensions.CustomResourceDefinition {
		obj, _, err := c.Decode([]byte(strings.Replace(string(definitionBodies(t)["one version"]), `"Thing"`, `"Once"`, 1)), serializer)
		if err != nil {
			t.Fatal(err)
		}
		crd := obj.Object.(*apiextensions.CustomResourceDefinition)
		crd.UID, crd.Finalizers = uid, []string{finalizer}
		return crd
	}
	type definition = *apiextensions.CustomResourceDefinition
	wide := read("8", "d")
	wide.Spec.Scope = apiextensions.ClusterScoped
	for _, test := range []struct {
		name                    string
		crd, old, other, oldest definition // the first one, and another one meanwhile
		errs                    field.ErrorList
		once                    bool
	}{
		{"created", read("1", "f"), nil, read("2", "f"), nil, nil, true},
		{"created, and invalid", read("1", "g"), nil, read("2", "g"), nil, field.ErrorList{field.Required(field.NewPath("spec"), "")}, true},
		{"updated", read("1", "f"), read("1", "a"), read("2", "f"), read("2", "a"), nil, true},
		{"with other metadata", read("1", "h"), nil, read("2", "i"), nil, nil, false},
		{"with another old one", read("1", "f"), read("1", "b"), read("2", "f"), read("2", "c"), nil, false},
		{"with another old spec", read("1", "f"), read("1", "d"), read("2", "f"), wide, nil, false},
		{"created and updated", read("1", "j"), nil, read("2", "j"), read("2", "j"), nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			shared := sharedSpecOf(&test.crd.Spec)
			validated := func() field.ErrorList { return test.errs }
			errs := shared.validate(test.crd, test.old, func() field.ErrorList {
				own := shared.running[0]
				other := shared.begin(newVerdict(test.other, test.oldest), validated)
				if once := other == own; once != test.once {
					t.Errorf("they are validated once: %t", once)
				}
				if other != own {
					shared.end(other)
				}
				return test.errs
			})
			if diff := cmp.Diff(test.errs, errs); diff != "" {
				t.Errorf("the errors (-want +got):\n%s", diff)
			}
			if len(shared.running) > 0 {
				t.Errorf("%d verdicts are left", len(shared.running))
			}
			again := false
			shared.validate(test.crd, test.old, func() field.ErrorList { again = true; return test.errs })
			if want := len(test.errs) > 0; again != want {
				t.Errorf("later it is validated again: %t, want %t", again, want)
			}
		})
	}
}
