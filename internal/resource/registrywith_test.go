package resource

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
	"github.com/fakecluster/fakecluster/store"
)

// A registry that has followed the changes of its definitions is the one that is made of all of
// them.
func TestARegistryThatFollowsChangesIsTheOneOfAllDefinitions(t *testing.T) {
	random := seedtest.Rand(t)
	versions := []string{"v1alpha1", "v1beta1", "v1", "v2"}
	plain := func(group, plural string, custom bool) *Resource {
		r := &Resource{Group: group, Names: Names{Plural: plural, Kind: "K" + plural}}
		if custom {
			r.Definition = store.Precondition{Key: plural}
		}
		for _, v := range versions {
			r.Versions = append(r.Versions, &Version{Name: v, Served: random.IntN(2) == 0})
		}
		return r
	}
	builtin := []*Resource{plain("", "pods", false), plain("apps", "deployments", false), plain("group-1", "as", false), plain("", "nodes", false)}
	made := map[string]*Definition{}
	followed := NewRegistry(1, builtin, nil)
	for revision := int64(2); revision < 400; revision++ {
		var changed []*Definition
		var gone []string
		for range 1 + random.IntN(3) {
			group := seedtest.Pick(random, "", "apps", "group-0", "group-1", "group-2", "group-3")
			plural := seedtest.Pick(random, "as", "bs", "cs", "pods")
			name := plural + "." + group
			if contains(changed, gone, name) {
				continue
			}
			if made[name] != nil && random.IntN(3) == 0 {
				gone = append(gone, name)
				delete(made, name)
				continue
			}
			d := &Definition{Name: name, Group: group}
			if random.IntN(4) > 0 {
				d.Resource = plain(group, plural, true)
			}
			changed, made[name] = append(changed, d), d
		}
		random.Shuffle(len(changed), func(i, j int) { changed[i], changed[j] = changed[j], changed[i] })
		before := describe(followed)
		next := followed.With(revision, changed, gone)
		if diff := cmp.Diff(before, describe(followed)); diff != "" {
			t.Fatalf("revision %d: the former registry has changed:\n%s", revision, diff)
		}
		var definitions []*Definition
		for _, d := range made {
			definitions = append(definitions, d)
		}
		if diff := cmp.Diff(describe(NewRegistry(revision, builtin, definitions)), describe(next)); diff != "" {
			t.Fatalf("revision %d (-of all +followed):\n%s", revision, diff)
		}
		followed = next
		if random.IntN(5) == 0 {
			followed = followed.At(revision)
		}
	}
}

func contains(changed []*Definition, gone []string, name string) bool {
	for _, d := range changed {
		if d.Name == name {
			return true
		}
	}
	for _, g := range gone {
		if g == name {
			return true
		}
	}
	return false
}

// describe says all that a registry says, with the identities of its parts.
func describe(c *Registry) []string {
	lines := []string{fmt.Sprint(c.Revision, c.fixed, len(c.byName), len(c.byKey), len(c.definitions), len(c.ofGroup))}
	for _, g := range c.Groups() {
		lines = append(lines, fmt.Sprintf("%q %v %v %v %v", g.Name, g.Versions, g.own, g.Routing, c.Group(g.Name) == g))
		for _, r := range g.Resources {
			lines = append(lines, fmt.Sprintf("  %s %p %v", r.Names.Plural, r, c.Resource(r.Group, r.Names.Plural) == r))
		}
		for _, d := range c.Definitions(g.Name) {
			lines = append(lines, fmt.Sprintf("  definition %s %p", d.Name, d))
		}
	}
	for _, d := range c.Definitions("*") {
		lines = append(lines, fmt.Sprintf("%s %p %v", d.Name, d, c.Definition(d.Name) == d))
	}
	return lines
}
