package statuscondition_test

import (
	"testing"

	"github.com/fakecluster/fakecluster/internal/statuscondition"
)

func TestUnmet(t *testing.T) {
	object := func(generation int64, status map[string]any) map[string]any {
		return map[string]any{"metadata": map[string]any{"generation": generation}, "status": status}
	}
	conditions := func(items ...any) map[string]any { return map[string]any{"conditions": items} }
	ready := func(status string) map[string]any { return map[string]any{"type": "Ready", "status": status} }
	for _, test := range []struct {
		name   string
		object map[string]any
		status string
		want   string
	}{
		{"it has the status", object(1, conditions(ready("True"))), "True", ""},
		{"it has the other status", object(1, conditions(ready("False"))), "False", ""},
		{"it has another status, without a reason", object(1, conditions(ready("False"))), "True", "the condition Ready is False, not True"},
		{"it has another status, with a reason and a message", object(1, conditions(map[string]any{"type": "Ready", "status": "Unknown", "reason": "Waiting", "message": "no pods"})), "True",
			"the condition Ready is Unknown, not True (Waiting: no pods)"},
		{"no conditions", map[string]any{}, "True", "the object does not have the condition Ready, or any other"},
		{"other conditions", object(1, conditions(map[string]any{"type": "Z"}, map[string]any{"type": "Available"})), "True", "the object does not have the condition Ready, only Available, Z"},
		{"it was set for an older generation", object(2, conditions(map[string]any{"type": "Ready", "status": "True", "observedGeneration": int64(1)})), "True",
			"the condition Ready is True for generation 1, but the object has generation 2"},
		{"the status was written for an older generation", object(2, map[string]any{"observedGeneration": int64(1), "conditions": []any{ready("True")}}), "True",
			"the condition Ready is True for generation 1, but the object has generation 2"},
		{"the condition's own generation comes first", object(2, map[string]any{"observedGeneration": int64(1), "conditions": []any{
			map[string]any{"type": "Ready", "status": "True", "observedGeneration": int64(2)}}}), "True", ""},
	} {
		if got := statuscondition.Unmet(test.object, "Ready", test.status); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}
