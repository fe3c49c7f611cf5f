package crd

import (
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

	"github.com/fakecluster/fakecluster/internal/testing/schematest"
	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

var coercions = flag.Int("coercions", 4000, "how many random objects are coerced as upstream does it")

// coerceAsUpstream does what upstream's decoder of custom resources does, one walk after
// the other.
func coerceAsUpstream(u map[string]any, structural *structuralschema.Structural, o coerceOptions) ([]string, error) {
	metadata, found, unknown, err := objectmeta.GetObjectMetaWithOptions(u, objectmeta.ObjectMetaOptions{DropMalformedFields: o.stored, ReturnUnknownFieldPaths: o.reportUnknown})
	if err != nil {
		return nil, err
	}
	unknown = append(unknown, pruning.PruneWithOptions(u, structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: o.reportUnknown})...)
	defaulting.PruneNonNullableNullsWithoutDefaults(u, structural)
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
			wantUnknown, wantErr := coerceAsUpstream(want, compiled.structural, o)
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
