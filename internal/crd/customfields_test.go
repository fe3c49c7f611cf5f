package crd

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/resource"
)

func thing(uid string, fields map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: fields}
	u.Object["apiVersion"], u.Object["kind"] = "example.com/v1", "Thing"
	u.Object["metadata"] = map[string]any{"name": "a", "namespace": "b", "uid": uid}
	return u
}

func TestAnApplyAltersNeitherTheObjectNorTheConfiguration(t *testing.T) {
	v, _ := shortcutVersion(t)
	now := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	live, _, err := v.FieldManager.Update(resource.Decoded{Object: v.Codec.New()}, thing("u", map[string]any{"a": "x", "h": map[string]any{"x": int64(1)}}), "m", now)
	if err != nil {
		t.Fatal(err)
	}
	config := thing("", map[string]any{"h": map[string]any{"y": int64(2)}})
	delete(config.Object["metadata"].(map[string]any), "uid")
	liveBefore, configBefore := live.DeepCopyObject(), config.DeepCopy()
	applied, _, err := v.FieldManager.Apply(resource.Decoded{Object: live}, config, "n", false, now)
	if err != nil {
		t.Fatal(err)
	}
	// What later stages of a write change in the outcome is not seen in either.
	scribble(applied.(*unstructured.Unstructured).Object)
	if diff := cmp.Diff([]runtime.Object{liveBefore, configBefore}, []runtime.Object{live, config}); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

// scribble changes every map of an object except the one with the owners.
func scribble(m map[string]any) {
	for name, value := range m {
		if inner, ok := value.(map[string]any); ok && name != "managedFields" {
			scribble(inner)
		}
	}
	m["scribbled"] = true
}
