package crd

import (
	"encoding/json"
	"math"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
	"github.com/fakecluster/fakecluster/store"
)

func TestAFieldOfTheBytesIsThatOfTheObject(t *testing.T) {
	v, _ := shortcutVersion(t)
	var declared []apiextensions.SelectableField
	for _, path := range []string{".a", ".b", ".c", ".d", ".f", ".g", ".h", ".i", ".i.a", ".i.b", ".i.i.a", ".l.a", ".l.g", ".h.b", ".metadata.labels.a", ".metadata.name", ".i.0", ".z"} {
		declared = append(declared, apiextensions.SelectableField{JSONPath: path})
	}
	c, r := *v.Codec.(*codec), seedtest.Rand(t)
	var err error
	if c.selectable, err = newSelectableFields(declared); err != nil {
		t.Fatal(err)
	}
	read := map[string]int{}
	for range 20_000 {
		u := &unstructured.Unstructured{Object: seedtest.Object(r, 3)}
		u.Object["apiVersion"], u.Object["kind"] = "example.com/v1", "Thing"
		u.Object["metadata"] = map[string]any{"name": "a.b", "labels": map[string]any{"a": "<x>"}}
		u.Object["c"] = []any{0.5, float64(2), 1e30, -1e-7, int64(-7), int64(1) << 60, int64(0), math.Copysign(0, -1)}[r.IntN(8)]
		text, err := json.Marshal(u.Object)
		if err != nil {
			t.Fatal(err)
		}
		obj, err := c.DecodeStored(store.Record{Value: string(text), Tag: v.Identity})
		if err != nil {
			t.Fatal(err)
		}
		want, err := c.Fields(obj)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range c.selectable {
			if got, ok := c.ReadField(string(text), f.name); ok {
				read[f.name]++
				if got != want[f.name] {
					t.Fatalf("field %s of %s: %q, the object's is %q", f.name, text, got, want[f.name])
				}
			}
		}
	}
	for _, name := range []string{"a", "b", "c", "d", "i.a", "i.i.a", "l.a", "h.b", "metadata.labels.a", "z"} {
		if read[name] < 100 {
			t.Errorf("%s is read %d times: the test shows nothing", name, read[name])
		}
	}
}
