package seedtest

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// Value returns a random JSON value, nested no deeper than depth. It chooses strings and
// numbers from a few, so that they are often equal, and are on both sides of limits. Few are at the limits of
// Go's numbers.
func Value(random *rand.Rand, depth int) any {
	switch n := random.IntN(9); {
	case n < 3:
		return Pick(random, "", "a", "ab", "abcd", "A", "x", "yy", "2006-01-02", "ä", "äöü")
	case n < 5:
		if random.IntN(20) == 0 {
			return Pick[int64](random, math.MaxInt32+1, math.MinInt32-1, 1<<53+1, math.MaxInt64, math.MinInt64)
		}
		return int64(random.IntN(5))
	case n == 5:
		if random.IntN(8) == 0 {
			return Pick(random, math.Copysign(0, -1), 1e3, 1e21, 1<<63, math.MaxFloat64, 5e-324)
		}
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

// OddNumbers are the texts of numbers that code which reads them into Go types may change or accept by mistake: they are at and
// beyond the limits of Go's integers, or have a form that encoding/json does not print.
var OddNumbers = []string{
	"-0", "0.0", "-0.0", "1.0", "2.0", "-1.0", "1.50", "1e0", "1e3", "2E+1", "1e-2", "100e-2", "0.1e1", "1.5", "-1.5",
	"127", "128", "255", "256", "32767", "32768", "65535", "65536", "-1", "-129",
	"2147483647", "2147483648", "-2147483648", "-2147483649", "3000000000", "4294967295", "4294967296", "4294967298",
	"9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
	"18446744073709551615", "18446744073709551616", "18446744073709551618", "100000000000000000000000000000",
	"1e18", "1e19", "1e21", "1.7976931348623157e308", "5e-324", "1e400", "-1e400",
}

// Number returns a number as a decoder of JSON returns it, an int64 or a float64: mostly a small one, else one at the limits of Go's
// numbers, or a whole number that is a float64.
func Number(random *rand.Rand) any {
	switch random.IntN(20) {
	case 0:
		return Pick[any](random, int64(math.MaxInt32), int64(math.MinInt32), int64(math.MaxInt32+1), int64(1<<53+1), int64(math.MaxInt64), int64(math.MinInt64))
	case 1:
		return Pick[any](random, math.Copysign(0, -1), 0.0, 1.0, -1.0, 1e3, 1e21, float64(1<<53), float64(1<<63), math.MaxFloat64, 5e-324)
	}
	return Pick[any](random, int64(0), int64(1), int64(2), int64(-1), int64(30000000), 1.5, 2.0)
}

// Text returns a JSON text of a value, with a random form of white space and strings. One number in four is an odd one in place of the
// number that the value has.
func Text(random *rand.Rand, value any) string {
	w := textWriter{Rand: random}
	w.value(value)
	return w.String()
}

type textWriter struct {
	*rand.Rand
	strings.Builder
}

func (w *textWriter) space() {
	if w.IntN(8) == 0 {
		w.WriteString(Pick(w, " ", "\n", "\t", "  \r\n"))
	}
}

func (w *textWriter) value(value any) {
	w.space()
	switch v := value.(type) {
	case map[string]any:
		w.WriteByte('{')
		for i, name := range slices.Sorted(maps.Keys(v)) {
			w.comma(i)
			w.space()
			w.string(name)
			w.space()
			w.WriteByte(':')
			w.value(v[name])
		}
		w.space()
		w.WriteByte('}')
	case []any:
		w.WriteByte('[')
		for i, item := range v {
			w.comma(i)
			w.value(item)
		}
		w.space()
		w.WriteByte(']')
	case string:
		w.string(v)
	case int64, float64:
		if w.IntN(4) == 0 {
			w.WriteString(Pick(w, OddNumbers...))
			break
		}
		fmt.Fprint(w, v)
	case nil:
		w.WriteString("null")
	default:
		fmt.Fprint(w, v)
	}
	w.space()
}

func (w *textWriter) comma(i int) {
	if i > 0 {
		w.WriteByte(',')
	}
}

// string prints a text with escapes that encoding/json does not need.
func (w *textWriter) string(s string) {
	w.WriteByte('"')
	for _, r := range s {
		switch {
		case r < ' ' || r == '"' || r == '\\' || r < 0x10000 && w.IntN(30) == 0:
			fmt.Fprintf(w, `\u%04x`, r)
		default:
			w.WriteRune(r)
		}
	}
	w.WriteByte('"')
}
