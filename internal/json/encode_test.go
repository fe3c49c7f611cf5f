package json

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

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
		m := seedtest.Object(r, 3)
		m[fmt.Sprint(odd[r.IntN(6)])] = odd[r.IntN(len(odd))]
		want, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		// For bytes that are not UTF-8, Go 1.27 writes the character instead of its escape.
		want = bytes.ReplaceAll(want, []byte("\ufffd"), []byte(`\ufffd`))
		got, err := Encode(m)
		if err != nil || string(got) != string(want) {
			t.Fatalf("got %s, %v, want %s", got, err, want)
		}
	}
	if _, err := Encode(map[string]any{"a": math.NaN()}); err == nil {
		t.Error("NaN is encoded")
	}
}
