package write

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/handlers/fieldmanager"

	"github.com/fakecluster/fakecluster/internal/resource"
)

func TestTimesOfOwnersAreKeptAsUpstreamKeepsThem(t *testing.T) {
	const early, late = "2026-01-02T03:04:05Z", "2026-02-03T04:05:06Z"
	owner := func(manager, time string) map[string]any {
		return map[string]any{
			"manager": manager, "operation": "Update", "apiVersion": "example.com/v1", "time": time,
			"fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:spec": map[string]any{}},
		}
	}
	object := func(labels any, spec any, owners ...any) map[string]any {
		m := map[string]any{"name": "a", "resourceVersion": "7"}
		if labels != nil {
			m["labels"] = labels
		}
		if owners != nil {
			m["managedFields"] = owners
		}
		return map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": m, "spec": spec}
	}
	labels := map[string]any{"a": "b"}
	for rule, test := range map[string]struct {
		after, before map[string]any
		kept          bool
	}{
		"nothing but a time has changed": {object(labels, "x", owner("m", late)), object(labels, "x", owner("m", early)), true},
		"of several owners one has a new time": {
			object(nil, "x", owner("m", early), owner("n", late)), object(nil, "x", owner("m", early), owner("n", early)), true,
		},
		"the spec has changed":       {object(labels, "y", owner("m", late)), object(labels, "x", owner("m", early)), false},
		"a label has changed":        {object(map[string]any{"a": "c"}, "x", owner("m", late)), object(labels, "x", owner("m", early)), false},
		"labels have come":           {object(labels, "x", owner("m", late)), object(nil, "x", owner("m", early)), false},
		"a field of the object went": {object(nil, nil, owner("m", late)), object(nil, "x", owner("m", early)), false},
		"another owner has come":     {object(nil, "x", owner("m", late), owner("n", late)), object(nil, "x", owner("m", early)), false},
		"the owner is another":       {object(nil, "x", owner("n", late)), object(nil, "x", owner("m", early)), false},
		"there are no owners":        {object(nil, "x"), object(nil, "x"), false},
		"the owners are gone":        {object(nil, "x"), object(nil, "x", owner("m", early)), false},
	} {
		t.Run(rule, func(t *testing.T) {
			after := &unstructured.Unstructured{Object: test.after}
			before := &unstructured.Unstructured{Object: test.before}
			sent := after.DeepCopy()
			want, err := fieldmanager.IgnoreManagedFieldsTimestampsTransformer(t.Context(), after.DeepCopy(), before.DeepCopy())
			if err != nil {
				t.Fatal(err)
			}
			got, err := attempt{ctx: t.Context(), version: &resource.Version{}}.keepTimestamps(after, before)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-upstream +ours:\n%s", diff)
			}
			if kept := !cmp.Equal(runtime.Object(sent), got); kept != test.kept {
				t.Errorf("kept is %t, want %t", kept, test.kept)
			}
		})
	}
}
