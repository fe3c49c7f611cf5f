package json_test

import (
	stdjson "encoding/json"
	"flag"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/fakecluster/fakecluster/internal/json"
	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

var cases = flag.Int("cases", seedtest.Cases(20_000), "how many `patches` are merged here and by the patch library")

func TestMergePatchReturnsTheBytesOfThePatchLibrary(t *testing.T) {
	r := seedtest.Rand(t)
	merged := 0
	for range *cases {
		before, err := stdjson.Marshal(stdjson.RawMessage(seedtest.Text(r, seedtest.Object(r, 3))))
		if err != nil {
			t.Fatal(err)
		}
		patch := []byte(seedtest.Text(r, seedtest.Object(r, 3)))
		want, err := jsonpatch.MergePatch(before, patch)
		if err != nil {
			t.Fatalf("%s: %v", patch, err)
		}
		got, ok := json.MergePatch(string(before), string(patch))
		if !ok {
			continue
		}
		merged++
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Fatalf("%s patched with %s (-library +here):\n%s", before, patch, diff)
		}
	}
	if merged < *cases*9/10 {
		t.Errorf("%d patches were merged: the test shows little", merged)
	}
}

func TestMergePatchKeepsTheFormOfNumbers(t *testing.T) {
	before := `{"a":{"b":2.0,"c":1e3},"d":9223372036854775808,"e":[{"f":-0.0}]}`
	got, ok := json.MergePatch(before, ` { "a" : { "c" : 1.50 , "<" : "<" } , "g":[ -0.0, null, {"h":null} ], "e": {"i":1E5,"j":null} } `)
	want := `{"a":{"\u003c":"\u003c","b":2.0,"c":1.50},"d":9223372036854775808,"e":{"i":1E5},"g":[-0.0,null,{}]}`
	if !ok || string(got) != want {
		t.Errorf("%v\n%s, want\n%s", ok, got, want)
	}
}

// Values that are JSON, such as the data of a ControllerRevision, are printed with the fields that were sent.
func TestMergePatchTakesTheLastOfFieldsWithOneName(t *testing.T) {
	before := `{"data":{"b":1,"a":{"x":1},"b":{"y":1,"y":2},"a":{"z":1}},"kind":"ControllerRevision"}`
	patch := `{"data":{"a":{"c":1},"d":2}}`
	want, err := jsonpatch.MergePatch([]byte(before), []byte(patch))
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := json.MergePatch(before, patch); !ok || string(got) != string(want) {
		t.Errorf("%v\n%s, want\n%s", ok, got, want)
	}
}

func TestMergePatchTakesPlainPatchesOnly(t *testing.T) {
	for _, patch := range []string{
		``, `null`, `[]`, `1`, `{`, `{}{}`, `{"a":1,"a":2}`, `{"a":[{"b":1,"b":2}]}`, `{"a":1e400}`, `{"a":"\ud800"}`, `{"a":01}`,
		`{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`,
	} {
		if merged, ok := json.MergePatch(`{"a":1}`, patch); ok {
			t.Errorf("%s: merged into %s", patch, merged)
		}
	}
}
