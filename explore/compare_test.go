package explore

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fakecluster/fakecluster/explore/internal/generate"
	"github.com/fakecluster/fakecluster/explore/internal/state"
)

func TestWhatHasEnded(t *testing.T) {
	type object = map[string]any
	complete, running := object{"status": object{"completionTime": "<time>"}}, object{"status": object{"startTime": "<time>"}}
	for name, tt := range map[string]struct {
		state state.State
		want  bool
	}{
		"nothing":                         {state.State{}, false},
		"no workload":                     {state.State{"configmaps default/a": {}}, false},
		"a Job that is complete":          {state.State{"jobs.batch default/a": complete, "configmaps default/a": {}}, true},
		"a Job that runs":                 {state.State{"jobs.batch default/a": running}, false},
		"one of two Jobs is complete":     {state.State{"jobs.batch default/a": complete, "jobs.batch default/b": running}, true},
		"a claim beside it":               {state.State{"jobs.batch default/a": complete, "persistentvolumeclaims default/a": {}}, true},
		"a Deployment that goes on":       {state.State{"jobs.batch default/a": complete, "deployments.apps default/a": {}}, false},
		"a custom resource that is alike": {state.State{"jobs.example.com default/a": complete}, false},
	} {
		if got := hasEnded(tt.state); got != tt.want {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}

func TestStepsThatHarmAWorkload(t *testing.T) {
	for verb, want := range map[string]bool{
		generate.Fail: true, generate.Heal: true, generate.DeleteOwned: true, generate.EditOwned: true,
		generate.Restart: false, generate.Withdraw: false, generate.Provide: false, generate.Create: false, generate.Set: false,
	} {
		if got := harms(generate.Step{Verb: verb}); got != want {
			t.Errorf("%s: got %v, want %v", verb, got, want)
		}
	}
}

func TestAStatusSaysThatSomethingIsWrong(t *testing.T) {
	condition := func(kind, status, reason string) map[string]any {
		return map[string]any{"conditions": []any{map[string]any{"type": kind, "status": status, "reason": reason, "message": ""}}}
	}
	for name, tt := range map[string]struct {
		status map[string]any
		want   bool
	}{
		"a phase":                      {map[string]any{"phase": "Failed"}, true},
		"another phase":                {map[string]any{"phase": "Ready"}, false},
		"a message":                    {map[string]any{"message": `Secret "given" not found`}, true},
		"a condition that is True":     {condition("Degraded", "True", "Waiting"), true},
		"a condition that is False":    {condition("Degraded", "False", "AsExpected"), false},
		"the reason of such a one":     {condition("Ready", "False", "SecretMissing"), true},
		"a pause is nothing of a kind": {condition("Ready", "False", "Paused"), false},
	} {
		u := &unstructured.Unstructured{Object: map[string]any{"status": tt.status}}
		if got := saysFailed(u); got != tt.want {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}

func TestWhatMeansTheSameAsNothing(t *testing.T) {
	s := &seed{name: "gadgets.example.com default/a"}
	stateOf := func(spec map[string]any, conditions ...any) state.State {
		return meaningful(state.State{s.name: {"spec": spec, "status": map[string]any{"conditions": conditions}}, "configmaps default/a": {"spec": spec}}, s)
	}
	condition := func(kind, status string) any { return map[string]any{"type": kind, "status": status} }
	got := state.Differences(stateOf(map[string]any{"text": "", "mode": map[string]any{"fast": false}, "count": int64(1)}, condition("Ready", "True"), condition("Suspended", "False")),
		stateOf(map[string]any{"mode": map[string]any{}, "count": int64(0)}, condition("Ready", "False")), nil)
	want := []state.Difference{
		{Object: "configmaps default/a", Path: "/spec/count"},
		{Object: "configmaps default/a", Path: "/spec/mode/fast", Missing: true},
		{Object: "configmaps default/a", Path: "/spec/text", Missing: true},
		{Object: "gadgets.example.com default/a", Path: "/spec/count", Missing: true},
		{Object: "gadgets.example.com default/a", Path: "/status/conditions"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAPausedCustomResource(t *testing.T) {
	for name, tt := range map[string]struct {
		object map[string]any
		want   bool
	}{
		"paused":             {map[string]any{"spec": map[string]any{"paused": true}}, true},
		"not paused":         {map[string]any{"spec": map[string]any{"paused": false}}, false},
		"without such field": {map[string]any{"spec": map[string]any{}}, false},
		"none":               {nil, false},
	} {
		if got := isPaused(tt.object); got != tt.want {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}

func TestARefusedRequestGoesOnWithPausesThatDouble(t *testing.T) {
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		gap, since time.Duration
		want       bool
	}{
		"a short while ago":           {time.Second, time.Minute, true},
		"longer ago than it waits":    {time.Second, 2 * time.Minute, false},
		"the next pause is not over":  {10 * time.Minute, 15 * time.Minute, true},
		"the next pause is long over": {10 * time.Minute, 25 * time.Minute, false},
	} {
		last := begin.Add(tt.gap)
		if got := goesOn(begin, last, last.Add(tt.since), quietFor); got != tt.want {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}
