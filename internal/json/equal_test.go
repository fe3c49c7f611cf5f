package json

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

func TestEqualMatchesTheLibraries(t *testing.T) {
	r := seedtest.Rand(t)
	// Values that differ in what the two kinds of equality see in another way.
	special := []any{
		nil, map[string]any(nil), map[string]any{}, []any(nil), []any{}, int64(0), float64(0), "", false, int32(0), []string{}, []string(nil),
	}
	check := func(a, b any) {
		t.Helper()
		if got, want := Equal(a, b), reflect.DeepEqual(a, b); got != want {
			t.Errorf("Equal(%#v, %#v) is %t, want %t", a, b, got, want)
		}
		if got, want := SemanticallyEqual(a, b), equality.Semantic.DeepEqual(a, b); got != want {
			t.Errorf("SemanticallyEqual(%#v, %#v) is %t, want %t", a, b, got, want)
		}
	}
	for _, a := range special {
		for _, b := range special {
			check(a, b)
			check(map[string]any{"x": a}, map[string]any{"x": b})
			check([]any{a}, []any{b})
		}
	}
	equal := 0
	for range 5_000 {
		a := seedtest.Object(r, 3)
		b := runtime.DeepCopyJSON(a)
		check(a, b)
		for name := range b {
			if r.IntN(2) == 0 {
				b[name] = seedtest.Value(r, 2)
			}
			break
		}
		check(a, b)
		if Equal(a, b) {
			equal++
		}
	}
	if equal < 500 || equal > 4_900 {
		t.Errorf("of 5000 pairs %d are equal: the test shows little", equal)
	}
}

func TestEqualExceptComparesAllOtherFields(t *testing.T) {
	for rule, test := range map[string]struct {
		a, b map[string]any
		want bool
	}{
		"the value of the field does not matter":      {map[string]any{"x": "1", "y": "2"}, map[string]any{"x": "3", "y": "2"}, true},
		"the value of another field does":             {map[string]any{"x": "1", "y": "2"}, map[string]any{"x": "1", "y": "3"}, false},
		"the field has to be in both":                 {map[string]any{"x": "1"}, map[string]any{"y": "1"}, false},
		"a field more is a difference":                {map[string]any{"x": "1"}, map[string]any{"x": "1", "y": "2"}, false},
		"an empty map is what a map that is nil is":   {map[string]any{"y": map[string]any{}}, map[string]any{"y": map[string]any(nil)}, true},
		"a field that is null is not one that is not": {map[string]any{"y": nil}, map[string]any{"z": nil}, false},
	} {
		if got := EqualExcept("x", test.a, test.b); got != test.want {
			t.Errorf("%s: %t, want %t", rule, got, test.want)
		}
	}
}
