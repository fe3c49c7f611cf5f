package seedtest

import "math/rand/v2"

// Value returns a random JSON value, nested no deeper than depth. It chooses strings and
// numbers from a few, so that they are often equal, and are on both sides of limits.
func Value(random *rand.Rand, depth int) any {
	switch n := random.IntN(9); {
	case n < 3:
		return Pick(random, "", "a", "ab", "abcd", "A", "x", "yy", "2006-01-02", "ä", "äöü")
	case n < 5:
		return int64(random.IntN(5))
	case n == 5:
		return Pick(random, 0.5, 1.5, 2, 2.5)
	case n == 6:
		return Pick[any](random, nil, true, false)
	case n == 7 && depth > 0:
		list := make([]any, random.IntN(4))
		for i := range list {
			list[i] = Value(random, depth-1)
		}
		return list
	case depth > 0:
		return Object(random, depth-1)
	}
	return "a"
}

// Object returns a random JSON object of up to four fields, whose names are from "a" to "p".
func Object(random *rand.Rand, depth int) map[string]any {
	m := map[string]any{}
	for range random.IntN(5) {
		m[string(rune('a'+random.IntN(16)))] = Value(random, depth)
	}
	return m
}
