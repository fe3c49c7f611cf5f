package scenarios

import (
	"math"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// diff says where got is not what want asks for, as (-want +got); it is empty where
// it is. want is a resolved tree, got a JSON value.
func diff(want, got any) string {
	w, g := compared(want, got)
	// cmp writes some of its spaces as non-breaking ones, and not always the same,
	// so that nobody depends on its output. A golden file has to.
	return strings.ReplaceAll(cmp.Diff(w, g), "\u00a0", " ")
}

// compared returns two JSON values, equal if and only if got is as want asks. They
// hold what want speaks of and no more, so that their difference shows nothing else:
//
//   - of a mapping, the fields that want names; of one marked !only, all;
//   - of a list, every item, each compared to the item in its place;
//   - a field marked !absent only if got has it, so that it shows as a surplus;
//   - a field marked !present as got has it, or as the mark if it is missing.
func compared(want, got any) (w, g any) {
	switch want := want.(type) {
	case present:
		return got, got
	case only:
		return comparedFields(want.fields, got, true)
	case map[string]any:
		return comparedFields(want, got, false)
	case []any:
		items, ok := got.([]any)
		if !ok {
			return plain(want), got
		}
		return comparedItems(want, items)
	case string:
		if text, ok := got.(string); ok && text != want && !strings.Contains(want+text, "\n") {
			return line{want}, line{text}
		}
		return want, got
	default:
		return number(want), number(got)
	}
}

// line is a text of one line, in a difference. Its methods make go-cmp show it whole,
// as s"...": of two texts alike, which most error messages are, it shows scattered
// letters otherwise.
type line struct{ text string }

func (l line) Equal(other line) bool { return l == other }
func (l line) String() string        { return l.text }

func comparedFields(want map[string]any, got any, all bool) (w, g any) {
	gotFields, ok := got.(map[string]any)
	if !ok {
		return plain(want), got
	}
	wantSide, gotSide := map[string]any{}, map[string]any{}
	for name, wantField := range want {
		gotField, there := gotFields[name]
		_, gone := wantField.(absent)
		switch {
		case there && gone:
			gotSide[name] = gotField
		case there:
			wantSide[name], gotSide[name] = compared(wantField, gotField)
		case !gone:
			wantSide[name] = plain(wantField)
		}
	}
	for name, gotField := range gotFields {
		if _, named := want[name]; all && !named {
			gotSide[name] = gotField
		}
	}
	return wantSide, gotSide
}

func comparedItems(want, got []any) (w, g any) {
	wantSide := make([]any, len(want))
	gotSide := make([]any, len(got))
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(got):
			wantSide[i] = plain(want[i])
		case i >= len(want):
			gotSide[i] = got[i]
		default:
			wantSide[i], gotSide[i] = compared(want[i], got[i])
		}
	}
	return wantSide, gotSide
}

// number makes one number of 1 and 1.0, which in JSON are the same.
func number(value any) any {
	if f, ok := value.(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f)
	}
	return value
}
