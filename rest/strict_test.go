package rest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

func TestStrictDecodingNamesTheKindOfTheBody(t *testing.T) {
	c := start(t)
	c.must("POST", definitionsPath, scaled)
	c.must("POST", things, `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"t"}}`)
	yaml := http.Header{"Content-Type": {"application/yaml"}}
	const duplicate, missing = `cannot be handled as a Nope: strict decoding error: duplicate field "kind"`, "Object 'apiVersion' is missing in 'object has no apiVersion field'"
	for _, tt := range []struct {
		method, path string
		header       http.Header
		body, want   string
	}{
		{"POST", things, jsonBody, `{"apiVersion":"example.com/v1","kind":"Thing","kind":"Nope","metadata":{"name":"u"}}`, `Nope in version "v1" ` + duplicate},
		{"PUT", things + "/t", jsonBody, `{"apiVersion":"example.com/v1","kind":"Thing","kind":"Nope","metadata":{"name":"t"}}`, `Nope in version "v1" ` + duplicate},
		{"PUT", things + "/t/status", jsonBody, `{"apiVersion":"example.com/v1","kind":"Thing","kind":"Nope","metadata":{"name":"t"}}`, `Nope in version "v1" ` + duplicate},
		{"POST", things, yaml, `{"apiVersion":"example.com/v1","kind":"Thing","kind":"Nope","metadata":{"name":"u"}}`,
			"Nope in version \"v1\" cannot be handled as a Nope: strict decoding error: yaml: unmarshal errors:\n  line 1: key \"kind\" already set in map"},
		{"POST", things, jsonBody, `{"apiVersion":"example.com/v1","kind":"Nope","metadata":{"name":"u","more":1}}`,
			`Nope in version "v1" cannot be handled as a Nope: strict decoding error: unknown field "metadata.more"`},
		{"POST", things, jsonBody, `{"apiVersion":"other/v7","kind":"Thing","metadata":{"name":"u","name":"u"}}`,
			`Thing in version "v7" cannot be handled as a Thing: strict decoding error: duplicate field "metadata.name"`},
		{"POST", things, jsonBody, `{"kind":"Thing","metadata":{"name":"u","name":"u"}}`, missing},
		{"POST", things, jsonBody, `{"apiVersion":"example.com/","kind":"Thing","metadata":{"name":"u","more":1}}`, missing},
		// What is wrong is not only strictness.
		{"POST", things, jsonBody, `{"apiVersion":"example.com/v1","kind":"Nope","metadata":{"name":5}}`,
			`Nope in version "v1" cannot be handled as a Thing: json: cannot unmarshal number into Go struct field ObjectMeta.name of type string`},
		{"POST", things, jsonBody, `{"apiVersion":"a/b/c","kind":"Thing","metadata":{"name":"u","name":"u"}}`,
			`the object provided is unrecognized (must be of type Thing): unexpected GroupVersion string: a/b/c ({"apiVersion":"a/b/c","kind":" ...)`},
	} {
		a := c.do(tt.method, tt.path+"?fieldValidation=Strict", tt.header, tt.body)
		expect(t, tt.method+" "+tt.body, a.code, http.StatusBadRequest)
		expect(t, tt.method+" "+tt.body, gjson.Get(a.body, "message").Str, tt.want)
	}
}

// The strategy of a status puts it into the object that is there, but the kind of its errors is the one that the request states.
func TestAStatusIsRefusedUnderTheKindThatItStates(t *testing.T) {
	c := start(t)
	c.install("widgets")
	c.must("POST", widgetsPath, widget("a"))
	for patch, want := range map[string]string{
		`{"op":"add","path":"/kind","value":"Nope"}`:          `Nope.example.com "a" is invalid: status: Invalid value: "string":  in body must be of type object: "string"`,
		`{"op":"add","path":"/apiVersion","value":"x.io/v1"}`: `Widget.x.io "a" is invalid: status: Invalid value: "string":  in body must be of type object: "string"`,
		`{"op":"remove","path":"/apiVersion"}`:                "Internal error occurred: Object 'apiVersion' is missing in 'object has no apiVersion field'",
	} {
		a := c.do("PATCH", widgetsPath+"/a/status", http.Header{"Content-Type": {"application/json-patch+json"}}, `[`+patch+`,{"op":"add","path":"/status","value":"x"}]`)
		expect(t, patch, statusOf(t, a).Message, want)
	}
}

// The serializer reads apiVersion before anything else looks at the object.
func TestAnImpossibleAPIVersionIsTheFirstMistake(t *testing.T) {
	c := start(t)
	c.install("widgets")
	for apiVersion, want := range map[string]string{
		"/example.com/v1": `the object provided is unrecognized (must be of type Widget): unexpected GroupVersion string: /example.com/v1 (`,
		"example.com/":    `Widget in version "" cannot be handled as a Widget: json: cannot unmarshal bool into Go struct field ObjectMeta.finalizers of type string`,
	} {
		a := c.do("POST", widgetsPath, jsonBody, `{"apiVersion":"`+apiVersion+`","kind":"Widget","metadata":{"name":"a","finalizers":[true]}}`)
		expect(t, "code", a.code, http.StatusBadRequest)
		if message := statusOf(t, a).Message; !strings.HasPrefix(message, want) {
			t.Errorf("message of %s: %s", apiVersion, message)
		}
	}
}
