package rest_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/internal/testing/gotext"
)

const planetsPath = "/apis/example.com/v1/planets"

// planet is a Planet whose spec is the given JSON; its schema lets all pass.
func planet(name, spec string) string {
	return `{"apiVersion":"example.com/v1","kind":"Planet","metadata":{"name":"` + name + `"},"spec":` + spec + `}`
}

func nested(open, middle, end string, levels int) string {
	return strings.Repeat(open, levels) + middle + strings.Repeat(end, levels)
}

// TestHostileBodies sends what no client should. The answers are those of a real
// server.
func TestHostileBodies(t *testing.T) {
	c := start(t)
	c.install("planets")
	yaml := http.Header{"Content-Type": {"application/yaml"}}
	const (
		tooDeep = `the object provided is unrecognized (must be of type Planet): couldn't get version/kind; json parse error: invalid character '%s' exceeded max depth ({"apiVersion":"example.com/v1" ...)`
		deepYML = `the object provided is unrecognized (must be of type Planet): yaml: exceeded max depth of 10000 ({"apiVersion":"example.com/v1" ...)`
		limit   = 3 * 1024 * 1024
	)
	bomb := "apiVersion: example.com/v1\nkind: Planet\nmetadata: {name: bomb}\na: &a [x,x,x,x,x,x,x,x,x]\n"
	for _, level := range []string{"b", "c", "d", "e", "f", "g"} {
		below := string(level[0] - 1)
		bomb += level + ": &" + level + " [" + strings.TrimSuffix(strings.Repeat("*"+below+",", 9), ",") + "]\n"
	}
	padding := limit - len(planet("large", `""`))
	for _, tt := range []struct {
		rule         string
		method, path string
		header       http.Header
		body         string
		code         int
		message      string // of the Status; empty: no Status
	}{
		{"9,990 levels of arrays are taken", "POST", planetsPath, jsonBody, planet("arrays", nested("[", "", "]", 9990)), 201, ""},
		{"9,990 levels of objects are taken", "POST", planetsPath, jsonBody, planet("objects", nested(`{"a":`, "1", "}", 9990)), 201, ""},
		{"10,000 levels of arrays are refused", "POST", planetsPath, jsonBody, planet("a", nested("[", "", "]", 10000)), 400, strings.Replace(tooDeep, "%s", "[", 1)},
		{"10,000 levels of objects are refused", "POST", planetsPath, jsonBody, planet("a", nested(`{"a":`, "1", "}", 10000)), 400, strings.Replace(tooDeep, "%s", "{", 1)},
		{"1,000,000 levels are refused", "POST", planetsPath, jsonBody, planet("a", nested("[", "", "]", 1000000)), 400, strings.Replace(tooDeep, "%s", "[", 1)},
		{"1,000,000 levels that never end are refused", "POST", planetsPath, jsonBody, planet("a", strings.Repeat("[", 1000000)), 400, strings.Replace(tooDeep, "%s", "[", 1)},
		{"9,990 levels of YAML are taken", "POST", planetsPath, yaml, planet("yaml", nested("[", "", "]", 9990)), 201, ""},
		{"1,000,000 levels of YAML are refused", "POST", planetsPath, yaml, planet("a", nested("[", "", "]", 1000000)), 400, deepYML},
		{"aliases of YAML that multiply are refused", "POST", planetsPath, yaml, bomb, 400,
			"the object provided is unrecognized (must be of type Planet): yaml: document contains excessive aliasing (61706956657273696f6e3a206578616d706c652e636f6d2f76310a6b696e ...)"},
		{"levels in a definition are refused", "POST", definitionsPath, jsonBody,
			`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"a"},"spec":` + nested(`{"a":`, "1", "}", 100000) + "}", 400,
			`the object provided is unrecognized (must be of type CustomResourceDefinition): couldn't get version/kind; json parse error: invalid character '{' exceeded max depth ({"apiVersion":"apiextensions.k ...)`},
		{"levels in delete options are refused", "DELETE", planetsPath + "/arrays", jsonBody, `{"preconditions":` + nested("[", "", "]", 100000) + "}", 400,
			"couldn't get version/kind; json parse error: invalid character '[' exceeded max depth"},
		{"bytes that are not UTF-8 are replaced", "POST", planetsPath, jsonBody, planet("utf", "\"\xff\xfe\""), 201, ""},
		{"bytes that are not UTF-8 make no name", "POST", planetsPath, jsonBody, planet("utf\xff", "1"), 422,
			"Planet.example.com \"utf\ufffd\" is invalid: metadata.name: Invalid value: \"utf\ufffd\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"},
		{"half a surrogate is replaced, and what HTML minds is escaped", "POST", planetsPath, jsonBody, planet("surrogate", `"\ud800 <b>&\u2028"`), 201, ""},
		{"a byte order mark is not JSON", "POST", planetsPath, jsonBody, "\xef\xbb\xbf" + planet("bom", "1"), 400,
			"the object provided is unrecognized (must be of type Planet): couldn't get version/kind; json parse error: invalid character 'ï' looking for beginning of value (efbbbf7b2261706956657273696f6e223a226578616d706c652e636f6d2f ...)"},
		{"an object as large as etcd takes", "POST", planetsPath, jsonBody, planet("big", `"`+strings.Repeat("x", 1500000)+`"`), 201, ""},
		{"an object larger than etcd takes", "POST", planetsPath, jsonBody, planet("bigger", `"`+strings.Repeat("x", 1600000)+`"`), 500, "etcdserver: request is too large"},
		{"a body of 3 MiB is read", "POST", planetsPath, jsonBody, planet("large", `"`+strings.Repeat("x", padding)+`"`), 500, "rpc error: code = ResourceExhausted desc = trying to send message larger than max (3145853 vs. 2097152)"},
		{"a body of more than 3 MiB is not", "POST", planetsPath, jsonBody, planet("large", `"`+strings.Repeat("x", padding+1)+`"`), 413, "Request entity too large: limit is 3145728"},
		{"nor one of delete options", "DELETE", planetsPath + "/arrays", jsonBody, `{"x":"` + strings.Repeat("x", limit) + `"}`, 413, "Request entity too large: limit is 3145728"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			check := func(way string, a answer) {
				t.Helper()
				expect(t, way+": code", a.code, tt.code)
				if tt.message != "" {
					expect(t, way+": message", statusOf(t, a).Message, gotext.JSON(tt.message))
				}
			}
			if tt.code != 500 { // a dry run does not meet the limit of etcd
				check("in process", c.serve(tt.method, tt.path+"?dryRun=All", tt.header, []byte(tt.body)))
			}
			check("over HTTP", c.do(tt.method, tt.path, tt.header, tt.body))
		})
	}
	if got := c.must("GET", planetsPath+"/utf", ""); !strings.HasSuffix(got, "\"spec\":\"\ufffd\ufffd\"}\n") {
		t.Errorf("bytes that are not UTF-8 were stored as %s", got)
	}
	if got := c.must("GET", planetsPath+"/surrogate", ""); !strings.HasSuffix(got, `"spec":"`+"\ufffd"+` \u003cb\u003e\u0026\u2028"}`+"\n") {
		t.Errorf("half a surrogate was stored as %s", got)
	}
}

