package crd

import (
	"encoding/json"
	"flag"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	localjson "github.com/fakecluster/fakecluster/internal/json"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/schema"
	"github.com/fakecluster/fakecluster/internal/testing/schematest"
	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

var coercions = flag.Int("coercions", 4000, "how many random objects are coerced as upstream does it")

// coerceAsUpstream does what upstream's decoder of custom resources does, one walk after
// the other. Preserve is spec.preserveUnknownFields.
func coerceAsUpstream(u map[string]any, structural *structuralschema.Structural, preserve bool, o coerceOptions) ([]string, error) {
	metadata, found, unknown, err := objectmeta.GetObjectMetaWithOptions(u, objectmeta.ObjectMetaOptions{DropMalformedFields: o.stored, ReturnUnknownFieldPaths: o.reportUnknown})
	if err != nil {
		return nil, err
	}
	if !preserve {
		unknown = append(unknown, pruning.PruneWithOptions(u, structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: o.reportUnknown})...)
		defaulting.PruneNonNullableNullsWithoutDefaults(u, structural)
	}
	invalid, embedded := objectmeta.CoerceWithOptions(nil, u, structural, false, objectmeta.CoerceOptions{DropInvalidFields: o.stored, ReturnUnknownFieldPaths: o.reportUnknown})
	if invalid != nil {
		return nil, invalid
	}
	unknown = append(unknown, embedded...)
	if found {
		if o.stored && metadata.Generation == 0 {
			metadata.Generation = 1
		}
		if err := objectmeta.SetObjectMeta(u, metadata); err != nil {
			return nil, err
		}
	}
	if o.setDefaults {
		defaulting.Default(u, structural)
	}
	return unknown, nil
}

func TestObjectsAreCoercedAsUpstreamDoesIt(t *testing.T) {
	g := schematest.Generator{Rand: seedtest.Rand(t)}
	embedded, refused, changed := 0, 0, 0
	for n := 0; n < *coercions; {
		s := schematest.NewSchema(t, g.Schema())
		if s == nil {
			continue
		}
		compiled, err := compileSchema(s.Props, false)
		if err != nil {
			t.Fatal(err)
		}
		kind := runtimeschema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}
		c := &codec{kind: kind, schemas: map[string]*compiledSchema{"v1": compiled}}
		for range 10 {
			n++
			obj := g.Object(s.Props, g.IntN(20))
			o := coerceOptions{stored: g.IntN(2) == 0, reportUnknown: g.IntN(2) == 0, setDefaults: g.IntN(4) > 0}
			want, got := runtime.DeepCopyJSON(obj), &unstructured.Unstructured{Object: runtime.DeepCopyJSON(obj)}
			wantUnknown, wantErr := coerceAsUpstream(want, compiled.structural, false, o)
			found, err := c.coerce(got, o)
			if compiled.node.HasEmbedded() {
				embedded++
			}
			if wantErr != nil {
				refused++
				if err == nil {
					t.Fatalf("%+v: upstream refuses %v: %v; schema:\n%s", o, obj, wantErr, s)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%+v: %v is refused: %v; schema:\n%s", o, obj, err, s)
			}
			if !reflect.DeepEqual(want, obj) {
				changed++
			}
			if diff := cmp.Diff(want, got.Object); diff != "" {
				t.Fatalf("%+v: %v becomes (-upstream +here):\n%s\nschema:\n%s", o, obj, diff, s)
			}
			slices.Sort(wantUnknown)
			slices.Sort(found.Unknown)
			if !slices.Equal(wantUnknown, found.Unknown) {
				t.Fatalf("%+v: %v: unknown are %v, upstream says %v; schema:\n%s", o, obj, found.Unknown, wantUnknown, s)
			}
		}
	}
	what := fmt.Sprintf("%d objects of schemas with embedded resources, %d refused, %d changed", embedded, refused, changed)
	if t.Log(what); embedded < 100 || refused < 20 || changed < 500 {
		t.Errorf("%s: the test shows little", what)
	}
}

