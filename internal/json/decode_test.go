package json

import (
	"encoding/json"
	"reflect"
	"testing"

	kjson "sigs.k8s.io/json"

	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

// decodeAsTheLibrary fails the test if Decode accepts a text and reads it
// otherwise than the library.
func decodeAsTheLibrary(t *testing.T, text string) (decoded bool) {
	t.Helper()
	got, decoded := Decode(text)
	var want map[string]any
	complaints, err := kjson.UnmarshalStrict([]byte(text), &want)
	if decoded && (err != nil || len(complaints) > 0 || !reflect.DeepEqual(want, got)) {
		t.Fatalf("%q is read as %#v; the library reads %#v, %v, %v", text, got, want, complaints, err)
	}
	return decoded
}

func TestPlainJSONIsReadAsTheLibraryReadsIt(t *testing.T) {
	for text, plain := range map[string]bool{
		`{}`: true, ` { "a" : [ ] , "b" : { } } ` + "\n\t\r": true, `{"a":"","b":null,"c":true,"d":false}`: true,
		`{"a":[1,-1,0,-0,9223372036854775807,-9223372036854775808,9223372036854775808,1.0,1e3,1E-3,0.1e+2]}`: true,
		`{"é":"日本"}`: true, `{"a":{"a":[{"a":1}]}}`: true,

		`{"a":"\" \\ \/ \b \f \n \r \t \u0041 \u00e9 \u65e5 \ud83d\ude00 \u0000"}`: true, `{"\u0061":"é\n日"}`: true, `{"k:{\"type\":\"Ready\"}":{}}`: true,

		`{"a":1,"a":1}`: false, `{"a":1,"\u0061":1}`: false, `{"a":"\x"}`: false, `{"a":"\u00g0"}`: false, `{"a":"\u00"}`: false, `{"a":"\ud83d"}`: false,
		`{"a":"\ud83d\n"}`: false, `{"a":"\ude00\ud83d"}`: false, `{"a":"\ud83d\u0041"}`: false, `{"a":"\`: false, `{"a":"\"}`: false, "{\"a\":\"\\n\n\"}": false, "{\"a\":\"\\n\xff\"}": false,
		"{\"a\":\"\n\"}": false, "{\"a\":\"\xff\"}": false, `{"a":1e400}`: false,
		``: false, `null`: false, `[]`: false, `{`: false, `{"a"`: false, `{"a":`: false, `{"a":1`: false, `{"a":1,`: false, `{"a":1,}`: false, `{,}`: false,
		`{"a":[1,]}`: false, `{"a":[`: false, `{"a":01}`: false, `{"a":1.}`: false, `{"a":.1}`: false, `{"a":-}`: false, `{"a":1e}`: false, `{"a":+1}`: false,
		`{"a":tru}`: false, `{"a":nul}`: false, `{"a":1}x`: false, `{"a":1}{}`: false, `{a:1}`: false, `{"a" 1}`: false, `{"a":"`: false, `{"a":1 2}`: false,
	} {
		if decoded := decodeAsTheLibrary(t, text); decoded != plain {
			t.Errorf("%q is decoded: %v", text, decoded)
		}
	}
}

func TestEncodedObjectsAreReadAsTheLibraryReadsThem(t *testing.T) {
	r, decoded := seedtest.Rand(t), 0
	for range 10_000 {
		text, err := json.Marshal(seedtest.Object(r, 4))
		if err != nil {
			t.Fatal(err)
		}
		if decodeAsTheLibrary(t, string(text)) {
			decoded++
		}
		broken := []byte(string(text))
		broken[r.IntN(len(broken))] = `{}[]",:0 e\`[r.IntN(11)]
		decodeAsTheLibrary(t, string(broken))
	}
	if decoded < 9_000 {
		t.Errorf("%d are decoded", decoded)
	}
}

func FuzzPlainJSON(f *testing.F) {
	f.Add(`{"apiVersion":"v1","kind":"K","metadata":{"name":"a"},"spec":{"n":1.5,"l":[true,null,-3]}}`)
	f.Fuzz(func(t *testing.T, text string) { decodeAsTheLibrary(t, text) })
}
