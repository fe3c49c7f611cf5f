package resource

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// served returns a resource with versions. One that ends with "-" is not served.
func served(group, plural, kind string, versions ...string) *Resource {
	r := &Resource{Group: group, Names: Names{Plural: plural, Kind: kind}, Verbs: []string{"get"}, Prefix: "/registry/" + plural + "/"}
	for _, name := range versions {
		short, hidden := strings.CutSuffix(name, "-")
		r.Versions = append(r.Versions, &Version{Resource: r, Name: short, Served: !hidden})
	}
	return r
}

func defined(name string, r *Resource) *Definition {
	_, group, _ := strings.Cut(name, ".")
	return &Definition{Name: name, Group: group, Resource: r}
}

// outline returns the groups of a registry: a line for each.
func outline(c *Registry) (lines []string) {
	for _, g := range c.Groups() {
		line := fmt.Sprintf("%s %v", g.Name, g.Versions)
		for _, r := range g.Resources {
			line += " " + r.Names.Plural
		}
		lines = append(lines, line)
	}
	return lines
}

func TestOrderOfDiscovery(t *testing.T) {
	for _, c := range []struct {
		name    string
		builtin []*Resource
		custom  []*Definition
		want    []string
	}{
		{"built-in groups come first, in the order given",
			[]*Resource{served("", "pods", "Pod", "v1"), served("z.io", "as", "A", "v1"), served("b.io", "bs", "B", "v1")},
			[]*Definition{defined("cs.a.io", served("a.io", "cs", "C", "v1"))},
			[]string{" [v1] pods", "z.io [v1] as", "b.io [v1] bs", "a.io [v1] cs"}},
		{"custom groups are sorted by name", nil,
			[]*Definition{defined("as.z.io", served("z.io", "as", "A", "v1")), defined("bs.b.io", served("b.io", "bs", "B", "v1"))},
			[]string{"b.io [v1] bs", "z.io [v1] as"}},
		{"versions are sorted by priority: stable before beta before alpha, the higher first", nil,
			[]*Definition{defined("as.x.io", served("x.io", "as", "A", "v1alpha1", "v1", "foo", "v2beta1", "v10", "v2"))},
			[]string{"x.io [v10 v2 v1 v2beta1 v1alpha1 foo] as"}},
		{"versions of all resources of a group are merged, and resources sorted by name", nil,
			[]*Definition{defined("bs.x.io", served("x.io", "bs", "B", "v2", "v1")), defined("as.x.io", served("x.io", "as", "A", "v1", "v3"))},
			[]string{"x.io [v3 v2 v1] as bs"}},
		{"a version that is not served is not shown", nil,
			[]*Definition{defined("as.x.io", served("x.io", "as", "A", "v1", "v2-"))},
			[]string{"x.io [v1] as"}},
		{"a definition without an endpoint makes no group", nil, []*Definition{defined("as.x.io", nil)}, nil},
		{"a custom resource does not replace a built-in one",
			[]*Resource{served("x.io", "as", "A", "v1")}, []*Definition{defined("as.x.io", served("x.io", "as", "Other", "v2"))},
			[]string{"x.io [v1] as"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, outline(NewRegistry(1, c.builtin, c.custom))); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLookupOfKinds(t *testing.T) {
	review := served("x.io", "reviews", "Review", "v1")
	review.Verbs = []string{"create"}
	c := NewRegistry(1, []*Resource{served("x.io", "as", "A", "v1", "v2-"), review}, nil)
	for _, k := range []struct {
		name string
		kind schema.GroupVersionKind
		want *Resource
	}{
		{"a kind is found in a version that serves it", schema.GroupVersionKind{Group: "x.io", Version: "v1", Kind: "A"}, c.Resource("x.io", "as")},
		{"not in a version that is not served", schema.GroupVersionKind{Group: "x.io", Version: "v2", Kind: "A"}, nil},
		{"not in a version that there is not", schema.GroupVersionKind{Group: "x.io", Version: "v9", Kind: "A"}, nil},
		{"not in another group", schema.GroupVersionKind{Group: "y.io", Version: "v1", Kind: "A"}, nil},
		{"not if objects of the kind cannot be read", schema.GroupVersionKind{Group: "x.io", Version: "v1", Kind: "Review"}, nil},
	} {
		t.Run(k.name, func(t *testing.T) {
			if got := c.Kind(k.kind); got != k.want {
				t.Errorf("found %v", got)
			}
		})
	}
}

func TestLookupOfStoreKeys(t *testing.T) {
	short, long, review := served("x.io", "as", "A", "v1"), served("x.io", "bs", "B", "v1"), served("x.io", "reviews", "Review", "v1")
	short.Prefix, long.Prefix, review.Prefix = "/registry/", "/registry/x.io/bs/", ""
	c := NewRegistry(1, []*Resource{short, long, review}, nil)
	for key, want := range map[string]*Resource{
		"/registry/x.io/bs/default/a": long, // the longest prefix decides
		"/registry/x.io/b":            short,
		"/elsewhere/a":                nil, // a resource that stores nothing has no keys
	} {
		if got := c.ResourceOf(key); got != want {
			t.Errorf("%s belongs to %v, want %v", key, got, want)
		}
	}
}

func TestDefinitionsAreListedByNameOfOneGroupOrAll(t *testing.T) {
	c := NewRegistry(1, nil, []*Definition{defined("b.x.io", nil), defined("a.y.io", nil), defined("a.x.io", nil)})
	for group, want := range map[string]string{"x.io": "a.x.io b.x.io", "*": "a.x.io a.y.io b.x.io", "z.io": ""} {
		var names []string
		for _, d := range c.Definitions(group) {
			names = append(names, d.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("definitions of %s: %q, want %q", group, got, want)
		}
	}
}

// What follows from the resources is computed once for all revisions at which they are the same, and again when one has changed.
func TestMemoBelongsToTheResources(t *testing.T) {
	first := NewRegistry(1, []*Resource{served("", "pods", "Pod", "v1")}, nil)
	groups := func(c *Registry) []string {
		return c.Memo("groups", func() any { return outline(c) }).([]string)
	}
	former := groups(first)
	if again := groups(first.At(2)); &again[0] != &former[0] {
		t.Error("a later revision of the same resources computes it again")
	}
	changed := first.With(3, []*Definition{defined("as.x.io", served("x.io", "as", "A", "v1"))}, nil)
	if diff := cmp.Diff([]string{" [v1] pods", "x.io [v1] as"}, groups(changed)); diff != "" {
		t.Errorf("after a definition (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{" [v1] pods"}, groups(first.At(4))); diff != "" {
		t.Errorf("of the first one (-want +got):\n%s", diff)
	}
}