// TestObjectsAreStoredAsUpstreamReadsThem compares the text that is stored of an object, which admission or an apply may have left
// with unknown fields, nulls and odd metadata, with what a real server reads of it.
func TestObjectsAreStoredAsUpstreamReadsThem(t *testing.T) {
	g := schematest.Generator{Rand: seedtest.Rand(t)}
	changed, unchanged, kept := 0, 0, 0
	for n := 0; n < *coercions; {
		s := schematest.NewSchema(t, g.Schema())
		if s == nil {
			continue
		}
		compiled, err := compileSchema(s.Props, false)
		if err != nil {
			t.Fatal(err)
		}
		kind := runtimeschema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}
		c := &codec{kind: kind, schemas: map[string]*compiledSchema{"v1": compiled}, preserve: g.IntN(10) == 0}
		for range 10 {
			n++
			u := &unstructured.Unstructured{Object: g.Object(s.Props, seedtest.Pick(g, 0, 0, 20))}
			if _, ok := u.Object["metadata"].(map[string]any); ok && g.IntN(2) == 0 {
				u.SetGeneration(1)
			}
			if g.IntN(3) > 0 { // as it has been decoded
				if _, err := c.coerce(u, coerceOptions{setDefaults: true}); err != nil {
					continue
				}
			}
			facts := schema.Parts{}
			if g.IntN(2) == 0 {
				facts = compiled.node.Normalize(u.Object, schema.Walk{Check: requiredFacts}).Parts
			}
			filled, isKept, err := compareStored(c, u, facts)
			if err != nil {
				t.Fatalf("%v\nschema:\n%s", err, s)
			}
			if filled {
				changed++
			} else {
				unchanged++
			}
			if isKept {
				kept++
			}
		}
	}
	what := fmt.Sprintf("%d are read otherwise, %d as they were, %d objects are kept", changed, unchanged, kept)
	if t.Log(what); changed < 500 || unchanged < 500 || kept < 500 {
		t.Errorf("%s: the test shows little", what)
	}
}

// compareStored compares what is stored of an object with what a real server reads of it.
func compareStored(c *codec, u *unstructured.Unstructured, facts schema.Parts) (filled, kept bool, err error) {
	raw, err := json.Marshal(u.Object)
	if err != nil {
		return false, false, err
	}
	var want map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &want); err != nil {
		return false, false, err
	}
	for _, o := range []coerceOptions{{stored: true, setDefaults: true}, {}} {
		if _, wantErr := coerceAsUpstream(want, c.schemas[c.kind.Version].structural, c.preserve, o); wantErr != nil {
			if _, err := c.EncodeToStore(resource.Decoded{Object: u.DeepCopy(), Facts: facts}); err == nil {
				return false, false, fmt.Errorf("%s is stored, but upstream cannot read it: %w", raw, wantErr)
			}
			return false, false, nil
		}
	}
	text, _, err := localjson.EncodeToStore(want) // a default is -0.0 in this test alone: definitions are read like other objects
	if err != nil {
		return false, false, err
	}
	encoded, err := c.EncodeToStore(resource.Decoded{Object: u.DeepCopy(), Facts: facts})
	if err != nil {
		return false, false, err
	}
	if diff := cmp.Diff(string(text), encoded.Text); diff != "" {
		return false, false, fmt.Errorf("%s is stored as (-upstream +here):\n%s", raw, diff)
	}
	if filled = string(text) != string(raw); filled != encoded.Filled {
		return false, false, fmt.Errorf("filled is %v, want %v, for %s", encoded.Filled, filled, raw)
	}
	if s := encoded.Stored.Object; s != nil {
		if kept = true; !reflect.DeepEqual(want, s.(*unstructured.Unstructured).Object) {
			return false, false, fmt.Errorf("the object of %s (-as it is read +stored):\n%s", raw, cmp.Diff(want, s.(*unstructured.Unstructured).Object))
		}
	}
	return filled, kept, nil
}
