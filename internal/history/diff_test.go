package history

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/fakecluster/fakecluster/inspect"
)

// managed are managedFields that say what kinds of lists there are: items have the key name, ports
// two keys, and tags is a set.
const managed = `{"metadata":{"managedFields":[{"manager":"m","operation":"Update","fieldsV1":{
	"f:items":{"k:{\"name\":\"a\"}":{".":{},"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{}}}},"f:tags":{"v:\"x\"":{}}}}]}`

func TestDiff(t *testing.T) {
	for rule, c := range map[string]struct {
		before, after string
		want          []string
	}{
		"nothing": {`,"a":1}`, `,"a":1}`, nil},
		"a value changes, one comes and one goes": {`,"a":1,"b":"x"}`, `,"a":2,"c":[true]}`,
			[]string{`a: 1 → 2`, `b: removed "x"`, `c: added [true]`}},
		"a field deep inside":  {`,"a":{"b":{"c":1,"d":2}}}`, `,"a":{"b":{"c":3,"d":2}}}`, []string{`a.b.c: 1 → 3`}},
		"a name with dots":     {`,"a":{}}`, `,"a":{"b.c/d":1}}`, []string{`a["b.c/d"]: added 1`}},
		"a map becomes a list": {`,"a":{"b":1}}`, `,"a":[1]}`, []string{`a: {"b":1} → [1]`}},
		"null is nothing":      {`,"a":null}`, `}`, nil},
		"items by their key, in another order": {`,"items":[{"name":"a","v":1},{"name":"b","v":1}]}`, `,"items":[{"name":"b","v":2},{"name":"c"}]}`,
			[]string{`items[name=b].v: 1 → 2`, `items[name=c]: added {"name":"c"}`, `items[name=a]: removed {"name":"a","v":1}`}},
		"only the order": {`,"items":[{"name":"a"},{"name":"b"}]}`, `,"items":[{"name":"b"},{"name":"a"}]}`,
			[]string{`items (order): "name=a name=b" → "name=b name=a"`}},
		"items with two keys inside items": {`,"items":[{"name":"a","ports":[{"port":80,"protocol":"TCP"}]}]}`,
			`,"items":[{"name":"a","ports":[{"port":80,"protocol":"TCP","x":1}]}]}`, []string{`items[name=a].ports[port=80,protocol=TCP].x: added 1`}},
		"items whose keys repeat, by their places": {`,"items":[{"name":"a"},{"name":"a","v":1}]}`, `,"items":[{"name":"a"},{"name":"a","v":2}]}`,
			[]string{`items[1].v: 1 → 2`}},
		"a set": {`,"tags":["x","y"]}`, `,"tags":["y","z"]}`, []string{`tags[]: removed "x"`, `tags[]: added "z"`}},
		"a Secret": {`,"kind":"Secret","data":{"a":"eA==","b":"eA=="},"x":"s"}`, `,"kind":"Secret","data":{"a":"eQ==","c":{"d":"s"}},"x":"t","type":"t"}`,
			[]string{`data.a: "(what was there)" → "(a secret)"`, `data.b: removed "(what was there)"`, `data.c: added {"d":"(a secret)"}`, `type: added "t"`,
				`x: "(what was there)" → "(a secret)"`}},
		"a Secret in an object": {`,"spec":{"n":1,"of":{"kind":"Secret","data":{"a":"eA=="}}}}`, `,"spec":{"n":2,"of":{"kind":"Secret","data":{"a":"eQ=="}}}}`,
			[]string{`spec.n: 1 → 2`, `spec.of.data.a: "(what was there)" → "(a secret)"`}},
		"a Secret comes": {`,"spec":{"all":[]}}`, `,"spec":{"all":[{"kind":"Secret","stringData":{"a":"s"}}]}}`,
			[]string{`spec.all[0]: added {"kind":"Secret","stringData":{"a":"(a secret)"}}`}},
		"a reference to one":            {`,"of":{"kind":"Secret","name":"a"}}`, `,"of":{"kind":"Secret","name":"b"}}`, []string{`of.name: "a" → "b"`}},
		"a list without keys, by place": {`,"args":["x","y"]}`, `,"args":["x","z","w"]}`, []string{`args[1]: "y" → "z"`, `args[2]: added "w"`}},
	} {
		var before, after map[string]any
		for text, into := range map[string]*map[string]any{c.before: &before, c.after: &after} {
			if err := utiljson.Unmarshal([]byte(managed+text), into); err != nil {
				t.Fatal(rule, err)
			}
		}
		if c.before == c.after {
			after = before
		}
		var got, fromText []string
		for _, change := range Diff(before, after) {
			got = append(got, change.String())
		}
		for _, change := range DiffText(managed+c.before, managed+c.after) {
			fromText = append(fromText, change.String())
		}
		if diff := cmp.Diff(got, fromText); diff != "" {
			t.Errorf("%s: from the text (-from objects +from text):\n%s", rule, diff)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", rule, diff)
		}
	}
}

func TestWhatTheServerCountsIsNoChangeUnlessNothingElseIs(t *testing.T) {
	parsed := func(text string) (obj map[string]any) {
		if err := utiljson.Unmarshal([]byte(text), &obj); err != nil {
			t.Fatal(err)
		}
		return obj
	}
	before := parsed(`{"metadata":{"resourceVersion":"1","generation":1,"managedFields":[{"manager":"a","operation":"Update","time":"then","fieldsV1":{"f:x":{}}}]}}`)
	later := parsed(`{"metadata":{"resourceVersion":"2","generation":2,"managedFields":[{"manager":"a","operation":"Update","time":"now","fieldsV1":{"f:x":{}}}]}}`)
	if got := Diff(before, later); got != nil {
		t.Errorf("numbers and times: %v", got)
	}
	shared := parsed(`{"metadata":{"managedFields":[{"manager":"a","operation":"Update","fieldsV1":{"f:x":{}}},{"manager":"b","operation":"Apply","subresource":"status","fieldsV1":{"f:x":{}}}]}}`)
	if diff := cmp.Diff([]inspect.FieldChange{{Path: "metadata.managedFields[b Apply status]", Is: map[string]any{"f:x": map[string]any{}}}}, Diff(before, shared)); diff != "" {
		t.Error(diff)
	}
}
