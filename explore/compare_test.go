package explore

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
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
		"the longest pause is over":   {11 * time.Minute, 18 * time.Minute, false},
	} {
		last := begin.Add(tt.gap)
		if got := goesOn(begin, last, last.Add(tt.since), quietFor); got != tt.want {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}

// A resource that has run to its end says so in one of several fields; a failure counts only for a kind that runs to an end.
func TestWhatHasRunToItsEndSaysSo(t *testing.T) {
	status := func(fields ...string) *seed {
		properties := map[string]apiextensionsv1.JSONSchemaProps{}
		for _, field := range fields {
			properties[field] = apiextensionsv1.JSONSchemaProps{Type: "string"}
		}
		return &seed{name: "a", schema: &apiextensionsv1.JSONSchemaProps{Properties: map[string]apiextensionsv1.JSONSchemaProps{"status": {Properties: properties}}}}
	}
	failed := []any{map[string]any{"type": "Failed", "status": "True"}}
	for name, tt := range map[string]struct {
		seed   *seed
		status map[string]any
		want   bool
	}{
		"complete":                 {status("completionTime"), map[string]any{"completionTime": "<time>"}, true},
		"a terminal state":         {status("terminalState"), map[string]any{"terminalState": "Completed"}, true},
		"failed":                   {status("completionTime"), map[string]any{"conditions": failed}, true},
		"at work":                  {status("completionTime"), map[string]any{"active": int64(1)}, false},
		"failed, and runs on":      {status("phase"), map[string]any{"conditions": failed}, false},
		"no status":                {status("completionTime"), nil, false},
		"not failed at the moment": {status("completionTime"), map[string]any{"conditions": []any{map[string]any{"type": "Failed", "status": "False"}}}, false},
	} {
		if got := tt.seed.isOver(state.State{"a": {"status": tt.status}}); got != tt.want {
			t.Errorf("%s: got %t, want %t", name, got, tt.want)
		}
	}
}

// A status in which nothing is true is the same as none.
func TestAStatusOfFalseConditionsIsNone(t *testing.T) {
	s := &seed{name: "a"}
	none := state.State{"a": {"spec": map[string]any{"x": "y"}}}
	for name, tt := range map[string]struct {
		status map[string]any
		equal  bool
	}{
		"a False condition": {map[string]any{"conditions": []any{map[string]any{"type": "Suspended", "status": "False"}}}, true},
		"a True condition":  {map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}, false},
		"another field":     {map[string]any{"conditions": []any{map[string]any{"type": "Suspended", "status": "False"}}, "ready": int64(1)}, false},
	} {
		with := state.State{"a": {"spec": map[string]any{"x": "y"}, "status": tt.status}}
		if got := len(state.Differences(meaningful(none, s), meaningful(with, s), nil)) == 0; got != tt.equal {
			t.Errorf("%s: equal %t, want %t", name, got, tt.equal)
		}
	}
}