// TestHostilePatches sends patches that no client should: each is refused as on
// a real server and leaves the object as it was.
func TestHostilePatches(t *testing.T) {
	c := start(t)
	c.install("planets")
	c.must("POST", planetsPath, planet("a", `{"x":[1]}`))
	const jsonPatch, merge, apply = "application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml?fieldManager=test"
	operations := func(n int, operation string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(operation+",", n), ",") + "]"
	}
	before := c.must("GET", planetsPath+"/a", "")
	for _, tt := range []struct {
		rule, patch, body string
		code              int
		message           string
	}{
		{"10,001 operations", jsonPatch, operations(10001, `{"op":"test","path":"/spec/x/0","value":1}`), 413, "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"},
		{"copies that multiply", jsonPatch, operations(40, `{"op":"copy","from":"/spec/x","path":"/spec/x/-"}`), 422, "the server rejected our request due to an error in our request"},
		{"a path that is not there", jsonPatch, `[{"op":"remove","path":"/spec/nothing"}]`, 422, "the server rejected our request due to an error in our request"},
		{"a test that fails", jsonPatch, `[{"op":"test","path":"/spec/x/0","value":2}]`, 422, "the server rejected our request due to an error in our request"},
		{"an operation that there is not", jsonPatch, `[{"op":"swap","path":"/spec/x"}]`, 422, "the server rejected our request due to an error in our request"},
		{"half of a JSON patch", jsonPatch, `[{"op":`, 400, "invalid JSON patch"},
		{"an object for a JSON patch", jsonPatch, `{}`, 400, "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"},
		{"10,000 levels of a JSON patch", jsonPatch, `[{"op":"add","path":"/spec/y","value":` + nested("[", "", "]", 10000) + `}]`, 400, "invalid JSON patch"},
		{"half of a merge patch", merge, `{"spec":`, 400, "invalid JSON patch"},
		{"nothing for a merge patch", merge, `null`, 400, "Invalid JSON Patch"},
		{"10,000 levels of a merge patch", merge, `{"spec":` + nested(`{"a":`, "1", "}", 10000) + `}`, 400, "invalid JSON patch"},
		{"10,000 levels of a configuration", apply, planet("a", nested(`{"a":`, "1", "}", 10000)), 400, "error decoding patch: error converting YAML to JSON: yaml: exceeded max depth of 10000"},
		{"half of a configuration", apply, `{"apiVersion":`, 400, "error decoding patch: error converting YAML to JSON: yaml: line 1: did not find expected node content"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			contentType, query, _ := strings.Cut(tt.patch, "?")
			a := c.do("PATCH", planetsPath+"/a?"+query, http.Header{"Content-Type": {contentType}}, tt.body)
			expect(t, "code", a.code, tt.code)
			expect(t, "message", statusOf(t, a).Message, tt.message)
			expect(t, "the object", c.must("GET", planetsPath+"/a", ""), before)
		})
	}
	a := c.do("PATCH", planetsPath+"/a", http.Header{"Content-Type": {jsonPatch}}, operations(10000, `{"op":"test","path":"/spec/x/0","value":1}`))
	expect(t, "10,000 operations: code", a.code, http.StatusOK)
}

// statusOf is the Status in an answer, of which its code must be that of the
// answer.
func statusOf(t testing.TB, a answer) *metav1.Status {
	t.Helper()
	status := &metav1.Status{}
	if err := json.Unmarshal([]byte(a.body), status); err != nil || status.Kind != "Status" || status.APIVersion != "v1" {
		t.Errorf("%d: not a Status: %v: %.300s", a.code, err, a.body)
	}
	if int(status.Code) != a.code {
		t.Errorf("the Status says %d, the answer %d", status.Code, a.code)
	}
	return status
}
