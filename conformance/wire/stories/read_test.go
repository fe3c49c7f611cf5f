package stories

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fakecluster/fakecluster/conformance/wire/exchange"
)

func TestAllStoriesAreRead(t *testing.T) {
	requests, err := All()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, r := range requests {
		if seen[r.String()] {
			t.Errorf("%s is there twice", r)
		}
		seen[r.String()] = true
	}
}

func TestRead(t *testing.T) {
	const text = `# A comment.
== life of $kind
unordered
with
  kind things
  c    /apis/g/v1/namespaces/$ns/things
let one = $c/a
made: POST $one?x=$id as=table Accept-Language=a_b {"a":"$kind"}
PUT $one from=made user=jane wait=2s {"b":"${made:metadata.uid}"}
POST $c until=201
  a: [1, two]
POST $c body=
POST $c body=
PATCH $one apply-cbor {"a":1}
`
	got, err := read("x.txt", text)
	if err != nil {
		t.Fatal(err)
	}
	base := exchange.Request{Group: "life of things", Whole: true, Unordered: true, Header: map[string]string{}}
	request := func(name, method, path, body string, header map[string]string) exchange.Request {
		r := base
		r.Name, r.Method, r.Path, r.Body, r.Header = name, method, path, body, header
		return r
	}
	const c = "/apis/g/v1/namespaces/wire-life-of-things/things"
	want := []exchange.Request{
		request("namespace", "POST", "/api/v1/namespaces", `{"metadata":{"name":"wire-life-of-things"}}`, nil),
		request("made", "POST", c+"/a?x=life-of-things", `{"a":"things"}`, map[string]string{"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io", "Accept-Language": "a b"}),
		request(`PUT $one from=made user=jane wait=2s {"b":"${made:metadata.uid}"}`, "PUT", c+"/a", `{"b":"${made:metadata.uid}"}`, map[string]string{"Impersonate-User": "jane"}),
		request("POST $c until=201", "POST", c, `{"a":[1,"two"]}`, map[string]string{}),
		request("POST $c body=", "POST", c, "", map[string]string{}),
		request("POST $c body= (2)", "POST", c, "", map[string]string{}),
		request(`PATCH $one apply-cbor {"a":1}`, "PATCH", c+"/a", "\xa1Aa\x01", map[string]string{"Content-Type": "application/apply-patch+cbor"}),
	}
	want[2].From, want[2].Wait = "made", 2*time.Second
	want[3].Until = 201
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"GET /":                     `x.txt:1: a file begins with a story, ==`,
		"== a\n  GET /":             `x.txt:2: nothing is above what is indented`,
		"== a\nLOOK /":              `x.txt:2: "LOOK" is not a method`,
		"== a\nGET / loudly":        `x.txt:2: "loudly" is not a word`,
		"== a\nGET / wait=long":     `x.txt:2: time: invalid duration "long"`,
		"== a\nGET / until=someday": `x.txt:2: expected integer`,
	} {
		if _, err := read("x.txt", text); err == nil || err.Error() != want {
			t.Errorf("%q: %v\nwant %s", text, err, want)
		}
	}
}
