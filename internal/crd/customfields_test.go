package crd

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

func thing(uid string, fields map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: fields}
	u.Object["apiVersion"], u.Object["kind"] = "example.com/v1", "Thing"
	u.Object["metadata"] = map[string]any{"name": "a", "namespace": "b", "uid": uid}
	return u
}

func TestOwnersAreRememberedForTheObjectThatTheyOwn(t *testing.T) {
	v, _ := shortcutVersion(t)
	f := v.FieldManager.(*customFields)
	now := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	live, err := f.Update(v.Codec.New(), thing("u", map[string]any{"a": "x"}), "m", now)
	if err != nil {
		t.Fatal(err)
	}
	next := live.DeepCopyObject().(*unstructured.Unstructured)
	next.Object["a"] = "y"
	if _, err := f.Update(live, next, "n", now); err != nil {
		t.Fatal(err)
	}
	known := f.codec.owners.last["u"]
	if known == nil {
		t.Fatal("the owners are not remembered")
	}
	if got, ok := f.codec.owners.of(next.DeepCopy().Object); !ok || got != known {
		t.Error("equal managedFields are read again")
	}
	if got, ok := f.codec.owners.of(live.(*unstructured.Unstructured).Object); !ok || got == known {
		t.Error("an earlier state of the object has the later owners")
	}
	other := next.DeepCopy()
	other.SetUID("v")
	if got, ok := f.codec.owners.of(other.Object); !ok || got == known {
		t.Error("another object has the same owners")
	}
	for i := range 3 * maxOwners {
		f.codec.owners.remember(thing(fmt.Sprint(i), map[string]any{}).Object, known)
	}
	if n := len(f.codec.owners.last); n > maxOwners {
		t.Errorf("%d objects are remembered, at most %d should be", n, maxOwners)
	}
}

func TestAnApplyAltersNeitherTheObjectNorTheConfiguration(t *testing.T) {
	v, _ := shortcutVersion(t)
	now := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	live, err := v.FieldManager.Update(v.Codec.New(), thing("u", map[string]any{"a": "x", "h": map[string]any{"x": int64(1)}}), "m", now)
	if err != nil {
		t.Fatal(err)
	}
	config := thing("", map[string]any{"h": map[string]any{"y": int64(2)}})
	delete(config.Object["metadata"].(map[string]any), "uid")
	liveBefore, configBefore := live.DeepCopyObject(), config.DeepCopy()
	applied, err := v.FieldManager.Apply(live, config, "n", false, now)
	if err != nil {
		t.Fatal(err)
	}
	// What later stages of a write change in the outcome is not seen in either.
	scribble(applied.(*unstructured.Unstructured).Object)
	if diff := cmp.Diff([]runtime.Object{liveBefore, configBefore}, []runtime.Object{live, config}); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

// scribble changes every map of an object but for who owns what.
func scribble(m map[string]any) {
	for name, value := range m {
		if inner, ok := value.(map[string]any); ok && name != "managedFields" {
			scribble(inner)
		}
	}
	m["scribbled"] = true
}
