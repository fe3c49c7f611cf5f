package json

import (
	"math"
	"reflect"
	"testing"
)

// Values that are reported as the same must be what reading the text gives.
func TestValuesThatAreReadAsTheyWerePrinted(t *testing.T) {
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
		{"the character that stands for what is not UTF-8", "a\ufffd", true},
		{"a name that is not UTF-8", map[string]any{"a\xff": nil}, false},
		{"a map that is nil becomes null", map[string]any(nil), false},
		{"a list that is nil becomes null", []any(nil), false},
		{"a type that JSON does not have", int32(1), false},
		{"something deep inside", map[string]any{"a": []any{map[string]any{"b": 2.0}}}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			obj := map[string]any{"v": test.value}
			text, same, err := EncodeToStore(obj)
			if err != nil || same != test.want {
				t.Errorf("got %v, %v", same, err)
			}
			if got, ok := Decode(string(text)); ok && same && !reflect.DeepEqual(got, obj) {
				t.Errorf("%#v became %#v", obj, got)
			}
		})
	}
}

func TestMinusZeroIsStoredAsItReads(t *testing.T) {
	obj := map[string]any{"v": []any{math.Copysign(0, -1), 0.0, -0.5}}
	for _, c := range []struct {
		name   string
		encode func(map[string]any) ([]byte, error)
		want   string
	}{
		{"stored", func(m map[string]any) ([]byte, error) { text, _, err := EncodeToStore(m); return text, err }, `{"v":[0,0,-0.5]}`},
		{"as the library encodes it", Encode, `{"v":[-0,0,-0.5]}`},
	} {
		if text, err := c.encode(obj); err != nil || string(text) != c.want {
			t.Errorf("%s: got %s, %v, want %s", c.name, text, err, c.want)
		}
	}
}

func TestTheSameValues(t *testing.T) {
	m, l := map[string]any{"a": "b"}, []any{"a", "b"}
	for rule, c := range map[string]struct {
		a, b any
		want bool
	}{
		"one map":                         {m, m, true},
		"equal maps in two places":        {m, map[string]any{"a": "b"}, false},
		"one list":                        {l, l, true},
		"a part of a list":                {l, l[:1], false},
		"equal lists in two places":       {l, []any{"a", "b"}, false},
		"equal texts":                     {"a", "a", true},
		"other texts":                     {"a", "b", false},
		"an integer and a float":          {int64(1), 1.0, false},
		"no values":                       {nil, nil, true},
		"a map and none":                  {m, nil, false},
		"a list that is nil and an empty": {[]any(nil), []any{}, false},
		"what JSON does not have":         {int32(1), int32(1), false},
	} {
		if got := Same(c.a, c.b); got != c.want {
			t.Errorf("%s: %v", rule, got)
		}
	}
}
