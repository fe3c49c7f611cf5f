package json

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/fakecluster/fakecluster/internal/seedtest"
)

// randomValue is a value of any type; strings and numbers are from few, so that
// limits are met from both sides.
func randomValue(r *rand.Rand, depth int) any {
	texts := []string{"", "a", "ab", "abcd", "A", "x", "yy", "2006-01-02", "ä", "äöü"}
	switch n := r.IntN(9); {
	case n < 3:
		return texts[r.IntN(len(texts))]
	case n < 5:
		return int64(r.IntN(5))
	case n == 5:
		return []float64{0.5, 1.5, 2, 2.5}[r.IntN(4)]
	case n == 6:
		return []any{nil, true, false}[r.IntN(3)]
	case n == 7 && depth > 0:
		list := make([]any, r.IntN(4))
		for i := range list {
			list[i] = randomValue(r, depth-1)
		}
		return list
	case depth > 0:
		return randomMap(r, depth-1)
	}
	return "a"
}

func randomMap(r *rand.Rand, depth int) map[string]any {
	m := map[string]any{}
	for range r.IntN(5) {
		m[string(rune('a'+r.IntN(16)))] = randomValue(r, depth)
	}
	return m
}

func TestObjectsAreEncodedAsTheLibraryEncodesThem(t *testing.T) {
	r := seedtest.Rand(t)
	var every strings.Builder
	for c := range 256 {
		every.WriteString(string([]byte{byte(c), 'a'}))
		every.WriteRune(rune(c))
	}
	odd := []any{"<&>", every.String(), "a\u2029b\u2028", "\u202a\U0001f600", "\u2028", "\x00\x1f\x7f\b\f\n\r\t", `"\`, "\xff", "日本", 1e21, 1e-7, 0.1, int64(-1 << 63), json.Number("12"),
		map[string]any(nil), []any(nil), map[string]any{"<": "a", "é": "b"}}
	for range 20_000 {
		m := randomMap(r, 3)
		m[fmt.Sprint(odd[r.IntN(6)])] = odd[r.IntN(len(odd))]
		want, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Encode(m)
		if err != nil || string(got) != string(want) {
			t.Fatalf("got %s, %v, want %s", got, err, want)
		}
	}
	if _, err := Encode(map[string]any{"a": math.NaN()}); err == nil {
		t.Error("NaN is encoded")
	}
}
