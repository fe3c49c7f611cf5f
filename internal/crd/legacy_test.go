package crd

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

// randomSchema is a schema of the kind that v1beta1 takes: structural by accident
// alone.
func randomSchema(r *rand.Rand, depth int) apiextensions.JSONSchemaProps {
	var s apiextensions.JSONSchemaProps
	s.Type = []string{"", "", "object", "array", "string", "integer", "number", "boolean", "text"}[r.IntN(9)]
	s.Nullable = r.IntN(6) == 0
	if r.IntN(30) == 0 {
		s.Schema = "http://json-schema.org/draft-04/schema#" // has no structural form
	}
	if r.IntN(6) == 0 {
		s.Minimum, s.MaxLength, s.MinItems = ptr.To(1.), ptr.To(int64(3)), ptr.To(int64(1))
	}
	if r.IntN(8) == 0 {
		s.Enum = []apiextensions.JSON{"a", int64(1)}
	}
	if r.IntN(8) == 0 {
		s.Required = []string{"a"}
	}
	if depth == 0 {
		return s
	}
	if r.IntN(2) == 0 {
		s.Properties = map[string]apiextensions.JSONSchemaProps{}
		for range r.IntN(4) {
			s.Properties[string(rune('a'+r.IntN(6)))] = randomSchema(r, depth-1)
		}
	}
	if len(s.Properties) == 0 && r.IntN(3) == 0 {
		s.AdditionalProperties = &apiextensions.JSONSchemaPropsOrBool{Allows: true, Schema: ptr.To(randomSchema(r, depth-1))}
	}
	if r.IntN(3) == 0 {
		s.Items = &apiextensions.JSONSchemaPropsOrArray{Schema: ptr.To(randomSchema(r, depth-1))}
	}
	for _, junctor := range []*[]apiextensions.JSONSchemaProps{&s.AllOf, &s.AnyOf, &s.OneOf} {
		if r.IntN(8) == 0 {
			*junctor = []apiextensions.JSONSchemaProps{randomSchema(r, depth-1), randomSchema(r, depth-1)}
		}
	}
	if r.IntN(12) == 0 {
		s.Not = ptr.To(randomSchema(r, depth-1))
	}
	return s
}

// An update that changes nothing is valid whatever the schema, and one that changes
// everything is held to the schema; no schema makes any of it panic.
func TestObjectsOfSchemasThatAreNotStructuralAreValidated(t *testing.T) {
	r := seedtest.Rand(t)
	accepted, refused, ratcheted, unstructurable := 0, 0, 0, 0
	for range 500 {
		props := randomSchema(r, 3)
		props.Type, props.Nullable, props.Enum = "", false, nil
		compiled, err := compileSchema(&props, true)
		if err != nil {
			t.Fatalf("%+v: %v", props, err)
		}
		if compiled.structural == nil {
			unstructurable++
		}
		s := customStrategy{kind: kind, schema: compiled, hasStatus: r.IntN(2) == 0}
		object := func() *unstructured.Unstructured {
			u := &unstructured.Unstructured{Object: seedtest.Object(r, 3)}
			u.Object["metadata"] = map[string]any{"name": "a"}
			u.SetGroupVersionKind(kind)
			return u
		}
		for range 10 {
			old, changed := object(), object()
			errs := s.Validate(t.Context(), changed)
			want := validation.ValidateCustomResource(nil, changed.Object, compiled.validator())
			if (len(errs) == 0) != (len(want) == 0) {
				t.Fatalf("%v by %+v: %v, want %v", changed.Object, props, errs, want)
			}
			if len(errs) == 0 {
				accepted++
			} else {
				refused++
			}
			if len(errs) == 0 && len(s.ValidateUpdate(t.Context(), changed, old)) > 0 {
				t.Fatalf("%v is valid by %+v, but not as an update of %v", changed.Object, props, old.Object)
			}
			again := changed.DeepCopy()
			updated := s.ValidateUpdate(t.Context(), again, changed)
			customStatus{s}.ValidateUpdate(t.Context(), again, changed)
			switch {
			case len(errs) > 0 && len(updated) == 0:
				ratcheted++
			case compiled.structural == nil && len(updated) != len(errs):
				t.Fatalf("%v by %+v, which has no structural form: %v, as an update %v", changed.Object, props, errs, updated)
			}
		}
	}
	for what, n := range map[string]int{"valid": accepted, "invalid": refused, "ratcheted": ratcheted, "without a structural form": unstructurable} {
		if n < 20 {
			t.Errorf("%d are %s: the test shows nothing", n, what)
		}
	}
}

