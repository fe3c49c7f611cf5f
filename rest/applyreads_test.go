package rest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// An apply configuration is YAML, whatever it looks like. What is JSON, and is read
// as that, has to come to the same as behind a comment, which JSON does not have.
func TestAConfigurationIsReadAsYAML(t *testing.T) {
	c := start(t)
	c.install("planets")
	apply := func(body string) string {
		a := c.do("PATCH", planetsPath+"/a?dryRun=All&fieldManager=test", http.Header{"Content-Type": {"application/apply-patch+yaml"}}, body)
		if a.code == http.StatusBadRequest {
			return statusOf(t, a).Message
		}
		return gjson.Get(a.body, "spec").Raw
	}
	for spec, want := range map[string]string{
		`{"a":1}`: `{"a":1}`, `{"a":1.0}`: `{"a":1}`, `{"a":[{"b":1e3}]}`: `{"a":[{"b":1000}]}`, `{"a":1.5}`: `{"a":1.5}`, `{"a":-0}`: `{"a":0}`,
		`{"a":9223372036854775807}`: `{"a":9223372036854775807}`, `{"a":12345678901234567890}`: `{"a":12345678901234567000}`,
		`{"a":"\u0041"}`: `{"a":"A"}`, `{"a":"\b\f\n\r\t\"\\"}`: `{"a":"\b\f\n\r\t\"\\"}`, "{\"a\":\"x\u2028y\"}": "{\"a\":\"x\\u2028y\"}",
		`{"a":"日本"}`: `{"a":"日本"}`, `{"a":"1.0","b":"yes","c":"null","d":"~"}`: `{"a":"1.0","b":"yes","c":"null","d":"~"}`,
		`{"a":null}`: `{"a":null}`, "{\n\t\"a\":\t[ ]\r\n}": `{"a":[]}`, `{}`: `{}`,
	} {
		expect(t, spec, apply(planet("a", spec)), want)
		expect(t, spec+" behind a comment", apply("# not JSON\n"+planet("a", spec)), want)
	}
	for spec, want := range map[string]string{
		`{"a":"\ud83d\ude00"}`: "error decoding patch: error converting YAML to JSON: yaml: found invalid Unicode character escape code",
		`{"a":"\/"}`:           "error decoding patch: error converting YAML to JSON: yaml: found unknown escape character",
		"{\"a\":\"\x7f\"}":     "error decoding patch: error converting YAML to JSON: yaml: control characters are not allowed",
	} {
		expect(t, spec, apply(planet("a", spec)), want)
	}

	// A whole number that is written as a fraction is a whole number to all who read it.
	c.must("POST", definitionsPath, strings.Replace(definition(t, "widgets"),
		`{"status":{}}`, `{"scale":{"specReplicasPath":".spec.size","statusReplicasPath":".status.size"}}`, 1))
	a := c.do("PATCH", widgetsPath+"/a?fieldManager=test", http.Header{"Content-Type": {"application/apply-patch+yaml"}},
		strings.Replace(widget("a"), `"spec":{}`, `"spec":{"size":1.0}`, 1))
	expect(t, "an integer as 1.0", a.code, http.StatusCreated)
}
