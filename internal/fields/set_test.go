package fields

import (
	"encoding/json"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/fakecluster/fakecluster/internal/testing/fieldstest"
	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

func TestFieldsV1IsReadAsUpstreamReadsIt(t *testing.T) {
	for name, c := range map[string]struct {
		text      string
		canonical bool
		want      string // empty: not read
	}{
		"a field":                                   {`{"f:a":{}}`, true, `{"f:a":{}}`},
		"a field and what is below it":              {`{"f:a":{".":{},"f:b":{}}}`, true, `{"f:a":{".":{},"f:b":{}}}`},
		"fields come before items":                  {`{"v:1":{},"k:{\"a\":1}":{},"f:z":{},"i:0":{}}`, true, `{"f:z":{},"k:{\"a\":1}":{},"v:1":{},"i:0":{}}`},
		"numbers come before texts":                 {`{"v:\"1\"":{},"v:2":{},"v:true":{},"v:1.5":{}}`, true, `{"v:1.5":{},"v:2":{},"v:\"1\"":{},"v:true":{}}`},
		"keys are sorted":                           {`{"k:{\"b\":1,\"a\":2}":{}}`, false, `{"k:{\"a\":2,\"b\":1}":{}}`},
		"space in keys goes":                        {`{"k:{\"a\": 2}":{}}`, false, `{"k:{\"a\":2}":{}}`},
		"a point alone is a member":                 {`{"f:a":{".":{}}}`, false, `{"f:a":{}}`},
		"elements of an unknown kind go":            {`{"x:a":{},"f:b":{"x:c":{}}}`, false, `{"f:b":{}}`},
		"texts with quotes":                         {`{"v:\"a\\\"b\"":{},"f:a\"b":{}}`, true, `{"f:a\"b":{},"v:\"a\\\"b\"":{}}`},
		"an element without a kind is refused":      {`{"a":{}}`, true, ""},
		"a value that is not JSON is refused":       {`{"v:x":{}}`, true, ""},
		"a member that is not an object is refused": {`{"f:a":1}`, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var tree map[string]any
			if err := json.Unmarshal([]byte(c.text), &tree); err != nil {
				t.Fatal(err)
			}
			s, canonical, ok := parseSet(tree)
			if ok != (c.want != "") {
				t.Fatalf("read: %v", ok)
			}
			if !ok {
				return
			}
			text, err := s.appendJSON(nil)
			if err != nil || string(text) != c.want || canonical != c.canonical {
				t.Errorf("%s, canonical %v, %v; want %s", text, canonical, err, c.want)
			}
			if upstream, err := s.upstream().ToJSON(); err != nil || string(upstream) != c.want {
				t.Errorf("upstream writes %s, %v; want %s", upstream, err, c.want)
			}
		})
	}
}

// path is a random path of few elements, so that paths meet.
func (g generator) path() fieldpath.Path {
	texts := []string{`f:a`, `f:b`, `f:ü<`, `k:{"a":1}`, `k:{"a":"1","b":true}`, `k:{"a":"<"}`, `v:1`, `v:"x"`, `v:1.5`, `i:0`}
	var path fieldpath.Path
	for range 1 + g.IntN(4) {
		e, err := fieldpath.DeserializePathElement(seedtest.Pick(g, texts...))
		if err != nil {
			panic(err)
		}
		path = append(path, e)
	}
	return path
}

// set is a random set, as upstream and as the engine have it.
func (g generator) set(t *testing.T) (*fieldpath.Set, *Set) {
	upstream := fieldpath.NewSet()
	for range g.IntN(12) {
		upstream.Insert(g.path())
	}
	text, err := upstream.ToJSON()
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	s, canonical, ok := parseSet(tree)
	if !ok || !canonical && !upstream.Empty() {
		t.Fatalf("%s is not read as it is", text)
	}
	return upstream, s
}

func TestSetsAreJoinedAsUpstreamJoinsThem(t *testing.T) {
	g := generator{fieldstest.Generator{Rand: seedtest.Rand(t)}}
	for range 3000 {
		ua, a := g.set(t)
		ub, b := g.set(t)
		for name, c := range map[string]struct {
			want *fieldpath.Set
			got  *Set
		}{
			"union":             {ua.Union(ub), union(a, b)},
			"intersection":      {ua.Intersection(ub), intersection(a, b)},
			"difference":        {ua.Difference(ub), difference(a, b)},
			"difference below":  {ua.RecursiveDifference(ub), differenceBelow(a, b)},
			"union with itself": {ua, union(a, a)},
		} {
			want, err := c.want.ToJSON()
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.got.appendJSON(nil)
			if err != nil || string(got) != string(want) || (c.got == nil) != c.want.Empty() {
				t.Fatalf("%s of %s and %s: %s, %v; upstream: %s", name, ua, ub, got, err, want)
			}
		}
		if a.contains(b) != ub.Difference(ua).Empty() {
			t.Fatalf("%s contains %s: %v", ua, ub, a.contains(b))
		}
		var paths []string
		a.each(nil, func(path []element) { paths = append(paths, pathString(path, true)) })
		i := 0
		ua.Iterate(func(path fieldpath.Path) {
			if i >= len(paths) || path.String() != paths[i] {
				t.Fatalf("path %d of %v: upstream has %s", i, paths, path)
			}
			i++
		})
		if i != len(paths) {
			t.Fatalf("%d paths, upstream has %d", len(paths), i)
		}
	}
}
