package explore

import (
	"fmt"

	"github.com/fakecluster/fakecluster/explore/internal/state"
	"github.com/fakecluster/fakecluster/fakecluster"
)

// Invariant is a condition on the objects of a resource that must hold in every trial. Make one with
// [Always], [Never] or [Eventually]. Objects that are being deleted are not checked.
type Invariant struct {
	name, resource string
	condition      fakecluster.Condition
	quantifier     quantifier
}

// quantifier says in which states an invariant holds.
type quantifier int

const (
	always quantifier = iota
	never
	eventually
)

// Always requires that each object of a resource, such as deployments.apps, meets the condition in
// each of its states. The name is for reports. A condition is an expression or a function:
//
//	fakecluster.CEL("object.spec.replicas >= 1")
//	fakecluster.When(func(d *appsv1.Deployment) bool { … })
func Always(name, resource string, condition fakecluster.Condition) Invariant {
	return Invariant{name, resource, condition, always}
}

// Never requires that no object of a resource meets the condition in any of its states.
func Never(name, resource string, condition fakecluster.Condition) Invariant {
	return Invariant{name, resource, condition, never}
}

// Eventually requires that each object of a resource meets the condition after each step, once the operator
// is quiet.
func Eventually(name, resource string, condition fakecluster.Condition) Invariant {
	return Invariant{name, resource, condition, eventually}
}

// checkInvariants checks the objects of the trial after a step.
func (p *player) checkInvariants(objects []state.Object) {
	for _, v := range p.subject.Invariants {
		for _, o := range objects {
			if o.Resource != v.resource || o.GetDeletionTimestamp() != nil {
				continue
			}
			if broken := p.breaks(v, o); broken != "" {
				p.report(problem{oracle: Holds, key: v.name, step: p.step, what: fmt.Sprintf("%s: %s breaks the invariant", v.name, o.Name()), detail: broken})
				break
			}
		}
	}
}

// breaks returns how an object breaks an invariant, or "".
func (p *player) breaks(v Invariant, o state.Object) string {
	if v.quantifier == eventually {
		unmet, err := v.condition.Unmet(o.Unstructured)
		if err != nil {
			return err.Error()
		}
		return unmet
	}
	history, err := p.run.cluster.History(o.Unstructured)
	if err != nil {
		return ""
	}
	for _, revision := range history {
		unmet, err := v.condition.Unmet(revision.Object)
		switch {
		case err != nil:
			return err.Error()
		case v.quantifier == always && unmet != "":
			return unmet + ", after the " + revision.Verb + " by " + revision.Client()
		case v.quantifier == never && unmet == "":
			return "the condition was met after the " + revision.Verb + " by " + revision.Client()
		}
	}
	return ""
}
