package player

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// The verbs that the parser accepts are those that the player has actions for.
func TestEachVerbHasAnAction(t *testing.T) {
	var verbs []string
	for _, step := range syntax.StepDocs() {
		verbs = append(verbs, step.Name)
	}
	slices.Sort(verbs)
	if d := cmp.Diff(verbs, slices.Sorted(maps.Keys(actions))); d != "" {
		t.Errorf("verbs of package syntax and actions of package player differ (-verbs +actions):\n%s", d)
	}
	for verb, action := range actions {
		if action.do == nil {
			t.Errorf("the action of %s does nothing", verb)
		}
	}
}
