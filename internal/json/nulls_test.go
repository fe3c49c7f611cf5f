package json

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDropNulls(t *testing.T) {
	got := map[string]any{"a": nil, "b": map[string]any{"c": nil, "d": ""}, "e": []any{nil, map[string]any{"f": nil, "g": []any{map[string]any{"h": nil}}}}, "i": false}
	DropNulls(got)
	want := map[string]any{"b": map[string]any{"d": ""}, "e": []any{nil, map[string]any{"g": []any{map[string]any{}}}}, "i": false}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
