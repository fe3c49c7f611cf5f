package player

import (
	"math"
	"reflect"

	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// Matches reports whether got matches the expectation want. want is a resolved tree, got a JSON value.
func Matches(want, got any) bool {
	w, g := renderedSides(want, got)
	return reflect.DeepEqual(w, g)
}

// renderedSides returns the values of compared, in which each hidden value is replaced by the text that is shown for it.
func renderedSides(want, got any) (w, g any) {
	w, g = compared(want, got)
	return renderRedacted(w), renderRedacted(g)
}

// compared returns two JSON values that are equal if and only if got matches want. They have only the fields in want, so
// that their difference shows nothing else:
//
//   - of a mapping, the fields that want names; of one marked !only, all;
//   - of a list, every item, each compared to the item in its place, or for one marked !unordered to an item that it
//     matches. If the lists differ, both sides have the same length, and missing{} is in the place of an item that one
//     side does not have;
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
		return comparedPairs(want.Items, items, pairUnordered(want.Items, items))
	default:
		return number(want), number(got)
	}
}

// missing is in the place of an item of a list that one side of a difference does not have.
type missing struct{}

func comparedFields(want map[string]any, got any, exact bool) (w, g any) {
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
		if _, named := want[name]; exact && !named {
			gotSide[name] = gotField
		}
	}
	return wantSide, gotSide
}

func comparedItems(want, got []any) (w, g any) {
	if len(want) == len(got) {
		pairs := make([][2]int, len(want))
		for i := range pairs {
			pairs[i] = [2]int{i, i}
		}
		w, g = comparedPairs(want, got, pairs)
		if reflect.DeepEqual(renderRedacted(w), renderRedacted(g)) {
			return w, g
		}
	}
	return comparedPairs(want, got, align(len(want), len(got), func(i, j int) bool { return Matches(want[i], got[j]) }))
}

// comparedPairs compares the items of two lists in pairs. A pair has the index of an item in each list, or -1 for none.
func comparedPairs(want, got []any, pairs [][2]int) (w, g any) {
	wantSide, gotSide := make([]any, len(pairs)), make([]any, len(pairs))
	for i, pair := range pairs {
		switch {
		case pair[1] < 0:
			wantSide[i], gotSide[i] = plain(want[pair[0]]), missing{}
		case pair[0] < 0:
			wantSide[i], gotSide[i] = missing{}, got[pair[1]]
		default:
			wantSide[i], gotSide[i] = compared(want[pair[0]], got[pair[1]])
		}
	}
	// An empty list is shown as a list.
	if len(want) == 0 {
		wantSide = []any{}
	}
	if len(got) == 0 {
		gotSide = []any{}
	}
	return wantSide, gotSide
}

// maxAligned limits the product of the lengths of two lists that align compares item by item.
const maxAligned = 10_000

// align pairs the items of two lists so that as many as possible match, without a change of their order. Between
// those, items that do not match are paired in their order. An item without a partner has -1 in its place.
func align(want, got int, matches func(i, j int) bool) (pairs [][2]int) {
	// longest[i][j] is how many items of want[i:] and got[j:] match.
	var longest [][]int
	same := make([][]bool, want)
	if want*got <= maxAligned {
		longest = make([][]int, want+1)
		for i := range longest {
			longest[i] = make([]int, got+1)
		}
		for i := want - 1; i >= 0; i-- {
			same[i] = make([]bool, got)
			for j := got - 1; j >= 0; j-- {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
				if same[i][j] = matches(i, j); same[i][j] {
					longest[i][j] = max(longest[i][j], longest[i+1][j+1]+1)
				}
			}
		}
	}
	i, j := 0, 0 // what is paired
	pairUpTo := func(toWant, toGot int) {
		for i < toWant || j < toGot {
			pair := [2]int{-1, -1}
			if i < toWant {
				pair[0] = i
				i++
			}
			if j < toGot {
				pair[1] = j
				j++
			}
			pairs = append(pairs, pair)
		}
	}
	for a, b := 0, 0; longest != nil && a < want && b < got; {
		switch {
		case same[a][b] && longest[a][b] == longest[a+1][b+1]+1:
			pairUpTo(a, b)
			pairUpTo(a+1, b+1)
			a, b = a+1, b+1
		case longest[a+1][b] >= longest[a][b+1]:
			a++
		default:
			b++
		}
	}
	pairUpTo(want, got)
	return pairs
}

// pairUnordered pairs as many items as possible that match, in the order of want. The others are paired in their order.
func pairUnordered(want, got []any) (pairs [][2]int) {
	matched := make([]int, len(want)) // of each item of want, the item of got that matches it, or -1
	for w := range matched {
		matched[w] = -1
	}
	var left []int
	for g, w := range partners(want, got) {
		if w >= 0 {
			matched[w] = g
		} else {
			left = append(left, g)
		}
	}
	for w, g := range matched {
		if g < 0 && len(left) > 0 {
			g, left = left[0], left[1:]
		}
		pairs = append(pairs, [2]int{w, g})
	}
	for _, g := range left {
		pairs = append(pairs, [2]int{-1, g})
	}
	return pairs
}

// Arranged returns the items of got in the order of want: as many items as possible have the index of an item of want
// that they match, and the others fill the remaining places.
func Arranged(want, got []any) []any {
	arranged := make([]any, 0, len(got))
	for _, pair := range pairUnordered(want, got) {
		if pair[1] >= 0 {
			arranged = append(arranged, got[pair[1]])
		}
	}
	return arranged
}

// partners returns, for each item of got, the index of the item of want that it matches, or -1. As many items as
// possible have a partner.
func partners(want, got []any) []int {
	partner := make([]int, len(got))
	for i := range partner {
		partner[i] = -1
	}
	// pair finds a partner for want[w], and moves others to another partner for it.
	var pair func(w int, tried []bool) bool
	pair = func(w int, tried []bool) bool {
		for g := range got {
			if tried[g] || !Matches(want[w], got[g]) {
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
	return partner
}

// number converts numbers so that 1 and 1.0, which are equal in JSON, compare as equal.
func number(value any) any {
	if f, ok := value.(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f)
	}
	return value
}
