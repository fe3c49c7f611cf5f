package explore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fakecluster/fakecluster/explore/internal/state"
	"github.com/fakecluster/fakecluster/inspect"
)

// withNeighbor returns a seed whose custom resource differs only in its name.
func (s *seed) withNeighbor(name string) *seed {
	other := *s
	other.neighbor, other.namesake = nil, nil
	other.object = s.object.DeepCopy()
	other.object.SetName(name)
	other.name = state.Name(s.resource.GroupResource().String(), s.object.GetNamespace(), name)
	return &other
}

// otherNamespace is the namespace of the namesakes. It exists in all trials, because an operator may
// reconcile each Namespace.
const otherNamespace = "explored"

// withNamesake returns a seed whose custom resource is in another namespace, with the objects that it needs
// there; nil: the custom resource has no namespace.
func (s *seed) withNamesake() *seed {
	if s.object.GetNamespace() == "" || s.object.GetNamespace() == otherNamespace {
		return nil
	}
	other := s.withNeighbor(s.object.GetName())
	other.object.SetNamespace(otherNamespace)
	other.name = state.Name(s.resource.GroupResource().String(), otherNamespace, s.object.GetName())
	other.needs = nil
	for _, n := range s.needs {
		if n.object.GetNamespace() == s.object.GetNamespace() {
			n.object = n.object.DeepCopy()
			n.object.SetNamespace(otherNamespace)
			n.name = state.Name(n.resource.GroupResource().String(), otherNamespace, n.object.GetName())
		}
		other.needs = append(other.needs, n)
	}
	return other
}

// isServedEverywhere reports whether the operator has listed or watched the custom resources of all
// namespaces in a trial.
func (s *seed) isServedEverywhere(out *outcome) bool {
	return slices.ContainsFunc(out.requests, func(r inspect.Request) bool {
		return (r.Verb == "list" || r.Verb == "watch") && r.Namespace == "" && r.Resource == s.resource.Resource && r.Group == s.resource.Group
	})
}

// besides returns the seeds of the neighbors and the namesakes.
func (e *operatorExploration) besides() (found []*seed) {
	for _, s := range slices.Concat(e.seeds, e.longSeeds) {
		for _, other := range []*seed{s.neighbor, s.namesake} {
			if other != nil {
				found = append(found, other)
			}
		}
	}
	return found
}

// createBeside creates another custom resource. Before that it creates missing objects that the custom
// resource needs, and waits until the operator is quiet.
func (p *player) createBeside(other *seed) error {
	created := false
	for _, n := range other.needs {
		if p.withdrawn[n.name] {
			continue
		}
		_, err := p.client.Resource(n.resource).Namespace(n.object.GetNamespace()).Create(context.Background(), n.object.DeepCopy(), createOptions)
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		created = created || err == nil
	}
	if created && !p.settle(p.step) {
		return errors.New("the operator does not come to rest with what the custom resource needs")
	}
	p.beside = other
	_, err := p.client.Resource(p.resource).Namespace(other.object.GetNamespace()).Create(context.Background(), other.object.DeepCopy(), createOptions)
	return err
}

// expectation is the state to which a custom resource leads when there is no other.
type expectation struct {
	name      string // of the custom resource
	reference *reference
}

// apart returns the state to which each of the custom resources at a checkpoint leads when there is no other.
func (e *operatorExploration) apart(tr trial, c checkpoint) (each []expectation) {
	if c.desired != nil {
		each = append(each, expectation{tr.seed.name, e.reference(tr, c)})
	}
	if c.neighbor != nil {
		other := c.beside
		each = append(each, expectation{other.name, e.reference(trial{seed: other, patient: tr.patient}, checkpoint{desired: c.neighbor})})
	}
	return each
}

// compareNeighbors compares the state of two custom resources with the states to which each of them leads
// when there is no other.
func (e *operatorExploration) compareNeighbors(tr trial, c checkpoint) (found []problem) {
	if !c.quiet || c.occupied != "" || isPaused(c.object) || !e.subject.checks(LeavesOthersAlone) {
		return nil
	}
	failed := c.stuck != "" || c.failed
	add := func(p problem) {
		if !slices.ContainsFunc(found, func(f problem) bool { return f.key == p.key }) {
			found = append(found, p)
		}
	}
	want := state.State{}
	var direct []checkpoint
	by := map[string]expectation{} // by object: the custom resource that leads to it
	conflict := map[string]bool{}  // of custom resources, by name
	others := map[string]*seed{tr.seed.name: c.beside, c.beside.name: tr.seed}
	for _, a := range e.apart(tr, c) {
		reached := a.reference.state()
		if reached == nil {
			return nil
		}
		direct = append(direct, a.reference.checkpoint())
		conflict[a.name] = slices.ContainsFunc(a.reference.trial.seed.reporting(others[a.name]), func(name string) bool { return conflicts(reached[name], c.state[name]) })
		for _, name := range slices.Sorted(maps.Keys(reached)) {
			other, shared := by[name]
			if !shared {
				by[name] = a
				if !conflict[a.name] {
					want[name] = reached[name]
				}
				continue
			}
			delete(want, name) // it may be a sum of both
			if p := cannotShare(c, name, other, a); p != nil {
				if !c.failed && !tr.seed.refersTo(name) {
					add(*p)
				}
			} else if p := e.contested(c, name, other, a); p != nil && !failed && !conflict[a.name] && !conflict[other.name] {
				add(*p)
			}
		}
	}
	if failed {
		return found
	}
	got := maps.Clone(c.state)
	maps.DeleteFunc(got, func(name string, _ map[string]any) bool { return want[name] == nil })
	for _, s := range []*seed{tr.seed, c.beside} {
		want, got = meaningful(want, s), meaningful(got, s)
	}
	differences := state.Differences(want, got, e.results.mask)
	if len(differences) > 0 && e.causedByCluster(tr.seed, func(name string) bool { return want[name] != nil }, c, direct...) {
		return found
	}
	for _, d := range differences {
		a := by[d.Object]
		p := problem{oracle: LeavesOthersAlone, key: keyOf(d), step: c.step, compared: true, what: describe(d, len(differences)-1),
			expected: a.reference.trial.steps, detail: state.Diff(want[d.Object], got[d.Object])}
		if a.name != tr.seed.name {
			p.what += ", because of " + tr.seed.name
		} else {
			p.what += ", because of " + c.beside.name
		}
		add(p)
	}
	return found
}

// contested returns the problem of an object to which two custom resources lead with different content, if it
// has the content of one of them: then the other one lacks what it needs. An object with content of both may
// be meant for both, and is not a problem.
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

// refersTo reports whether the spec of the sample contains the name of an object. Then the user wants both
// custom resources to use it.
func (s *seed) refersTo(name string) bool {
	return refersTo(s.object.Object["spec"], name[strings.LastIndexAny(name, " /")+1:])
}

// cannotShare returns the problem of an object to which two custom resources lead, if each of them wants to
// be its controller.
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

// reporting returns the names of the custom resources whose status may report a conflict with another custom
// resource: the custom resource itself, and those that it needs and the other one does not.
func (s *seed) reporting(other *seed) []string {
	names := []string{s.name}
	for _, n := range s.needs {
		if n.schema != nil && !slices.ContainsFunc(other.needs, func(o need) bool { return o.name == n.name }) {
			names = append(names, n.name)
		}
	}
	return names
}

// conflicts reports whether the status of a custom resource reports a problem that it does not have when
// there is no other. Two custom resources may conflict, and then nothing is required of the one that reports
// it.
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
