package explore

import (
	"testing"

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
