package explore

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/fakecluster/fakecluster/inspect"
)

// maker says who has made an object. Controllers of the cluster make objects for others: a ReplicaSet and its Pods
// for the maker of the Deployment.
type maker int

const (
	otherMaker    maker = iota // a user, a step of the trial, or the cluster for itself
	operatorMaker              // the operator has created the object
	clusterMaker               // the cluster has created it for an owner that the operator has made
)

// makerOf returns the maker of an object, which may have been deleted.
func (p *player) makerOf(u *unstructured.Unstructured) maker {
	if known, ok := p.makers[u.GetUID()]; ok {
		return known
	}
	p.makers[u.GetUID()] = otherMaker // also for an object that is its own owner
	history := p.revisionsOf(u)
	if len(history) == 0 {
		return otherMaker
	}
	made := otherMaker
	for _, r := range history[0].Object.GetOwnerReferences() {
		owner := &unstructured.Unstructured{Object: map[string]any{"apiVersion": r.APIVersion, "kind": r.Kind}}
		owner.SetNamespace(u.GetNamespace())
		owner.SetName(r.Name)
		owner.SetUID(r.UID)
		if p.makerOf(owner) != otherMaker {
			made = clusterMaker
		}
	}
	if fromOperator(history[0].AuditID) {
		made = operatorMaker
	}
	p.makers[u.GetUID()] = made
	return made
}

// operatorDeleted reports whether the operator has deleted an object, rather than somebody else.
func (p *player) operatorDeleted(u *unstructured.Unstructured) bool {
	history := p.revisionsOf(u)
	first := slices.IndexFunc(history, func(r inspect.Revision) bool {
		return r.Event == watch.Deleted || r.Object.GetDeletionTimestamp() != nil
	})
	return first >= 0 && fromOperator(history[first].AuditID)
}

// revisionsOf returns the history of an object, without that of others with its name.
func (p *player) revisionsOf(u *unstructured.Unstructured) inspect.History {
	history, err := p.run.cluster.History(u)
	if err != nil {
		return nil // its kind is not served any more
	}
	return slices.DeleteFunc(history, func(r inspect.Revision) bool { return r.Object.GetUID() != u.GetUID() })
}
