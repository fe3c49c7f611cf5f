package player

import (
	"math"
	"regexp"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// Diff returns the difference of got from want as (-want +got); it is empty if got matches. want is a resolved tree, got a JSON value.
func Diff(want, got any) string {
	w, g := compared(want, got)
	w, g = renderRedacted(w), renderRedacted(g)
	// To keep programs from depending on its output, cmp writes some spaces as
	// non-breaking ones, and not the same ones each time. A golden file does depend on it.
	text := ofLine.ReplaceAllString(strings.ReplaceAll(cmp.Diff(w, g), "\u00a0", " "), `$1"`)
	return ofLines.ReplaceAllString(text, "${1}string(")
}

// These are how cmp shows lines, which are texts for the reader of the difference. It shows one as
// s"...", and two that differ and stand alone in "player.line(...)".
var (
	ofLine  = regexp.MustCompile(`(?m)(^[-+ ]\s+|":\s+)s"`)
	ofLines = regexp.MustCompile(`(?m)^([-+ ]\s*)player\.line\(`)
)

// compared returns two JSON values, equal if and only if got is as want asks. They
// have only the fields in want, so that their difference shows nothing else:
//
//   - of a mapping, the fields that want names; of one marked !only, all;
//   - of a list, every item, each compared to the item in its place, or for one marked
//     !unordered to an item that it is like;
//   - a field marked !absent only if got has it, so that it shows as a surplus;
//   - a field marked !present as got has it, or as the mark if it is missing.
func compared(want, got any) (w, g any) {
	if h, ok := got.(redacted); ok {
		if _, any := want.(syntax.Present); any {
			return got, got
		}
		return h.sides(plain(want))
	}
	switch want := want.(type) {
	case syntax.Present:
		return got, got
	case syntax.Only:
		return comparedFields(want.Fields, got, true)
	case map[string]any:
		return comparedFields(want, got, false)
	case []any:
		items, ok := got.([]any)
		if !ok {
			return plain(want), got
		}
		return comparedItems(want, items)
	case syntax.Unordered:
		items, ok := got.([]any)
		if !ok {
			return plain(want), got
		}
		return comparedItems(want.Items, Arranged(want.Items, items))
	case string:
		if text, ok := got.(string); ok && text != want && !strings.Contains(want+text, "\n") {
			return line{want}, line{text}
		}
		return want, got
	default:
		return number(want), number(got)
	}
}

// line is a text of one line, in a difference. Its methods make go-cmp show it whole:
// of two texts alike, which most error messages are, it shows scattered letters
// otherwise.
type line struct{ text string }

func (l line) Equal(other line) bool { return l == other }

func (l line) String() string { return l.text }

func comparedFields(want map[string]any, got any, all bool) (w, g any) {
	gotFields, ok := got.(map[string]any)
	if !ok {
		return plain(want), got
	}
	wantSide, gotSide := map[string]any{}, map[string]any{}
	for name, wantField := range want {
		gotField, there := gotFields[name]
		_, gone := wantField.(syntax.Absent)
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

// Arranged returns got in an order in which as many items as possible stand where
// want has an item that they are as; the others fill the places left.
func Arranged(want, got []any) []any {
	partner := make([]int, len(got)) // of each item of got, the item of want it is as, or -1
	for i := range partner {
		partner[i] = -1
	}
	// pair finds a partner for want[w], and moves others to another partner for it.
	var pair func(w int, tried []bool) bool
	pair = func(w int, tried []bool) bool {
		for g := range got {
			if tried[g] || Diff(want[w], got[g]) != "" {
				continue
			}
			tried[g] = true
			if partner[g] < 0 || pair(partner[g], tried) {
				partner[g] = w
				return true
			}
		}
		return false
	}
	for w := range want {
		pair(w, make([]bool, len(got)))
	}
	arranged := make([]any, max(len(want), len(got)))
	taken := make([]bool, len(arranged))
	for g, w := range partner {
		if w >= 0 {
			arranged[w], taken[w] = got[g], true
		}
	}
	var left []any
	for g, w := range partner {
		if w < 0 {
			left = append(left, got[g])
		}
	}
	for i := range arranged {
		if !taken[i] && len(left) > 0 {
			arranged[i], left = left[0], left[1:]
		}
	}
	return arranged[:len(got):len(got)]
}

// number makes one number of 1 and 1.0, which in JSON are the same.
func number(value any) any {
	if f, ok := value.(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f)
	}
	return value
}