// The order of sets and of maps by keys means nothing, that of other lists does.
func TestTheOrderOfSetsMeansNothing(t *testing.T) {
	list := func(kind string, keys ...string) apiextensionsv1.JSONSchemaProps {
		item := &apiextensionsv1.JSONSchemaProps{Properties: map[string]apiextensionsv1.JSONSchemaProps{"zones": {XListType: new("set")}}}
		return apiextensionsv1.JSONSchemaProps{XListType: &kind, XListMapKeys: keys, Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: item}}
	}
	s := &seed{name: "a", schema: &apiextensionsv1.JSONSchemaProps{Properties: map[string]apiextensionsv1.JSONSchemaProps{"status": {
		Properties:           map[string]apiextensionsv1.JSONSchemaProps{"names": list("set"), "nodes": list("map", "name", "port"), "steps": list("atomic")},
		AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: new(list("set"))},
	}}}}
	node := func(name string, port int64, zones ...any) any {
		return map[string]any{"name": name, "port": port, "zones": zones}
	}
	reached := func(status map[string]any) state.State { return meaningful(state.State{"a": {"status": status}}, s) }
	got := state.Differences(
		reached(map[string]any{"names": []any{"x", "y"}, "steps": []any{"x", "y"}, "more": []any{"x", "y"}, "nodes": []any{node("b", 55300, "p", "q"), node("b", 55301), node("a", 2), node("a", 1)}}),
		reached(map[string]any{"names": []any{"y", "x"}, "steps": []any{"y", "x"}, "more": []any{"y", "x"}, "nodes": []any{node("a", 1), node("b", 55301), node("b", 55300, "q", "p"), node("a", 3)}}), nil)
	want := []state.Difference{{Object: "a", Path: "/status/nodes/*/port"}, {Object: "a", Path: "/status/steps/*"}, {Object: "a", Path: "/status/steps/*"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// reached returns an exploration that knows what leads to a state at once.
func reached(patiently bool, s *seed, steps []generate.Step, objects state.State) *operatorExploration {
	e := &operatorExploration{installation: &installation{}, references: references{references: map[string]*reference{}}}
	e.results.mask = state.Mask{}
	e.reach(patiently, s, steps, objects)
	return e
}

func (e *operatorExploration) reach(patiently bool, s *seed, steps []generate.Step, objects state.State) {
	tr := trial{seed: s, steps: steps, patient: patiently}
	r := &reference{trial: tr, out: &outcome{checkpoints: []checkpoint{{state: objects, quiet: true}}}}
	r.once.Do(func() {})
	e.references.references[fmt.Sprint(tr.patient, tr)] = r
}

// After a fault, an end that was not compared may be a false one, so that it excuses nothing.
func TestAFalseEndExcusesNothing(t *testing.T) {
	s := &seed{name: "runs.example.com default/a"}
	steps := []generate.Step{create, {Verb: generate.Set, Path: "/spec/count", Value: int64(1)}}
	ended := state.State{s.name: {"status": map[string]any{"completionTime": "<time>"}}}
	other := state.State{s.name: ended[s.name], "configmaps default/a": {}}
	e := reached(false, s, steps, ended)
	for name, tt := range map[string]struct {
		fault schedule
		want  int
	}{"without a fault": {nil, 0}, "after a fault": {schedule{{effect: crashAfter}}, 1}} {
		out := &outcome{checkpoints: []checkpoint{{step: 0, state: ended, quiet: true}, {step: 1, state: other, desired: steps, quiet: true}}}
		if got := e.problems(trial{seed: s, steps: steps, fault: tt.fault}, out); len(got) != tt.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Two runs that write a set in another order do not differ, and mask nothing.
func TestTheOrderOfASetIsNoNoise(t *testing.T) {
	s := &seed{name: "a", schema: &apiextensionsv1.JSONSchemaProps{Properties: map[string]apiextensionsv1.JSONSchemaProps{
		"status": {Properties: map[string]apiextensionsv1.JSONSchemaProps{"names": {XListType: new("set")}}}}}}
	status := func(password string, names ...any) state.State {
		return state.State{"a": {"status": map[string]any{"names": names, "password": password}}}
	}
	steps := []generate.Step{create}
	e := reached(false, s, steps, status("x", "p", "q"))
	e.reach(true, s, steps, status("y", "q", "p"))
	e.learnNoise(trial{seed: s, steps: steps}, &outcome{checkpoints: []checkpoint{{desired: steps, quiet: true}}})
	if diff := cmp.Diff(state.Mask{{Object: "a", Path: "/status/password"}: true}, e.results.mask); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A copy may have defaults besides; another value, a missing field and an item more are no copy.
func TestACopyMayHaveDefaults(t *testing.T) {
	port := map[string]any{"containerPort": int64(80), "name": "web", "protocol": "TCP"}
	for name, tt := range map[string]struct {
		copied, from any
		want         bool
	}{
		"a default":       {port, map[string]any{"containerPort": float64(80), "name": "web"}, true},
		"the same":        {port, port, true},
		"another value":   {port, map[string]any{"containerPort": int64(81), "name": "web"}, false},
		"a missing field": {port, map[string]any{"containerPort": int64(80), "hostIP": "a"}, false},
		"nothing":         {port, map[string]any{}, false},
		"texts":           {"a", "a", true},
		"other texts":     {"a", "b", false},
		"lists":           {[]any{"a"}, []any{"a", "b"}, false},
	} {
		if got := holds(tt.copied, tt.from); got != tt.want {
			t.Errorf("%s: got %t, want %t", name, got, tt.want)
		}
	}
}
