package schema_test

import (
	"flag"
	"testing"

	"github.com/fakecluster/fakecluster/internal/testing/schematest"
	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

// The walks of this package have the results of upstream's libraries. This test runs both,
// about random schemas and objects.

var cases = flag.Int("cases", seedtest.Cases(5_000), "how many random objects the walks are compared with upstream's libraries on")

func TestWalksMatchUpstream(t *testing.T) {
	g, tally, invalid := schematest.Generator{Rand: seedtest.Rand(t)}, schematest.NewTally(), 0
	for tally.Objects < *cases {
		s := schematest.NewSchema(t, g.Schema())
		if s == nil {
			continue
		}
		for range 10 {
			wrong := []int{0, 0, 0, 5, 30}[g.IntN(5)]
			obj := g.Object(s.Props, wrong)
			former, ok := g.Changed(obj, 5).(map[string]any)
			if !ok {
				former = g.Object(s.Props, wrong)
			}
			s.Compare(t, obj, former, tally)
			if s.Node.IsInvalid(obj) {
				if invalid++; s.Validate(obj) == nil {
					t.Fatalf("found invalid: %v\nschema:\n%s", obj, s)
				}
			}
		}
	}
	t.Log(tally)
	t.Logf("%d are found invalid", invalid)
	for fact, name := range schematest.Facts {
		if found, so := tally.Found[fact], tally.True[fact]; found*2 < so {
			t.Errorf("the walk found %s for %d objects, and it holds for %d: it declines too often for the test to be meaningful", name, found, so)
		}
	}
	for what, n := range map[string]int{"unchanged": tally.Unchanged, "changed": tally.Objects - tally.Unchanged, "invalid": invalid} {
		if n < tally.Objects/10 {
			t.Errorf("%d of %d objects are %s: the test shows little", n, tally.Objects, what)
		}
	}
}
