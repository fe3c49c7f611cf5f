package metadata

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

func TestGetFindsWhatGJSONFindsInTheMetadata(t *testing.T) {
	r := seedtest.Rand(t)
	quick := 0
	texts := []string{`"kind":"Pod"`, `"kind":""`, `"kind":"metadata"`, `"apiVersion":"v1"`, `"apiVersion":"\","`, `"apiVersion":"\\"`, `"a\"":"b"`}
	fields := []string{`"metadata":{"name":"a","labels":{"app":"x,\"y\""}}`, `"metadata":{"name":"a"}`, `"metadata":{}`, `"metadata":null`, `"metadata":"name"`,
		`"data":{"metadata":{"labels":{"no":"x"}}}`, `"spec":{"a":"b","metadata":{"name":"no","labels":{}}}`, `"size":1`, `"items":[]`}
	for range 20_000 {
		text := "{"
		for n := range r.IntN(5) {
			if n > 0 {
				text += ","
			}
			chosen := fields
			if n < 2 && r.IntN(4) > 0 { // as stored objects begin
				chosen = texts
			}
			text += chosen[r.IntN(len(chosen))]
		}
		text += "}"
		if !json.Valid([]byte(text)) {
			t.Fatal("not JSON:", text)
		}
		if r.IntN(20) == 0 {
			text = text[:r.IntN(len(text))]
		}
		if _, ok := begin(text); ok {
			quick++
		}
		for _, path := range []string{"name", "labels", "labels.app", "deletionTimestamp"} {
			want, got := gjson.Get(text, "metadata").Get(path), Get(text, path)
			want.Index, got.Index = 0, 0
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s of %s (-want +got):\n%s", path, text, diff)
			}
		}
	}
	if quick < 200 {
		t.Errorf("%d texts took the quick way; these are too few for the test to be meaningful", quick)
	}
}

func TestStoredObjectsTakeTheFastPath(t *testing.T) {
	for _, first := range []string{`"kind":"Pod","apiVersion":"v1"`, `"apiVersion":"example.com/v1","kind":"Widget"`} {
		text := fmt.Sprintf(`{%s,"metadata":{"name":"a"},"spec":{}}`, first)
		if from, ok := begin(text); !ok || from != `{"name":"a"},"spec":{}}` {
			t.Errorf("the metadata of %s begins with %q", text, from)
		}
	}
}
