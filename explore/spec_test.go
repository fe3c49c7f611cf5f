package explore

import "testing"

// What the user has set and the operator has written anew in other words is not changed. A list may become longer.
func TestChangesOfWhatTheUserHasSet(t *testing.T) {
	type object = map[string]any
	for name, tt := range map[string]struct {
		wanted, before, after object
		want                  string
	}{
		"the same":                      {object{"a": int64(1)}, object{"a": int64(1)}, object{"a": float64(1)}, ""},
		"another value":                 {object{"a": object{"b": int64(1)}}, object{"a": object{"b": int64(1)}}, object{"a": object{"b": int64(2)}}, "/spec/a/b"},
		"a value is removed":            {object{"a": "x"}, object{"a": "x"}, object{}, "/spec/a"},
		"a zero is removed":             {object{"a": false, "b": object{"c": ""}}, object{"a": false, "b": object{"c": ""}}, object{}, ""},
		"a zero is replaced":            {object{"a": false}, object{"a": false}, object{"a": true}, "/spec/a"},
		"a default that the user wants": {object{"a": nil}, object{"a": int64(1)}, object{"a": int64(2)}, "/spec/a"},
		"a default is replaced":         {object{}, object{"a": int64(1)}, object{"a": int64(2)}, ""},
		"it was never stored":           {object{"a": int64(1)}, object{}, object{}, ""},
		"a quantity":                    {object{"a": "1000m"}, object{"a": "1000m"}, object{"a": "1"}, ""},
		"another quantity":              {object{"a": "1000m"}, object{"a": "1000m"}, object{"a": "2"}, "/spec/a"},
		"a duration":                    {object{"a": "60s"}, object{"a": "60s"}, object{"a": "1m0s"}, ""},
		"a time":                        {object{"a": "2030-01-02T03:04:05.0Z"}, object{"a": "2030-01-02T03:04:05.0Z"}, object{"a": "2030-01-02T03:04:05Z"}, ""},
		"one item more":                 {object{"a": []any{"x"}}, object{"a": []any{"x"}}, object{"a": []any{"x", "y"}}, ""},
		"one item less":                 {object{"a": []any{"x", "y"}}, object{"a": []any{"x", "y"}}, object{"a": []any{"y"}}, "/spec/a"},
		"an item with more in it":       {object{"a": []any{object{"n": "x"}}}, object{"a": []any{object{"n": "x"}}}, object{"a": []any{object{"n": "x", "m": "y"}}}, ""},
		"another item":                  {object{"a": []any{object{"n": "x"}}}, object{"a": []any{object{"n": "x"}}}, object{"a": []any{object{"n": "y"}}}, "/spec/a/0/n"},
	} {
		t.Run(name, func(t *testing.T) {
			with := func(spec object) object { return object{"spec": spec} }
			if got := changedOf(with(tt.wanted), with(tt.before), with(tt.after)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	for name, tt := range map[string]struct {
		wanted, after object
		want          string
	}{
		"another value":       {object{"example.com/a": "x"}, object{"example.com/a": "y"}, "/metadata/annotations/example.com~1a"},
		"a request is done":   {object{"example.com/a": "x"}, object{}, ""},
		"it is nobody else's": {object{"explore.example.com/annotation": "x"}, object{}, "/metadata/annotations/explore.example.com~1annotation"},
		"one more":            {object{"example.com/a": "x"}, object{"example.com/a": "x", "b": "y"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			with := func(annotations object) object { return object{"metadata": object{"annotations": annotations}} }
			if got := changedOf(with(tt.wanted), with(tt.wanted), with(tt.after)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
