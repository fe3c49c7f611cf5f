package crd

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// readsBack may decline; what it accepts must be what reading the JSON gives.
func TestWhatReadsBack(t *testing.T) {
	for _, test := range []struct {
		name  string
		value any
		want  bool
	}{
		{"what JSON has", []any{nil, true, int64(-1), 1.5, "ü<>\u2028\x00", map[string]any{"a": []any{}}, map[string]any{}}, true},
		{"a whole number becomes an integer", 1.0, false},
		{"a large whole number", 1e300, false},
		{"minus zero becomes zero", math.Copysign(0, -1), false},
		{"a small number", 1e-300, true},
		{"a text that is not UTF-8", "a\xff", false},
		{"a name that is not UTF-8", map[string]any{"a\xff": nil}, false},
		{"a map that is nil becomes null", map[string]any(nil), false},
		{"a list that is nil becomes null", []any(nil), false},
		{"a type that JSON does not have", int32(1), false},
		{"something deep inside", map[string]any{"a": []any{map[string]any{"b": 2.0}}}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := readsBack(test.value); got != test.want {
				t.Errorf("got %v", got)
			}
			if !test.want {
				return
			}
			text, err := json.Marshal(test.value)
			if err != nil {
				t.Fatal(err)
			}
			var got any
			if err := utiljson.Unmarshal(text, &got); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, test.value) {
				t.Errorf("%#v became %#v", test.value, got)
			}
		})
	}
}