func TestViolationsAreInOrder(t *testing.T) {
	properties := map[string]apiextensions.JSONSchemaProps{}
	for i := range 9 {
		properties[fmt.Sprint("p", i)] = apiextensions.JSONSchemaProps{}
	}
	crd := &apiextensions.CustomResourceDefinition{}
	crd.Spec.PreserveUnknownFields = ptr.To(true)
	crd.Spec.Versions = []apiextensions.CustomResourceDefinitionVersion{{Name: "v1"}}
	crd.Spec.Validation = &apiextensions.CustomResourceValidation{OpenAPIV3Schema: &apiextensions.JSONSchemaProps{Properties: properties}}
	for range 5 {
		setNonStructural(crd, metav1.Now())
		if len(crd.Status.Conditions) != 1 {
			t.Fatalf("conditions %v", crd.Status.Conditions)
		}
		violations := strings.Split(strings.Trim(crd.Status.Conditions[0].Message, "[]"), ", spec.")
		if len(violations) != 11 || !slices.IsSorted(violations[1:]) {
			t.Fatalf("violations %q", violations)
		}
	}
}

func TestADefinitionThatHasBeenReadBeforeReadsTheSameInV1beta1(t *testing.T) {
	definitions := Definitions(true)
	v1, v1beta1 := definitions.Storage.Codec.(*definitionCodec), definitions.Version("v1beta1").Codec.(*definitionCodec)
	serializer := v1.Serializer().SupportedMediaTypes()[0].Serializer
	for name, body := range definitionBodies(t) {
		t.Run(name, func(t *testing.T) {
			decoded, _, err := v1.Decode(body, serializer)
			if err != nil {
				t.Fatal(err)
			}
			obj := decoded.Object
			whole, err := v1beta1.TypedCodec.Encode(obj)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				again, kind, err := v1beta1.Decode(whole, serializer)
				if err != nil || *kind != legacyKind {
					t.Fatal(kind, err)
				}
				if diff := cmp.Diff(obj, again.Object); diff != "" {
					t.Errorf("read in v1beta1 (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestDefaultsAreRefusedWhereverTheyAre(t *testing.T) {
	const schema = `{"type":"object","default":{},"properties":{
		"metadata":{"properties":{"name":{"default":""}}},
		"e":{"x-kubernetes-embedded-resource":true,"properties":{"metadata":{"properties":{"labels":{"default":{},"additionalProperties":{"default":""}}}}}},
		"l":{"items":{"default":1,"additionalProperties":{"default":1}}}},
		"not":{"default":1},"allOf":[{},{"default":1}],"anyOf":[{"default":1}],"oneOf":[{"default":1}],
		"definitions":{"d":{"default":1}},"dependencies":{"d":{"default":1}}}`
	const reason = `must not be set (cannot set default values in apiextensions.k8s.io/v1beta1 CRDs, must use apiextensions.k8s.io/v1)`
	var props apiextensionsv1beta1.JSONSchemaProps
	if err := json.Unmarshal([]byte(schema), &props); err != nil {
		t.Fatal(err)
	}
	s := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1beta1.Convert_v1beta1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&props, s, nil); err != nil {
		t.Fatal(err)
	}
	spec := &apiextensions.CustomResourceDefinitionSpec{Validation: &apiextensions.CustomResourceValidation{OpenAPIV3Schema: s}}
	got := map[string]string{}
	for _, err := range takeDefaults(spec) {
		got[strings.TrimPrefix(err.Field, "spec.validation.openAPIV3Schema.")] = err.Detail
	}
	want := map[string]string{
		"default": reason, "properties[metadata].properties[name].default": "must not be set in top-level metadata",
		"properties[e].properties[metadata].properties[labels].default":                      reason,
		"properties[e].properties[metadata].properties[labels].additionalProperties.default": "must not be set inside additionalProperties applying to object metadata",
		"properties[l].items.default":                      reason,
		"properties[l].items.additionalProperties.default": reason,
		"not.default": reason, "allOf[1].default": reason, "anyOf[0].default": reason, "oneOf[0].default": reason,
		"definitions[d].default": reason, "dependencies[d].default": reason,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	if hasDefaults(spec) {
		t.Errorf("still there: %+v", s)
	}
}
