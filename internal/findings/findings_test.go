package findings

import (
	"slices"
	"testing"
	"time"

	"github.com/fakecluster/fakecluster/inspect"
)

// Only a write that another one has come before is a conflict in this sense; a fault is named.
func TestAFaultIsNotListedAsAConflict(t *testing.T) {
	request := inspect.Request{UserAgent: "operator/v1", Verb: "update", Resource: "pods", Namespace: "default", Name: "a", Code: 409, Reason: "Conflict"}
	late, owned, made, cut := request, request, request, request
	late.Message = `Operation cannot be fulfilled on pods "a": the object has been modified; please apply your changes to the latest version and try again`
	owned.Verb, owned.Patch, owned.Message = "patch", "apply", `Apply failed with 1 conflict: conflict with "kubectl": .spec.nodeName`
	made.Message, made.Fault = late.Message, "Conflict"
	cut.Code, cut.Reason, cut.Fault = 0, "", "CutAfterCommit"
	all := []inspect.Request{late, owned, made, cut}
	var c Source
	at := c.after(request.Time)
	want := []string{
		at + ` operator apply pods default/a: 409 Conflict: ` + owned.Message,
		at + ` operator update pods default/a: 409 Conflict (fault: Conflict): ` + late.Message,
		at + ` operator update pods default/a: no answer (fault: CutAfterCommit)`,
	}
	if got := c.refused(all, false); !slices.Equal(got, want) {
		t.Errorf("refused:\n%q\nwant\n%q", got, want)
	}
	if got := c.refused(all, true); !slices.Equal(got, []string{at + " operator update pods default/a"}) {
		t.Errorf("conflicts: %q", got)
	}
}

// A repeated panic is listed once.
func TestPanicsOfTheSameKindAreCounted(t *testing.T) {
	began := time.Unix(100, 0)
	c := Source{Panics: []inspect.Panic{
		{Time: began.Add(time.Second), Handler: "a controller", What: "no map"},
		{Time: began.Add(2 * time.Second), Handler: "default/hook/validate", What: "no map"},
		{Time: began.Add(3 * time.Second), Handler: "a controller", What: "no map"},
	}, began: began}
	want := []string{"+3s a controller (2 times): no map", "+2s default/hook/validate: no map"}
	if got := c.panics(nil); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
