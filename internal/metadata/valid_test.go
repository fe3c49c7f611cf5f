package metadata

import (
	"maps"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/operation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

// errorsOf returns upstream's errors for metadata; was is nil for a new object.
func errorsOf(t *testing.T, obj, former map[string]any, namespaced bool) field.ErrorList {
	t.Helper()
	path := field.NewPath("metadata")
	op, now, old := operation.Create, &metav1.ObjectMeta{}, (*metav1.ObjectMeta)(nil)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj, now); err != nil {
		return field.ErrorList{field.Invalid(path, obj, err.Error())}
	}
	if former != nil {
		op, old = operation.Update, &metav1.ObjectMeta{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(former, old); err != nil {
			t.Fatalf("%v: %v", former, err)
		}
	}
	return apivalidation.ValidateObjectMetaDeclaratively(t.Context(), op, now, old, namespaced, apivalidation.NameIsDNSSubdomain, path, true)
}

func TestValidMetadataIsValidUpstream(t *testing.T) {
	r := seedtest.Rand(t)
	pick := func(values ...any) any { return values[r.IntN(len(values))] }
	owner := func() any {
		o := map[string]any{"apiVersion": pick("v1", "v1", "apps/v1", "", "a/b/c"), "kind": pick("K", "K", "Event", ""), "name": pick("n", "n", "m", ""), "uid": pick("u", "u", "")}
		if r.IntN(2) == 0 {
			o["controller"] = r.IntN(2) == 0
		}
		return o
	}
	values := map[string]func() any{
		"name":              func() any { return pick("a", "a", "a", "b", "A", "") },
		"namespace":         func() any { return pick("n", "n", "n", "N", "m") },
		"generateName":      func() any { return pick("a-", "A") },
		"uid":               func() any { return pick("u", "u", "v") },
		"resourceVersion":   func() any { return pick("1", "2") },
		"generation":        func() any { return int64(1 + r.IntN(2)) },
		"creationTimestamp": func() any { return pick("2020-01-02T03:04:05Z", "2020-01-02T03:04:06Z") },
		"deletionTimestamp": func() any { return pick("2020-01-02T03:04:05Z", "2020-01-02T03:04:06Z") },
		"labels":            func() any { return map[string]any{"a": pick("b", "b", "b c", "")} },
		"annotations":       func() any { return map[string]any{pick("a", "A/b", "a b").(string): "x y"} },
		"finalizers": func() any {
			return []any{pick("a/b", "c.d/e", "f", "orphan", "foregroundDeletion", "x y"), pick("a/b", "g/h", "orphan")}[:1+r.IntN(2)]
		},
		"ownerReferences": func() any { return []any{owner(), owner()}[:1+r.IntN(2)] },
		"managedFields": func() any {
			m := map[string]any{"manager": pick("m", "m", "a b", int64(5)), "operation": pick("Apply", "Update", "Update", "x")}
			for key, value := range map[string]any{"apiVersion": pick("v1", int64(5)), "fieldsType": pick("FieldsV1", "x"), "fieldsV1": pick(map[string]any{}, "x"),
				"time": pick("2020-01-02T03:04:05Z", "x", int64(5)), "subresource": pick("status", "x"), "other": "x"} {
				if r.IntN(5) == 0 {
					m[key] = value
				}
			}
			return []any{m}
		},
	}
	random := func(like map[string]any) map[string]any {
		m := map[string]any{}
		for _, key := range []string{"name", "namespace", "generateName", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
			"labels", "annotations", "finalizers", "ownerReferences", "managedFields"} {
			always := key == "name" || key == "namespace" || key == "resourceVersion"
			switch {
			case like[key] != nil && r.IntN(6) > 0:
				m[key] = runtime.DeepCopyJSONValue(like[key])
			case always || r.IntN(4) == 0:
				m[key] = values[key]()
			}
		}
		return m
	}
	valid := map[bool]int{}
	for range 8_000 {
		old := random(nil)
		if len(errorsOf(t, old, nil, old["namespace"] != nil)) > 0 {
			continue // it would not have been stored
		}
		if r.IntN(3) == 0 {
			old = nil
		}
		obj, namespaced := random(old), r.IntN(8) > 0
		if old != nil {
			if generation, ok := old["generation"]; ok {
				obj["generation"] = generation
			}
		}
		if r.IntN(4) == 0 { // a webhook may set any value
			keys := slices.Sorted(maps.Keys(values))
			obj[keys[r.IntN(len(keys))]] = pick(int64(5), 5e-324, "x", true, []any{int64(5)}, []any{map[string]any{"uid": int64(5)}}, map[string]any{"a": int64(5)})
		}
		if !IsValid(obj, old, namespaced) {
			continue
		}
		valid[old == nil]++
		if errs := errorsOf(t, obj, old, namespaced); len(errs) > 0 {
			t.Fatalf("%v after %v is found valid, but upstream says %v", obj, old, errs)
		}
	}
	if valid[true] < 50 || valid[false] < 50 {
		t.Fatalf("%d new ones and %d updates are found valid: too few for the test to be meaningful", valid[true], valid[false])
	}
}
