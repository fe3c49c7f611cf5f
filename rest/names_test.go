package rest_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/store"
)

func generated(base string) string {
	return `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"generateName":"` + base + `"}}`
}

// created creates a widget and returns its metadata.
func (c *cluster) created(body string) metav1.ObjectMeta {
	c.t.Helper()
	var object metav1.PartialObjectMetadata
	if err := json.Unmarshal([]byte(c.must("POST", widgetsPath, body)), &object); err != nil {
		c.t.Fatal(err)
	}
	return object.ObjectMeta
}

func TestGenerateName(t *testing.T) {
	c := start(t)
	c.install("widgets")
	suffix := "[bcdfghjklmnpqrstvwxz2456789]{5}$"
	for _, tt := range []struct{ rule, base, want string }{
		{"five characters follow", "gen-", "^gen-" + suffix},
		{"a long base is cut so that 63 characters come out", strings.Repeat("x", 100), "^x{58}" + suffix},
		{"a base of 58 characters is whole", strings.Repeat("y", 58), "^y{58}" + suffix},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			got := c.created(generated(tt.base))
			if !regexp.MustCompile(tt.want).MatchString(got.Name) {
				t.Errorf("%q does not match %s", got.Name, tt.want)
			}
			expect(t, "generateName", got.GenerateName, tt.base)
		})
	}
	seen := map[string]bool{}
	for range 200 {
		seen[c.created(generated("many-")).Name] = true
	}
	expect(t, "different names", len(seen), 200)
}

func TestSeedRepeatsNamesAndUids(t *testing.T) {
	make3 := func(seed uint64) (names []string) {
		c := start(t, func(o *options, _ *store.Options) { o.Seed = &seed })
		c.install("widgets")
		for range 3 {
			m := c.created(generated("s-"))
			names = append(names, m.Name, string(m.UID))
		}
		return names
	}
	first := make3(1)
	expect(t, "the same seed", make3(1), first)
	if other := make3(2); other[0] == first[0] || other[1] == first[1] {
		t.Errorf("another seed gives the same: %v", other)
	}
}
