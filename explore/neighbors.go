package explore

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fakecluster/fakecluster/explore/internal/state"
)

// withNeighbor returns a seed whose custom resource is equal but for its name.
func (s *seed) withNeighbor() *seed {
	other := *s
	other.object = s.object.DeepCopy()
	other.object.SetName(s.object.GetName() + "-neighbor")
	other.name = s.name + "-neighbor"
	return &other
}

// neighbors returns the seeds of the neighbors.
func (e *operatorExploration) neighbors() (others []*seed) {
	for _, s := range e.seeds {
		others = append(others, s.neighbor)
	}
	return others
}

// expectation is what a custom resource leads to when there is no other.
type expectation struct {
	name      string // of the custom resource
	reference *reference
}

// apart returns what each of the custom resources at a checkpoint leads to when there is no other.
func (e *operatorExploration) apart(tr trial, c checkpoint) (each []expectation) {
	if c.desired != nil {
		each = append(each, expectation{tr.seed.name, e.reference(tr, c)})
	}
	if c.neighbor != nil {
		other := tr.seed.neighbor
		each = append(each, expectation{other.name, e.reference(trial{seed: other, patient: tr.patient}, checkpoint{desired: c.neighbor})})
	}
	return each
}

// compareNeighbors compares what two custom resources have led to with what each of them leads to when there is no other.
func (e *operatorExploration) compareNeighbors(tr trial, c checkpoint) (found []problem) {
	if !c.quiet || c.stuck != "" || c.failed || c.occupied != "" || isPaused(c.object) || !e.subject.checks(LeavesOthersAlone) {
		return nil
	}
	add := func(p problem) {
		if !slices.ContainsFunc(found, func(f problem) bool { return f.key == p.key }) {
			found = append(found, p)
		}
	}
	want := state.State{}
	by := map[string]expectation{} // whose an object is
	for _, a := range e.apart(tr, c) {
		reached := a.reference.state()
		if reached == nil {
			return nil
		}
		conflict := conflicts(reached[a.name], c.state[a.name])
		for _, name := range slices.Sorted(maps.Keys(reached)) {
			object := reached[name]
			other, shared := by[name]
			if shared {
				if p := cannotShare(c, name, other, a); p != nil {
					add(*p)
					delete(want, name)
					continue
				}
			}
			if conflict {
				continue
			}
			if !shared {
				want[name], by[name] = object, a
				continue
			}
			if p := e.contested(c, name, other, a); p != nil {
				add(*p)
			}
			delete(want, name) // it may be a sum of both
		}
	}
	got := maps.Clone(c.state)
	maps.DeleteFunc(got, func(name string, _ map[string]any) bool { return want[name] == nil })
	for _, s := range []*seed{tr.seed, tr.seed.neighbor} {
		want, got = meaningful(want, s), meaningful(got, s)
	}
	differences := state.Differences(want, got, e.results.mask)
	for _, d := range differences {
		a := by[d.Object]
		p := problem{oracle: LeavesOthersAlone, key: keyOf(d), step: c.step, compared: true, what: describe(d, len(differences)-1),
			expected: a.reference.trial.steps, detail: state.Diff(want[d.Object], got[d.Object])}
		if a.name != tr.seed.name {
			p.what += ", because of " + tr.seed.name
		} else {
			p.what += ", because of " + tr.seed.neighbor.name
		}
		add(p)
	}
	return found
}

// contested returns the problem of an object that two custom resources lead to, with another content each, if it has the content of one of them:
// then the other one does not have what it needs. An object that has something of both may be meant for both.
func (e *operatorExploration) contested(c checkpoint, name string, one, other expectation) *problem {
	wanted, otherWanted, got := one.reference.state()[name], other.reference.state()[name], c.state[name]
	equal := func(a, b map[string]any) bool {
		return len(state.Differences(state.State{name: a}, state.State{name: b}, e.results.mask)) == 0
	}
	if got == nil || strings.Contains(name, "*") || equal(wanted, otherWanted) {
		return nil
	}
	if equal(otherWanted, got) {
		one, other = other, one
	} else if !equal(wanted, got) {
		return nil
	}
	resource, _, _ := strings.Cut(name, " ")
	return &problem{oracle: LeavesOthersAlone, key: "contested " + resource, step: c.step, compared: true, expected: other.reference.trial.steps,
		what:   fmt.Sprintf("%s and %s have the same %s, and it is as %s alone needs it", one.name, other.name, name, one.name),
		detail: state.Diff(other.reference.state()[name], got)}
}

// cannotShare returns the problem of an object that two custom resources lead to, and that each of them wants to control.
func cannotShare(c checkpoint, name string, one, other expectation) *problem {
	first, second := controllerIn(one.reference.state()[name]), controllerIn(other.reference.state()[name])
	if strings.Contains(name, "*") || first == "" || second == "" || first == second {
		return nil
	}
	resource, _, _ := strings.Cut(name, " ")
	return &problem{oracle: LeavesOthersAlone, key: "contested " + resource, step: c.step,
		what: fmt.Sprintf("%s and %s lead to the same %s, which can only have one controller", one.name, other.name, name)}
}

// controllerIn names the controller of an object of a state; empty: it has none.
func controllerIn(object map[string]any) string {
	owners, _, _ := unstructured.NestedSlice(object, "metadata", "ownerReferences")
	for _, o := range owners {
		if owner, ok := o.(map[string]any); ok && owner["controller"] == true {
			return fmt.Sprint(owner["kind"], " ", owner["name"])
		}
	}
	return ""
}

// conflicts reports whether the status of a custom resource says that it cannot be what it is when there is no other: two of them may
// well be in each other's way, and then nothing is demanded of that one.
func conflicts(want, got map[string]any) bool {
	before, _ := want["status"].(map[string]any)
	now, _ := got["status"].(map[string]any)
	if len(state.Differences(state.State{"": before}, state.State{"": now}, nil)) == 0 {
		return false
	}
	if troubled.MatchString(fmt.Sprint(now)) && !troubled.MatchString(fmt.Sprint(before)) {
		return true
	}
	return slices.ContainsFunc(untrue(now), func(condition string) bool { return !slices.Contains(untrue(before), condition) })
}

// untrue returns the types of the conditions of a status that are not True.
func untrue(status map[string]any) (types []string) {
	conditions, _ := status["conditions"].([]any)
	for _, c := range conditions {
		if condition, ok := c.(map[string]any); ok && condition["status"] != "True" {
			types = append(types, fmt.Sprint(condition["type"]))
		}
	}
	return types
}
