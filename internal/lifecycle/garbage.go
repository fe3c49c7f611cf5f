package lifecycle

import (
	"context"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// This file follows k8s.io/kubernetes' pkg/controller/garbagecollector: which changes it looks
// at, and what it does about them.

// item is an object that the collector looks at.
type item struct {
	ownership
	resource *resource.Resource
	record   store.Record
}

// read reads an object. It returns nil if there is none, or if its resource is not served.
func (r *Reactor) read(list *tasks, key string) (*item, error) {
	res, err := r.resourceOf(list, key)
	if res == nil || err != nil {
		return nil, err
	}
	record, err := r.server.Read(key)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return &item{ownershipOf(record.Value), res, record}, err
}

// verifyOwners looks up the owners that a change has added to an object. If one of them does
// not exist, the object may be garbage.
func (r *Reactor) verifyOwners(list *tasks, key string) error {
	it, err := r.read(list, key)
	if it == nil || err != nil {
		return err
	}
	owners, err := r.classify(list, it)
	if err != nil || owners.unknown {
		return err
	}
	if len(owners.dangling) > 0 {
		list.add(collectGarbage, key)
		return nil
	}
	r.graph.done(key, it.record.Revision, r.server.Revision())
	return nil
}

// collectGarbage decides about one object. If its delete is refused, the next write of the
// object tries again.
func (r *Reactor) collectGarbage(ctx context.Context, list *tasks, key string) error {
	it, err := r.read(list, key)
	if it == nil || err != nil {
		return err
	}
	decided, err := r.decide(ctx, list, it)
	switch {
	case errors.Is(err, ErrConflict):
	case err != nil && !apierrors.IsNotFound(err):
		list.refuse(task{collectGarbage, key})
		r.graph.postpone(key, it.record.Revision)
	case !decided:
		r.graph.postpone(key, it.record.Revision)
	default:
		r.graph.done(key, it.record.Revision, r.server.Revision())
	}
	return err
}

// decide handles the dependents of an object that waits for them. Any other object it deletes
// if none of its owners is left.
func (r *Reactor) decide(ctx context.Context, list *tasks, it *item) (decided bool, err error) {
	switch {
	case it.orphansDependents():
		return true, r.orphanDependents(ctx, list, it)
	case it.deletesDependents():
		return true, r.awaitDependents(ctx, list, it)
	case it.deleting || len(it.owners) == 0:
		return true, nil
	}
	owners, err := r.classify(list, it)
	if err != nil || owners.unknown {
		return false, err
	}
	return true, r.judge(ctx, list, it, owners)
}

// judge looks up the owners of an object. Depending on them it deletes the object, removes
// the references to owners that are gone, or leaves it alone.
func (r *Reactor) judge(ctx context.Context, list *tasks, it *item, owners owners) error {
	switch {
	case owners.misplaced:
		return nil
	case len(owners.solid) > 0:
		released := append(owners.dangling, owners.waiting...)
		if len(released) == 0 {
			return nil
		}
		return r.release(ctx, it, released...)
	case len(owners.waiting) > 0:
		if dependents := r.graph.dependentsOf(it.uid); len(dependents) > 0 {
			return r.deleteInForeground(ctx, list, it, dependents)
		}
	}
	policy := metav1.DeletePropagationBackground
	switch {
	case slices.Contains(it.finalizers, metav1.FinalizerOrphanDependents):
		policy = metav1.DeletePropagationOrphan
	case slices.Contains(it.finalizers, metav1.FinalizerDeleteDependents):
		policy = metav1.DeletePropagationForeground
	}
	return r.server.Collect(ctx, it.resource, it.record, policy)
}

// deleteInForeground deletes an object in the foreground, because its owner is deleted so. If
// a dependent of the object waits for its own dependents, all of them may wait for each other
// in a circle. To break it, the object stops blocking its owners first.
func (r *Reactor) deleteInForeground(ctx context.Context, list *tasks, it *item, dependents []string) error {
	for _, key := range dependents {
		dependent, err := r.read(list, key)
		if err != nil {
			return err
		}
		if dependent == nil || !dependent.deletesDependents() {
			continue
		}
		if err := r.unblock(ctx, it); err != nil {
			return err
		}
		if it, err = r.read(list, it.record.Key); it == nil || err != nil {
			return err
		}
		break
	}
	return r.server.Collect(ctx, it.resource, it.record, metav1.DeletePropagationForeground)
}

// unblock sets blockOwnerDeletion to false in all references of an object.
func (r *Reactor) unblock(ctx context.Context, it *item) error {
	return r.server.Amend(ctx, it.resource, it.record, func(metadata metav1.Object) {
		owners := metadata.GetOwnerReferences()
		for i := range owners {
			// A kind without strategic merge patches gets a merge patch, which replaces
			// the whole list.
			if blocks(owners[i]) || it.resource.Storage.Patches.StrategicMerge == nil {
				owners[i].BlockOwnerDeletion = new(bool)
			}
		}
		metadata.SetOwnerReferences(owners)
	})
}

// release removes the references to some owners from an object.
func (r *Reactor) release(ctx context.Context, it *item, uids ...types.UID) error {
	return r.server.Amend(ctx, it.resource, it.record, func(metadata metav1.Object) {
		kept := slices.DeleteFunc(metadata.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return slices.Contains(uids, o.UID) })
		if len(kept) == 0 {
			kept = nil
		}
		metadata.SetOwnerReferences(kept)
	})
}

// awaitDependents removes the finalizer of foreground deletion from an object when no
// dependent blocks its deletion any more. It adds tasks for the dependents whose deletion has
// not begun.
func (r *Reactor) awaitDependents(ctx context.Context, list *tasks, it *item) error {
	remaining, blocked := r.graph.blockingDependentsOf(it.uid)
	if blocked {
		list.add(collectGarbage, remaining...)
		return nil
	}
	return r.removeFinalizer(ctx, it, metav1.FinalizerDeleteDependents)
}

// orphanDependents removes the references to an object from its dependents, and then its
// finalizer.
func (r *Reactor) orphanDependents(ctx context.Context, list *tasks, it *item) error {
	var failed []error
	for _, key := range r.graph.dependentsOf(it.uid) {
		if err := r.orphan(ctx, list, key, types.UID(it.uid)); err != nil && !apierrors.IsNotFound(err) {
			failed = append(failed, err)
		}
	}
	if err := utilerrors.NewAggregate(failed); err != nil {
		return err
	}
	return r.removeFinalizer(ctx, it, metav1.FinalizerOrphanDependents)
}

// orphan removes the reference to an owner from one dependent.
func (r *Reactor) orphan(ctx context.Context, list *tasks, key string, owner types.UID) error {
	dependent, err := r.read(list, key)
	if dependent == nil || err != nil {
		return err
	}
	return r.release(ctx, dependent, owner)
}

func (r *Reactor) removeFinalizer(ctx context.Context, it *item, finalizer string) error {
	return r.server.Amend(ctx, it.resource, it.record, func(metadata metav1.Object) {
		metadata.SetFinalizers(slices.DeleteFunc(metadata.GetFinalizers(), func(f string) bool { return f == finalizer }))
	})
}

// owners holds the references of an object, by the state of the owners.
type owners struct {
	solid    []types.UID
	dangling []types.UID
	waiting  []types.UID // these wait for the deletion of their dependents

	// misplaced says that a cluster-scoped object names a namespaced owner. The collector
	// leaves such an object alone.
	misplaced bool
	// unknown says that the kind of an owner is not served, so that the collector cannot
	// tell whether the owner exists.
	unknown bool
}

// classify looks up the present state of the owners of an object. It stops at the first owner
// that makes a decision impossible.
func (r *Reactor) classify(list *tasks, it *item) (owners, error) {
	var all owners
	for _, reference := range it.owners {
		if namespace, gone := r.graph.isGone(string(reference.UID)); gone {
			// The graph knows that it is gone. Its resource may be gone too.
			if namespace != "" && it.namespace == "" {
				return owners{misplaced: true}, nil
			}
			all.dangling = append(all.dangling, reference.UID)
			continue
		}
		res, err := r.kindOf(list, schema.FromAPIVersionAndKind(reference.APIVersion, reference.Kind))
		switch {
		case err != nil:
			return owners{}, err
		case res == nil:
			return owners{unknown: true}, nil
		case res.Namespaced && it.namespace == "":
			return owners{misplaced: true}, nil
		}
		record, err := r.server.Read(res.Key(it.namespace, reference.Name))
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return owners{}, err
		}
		switch owner := ownershipOf(record.Value); {
		case owner.uid != string(reference.UID): // the uid is empty if there is no such object
			all.dangling = append(all.dangling, reference.UID)
		case owner.deletesDependents():
			all.waiting = append(all.waiting, reference.UID)
		default:
			all.solid = append(all.solid, reference.UID)
		}
	}
	return all, nil
}

// kindOf returns the resource that serves a kind, or nil.
func (r *Reactor) kindOf(list *tasks, kind schema.GroupVersionKind) (*resource.Resource, error) {
	return lookUp(r, list, func(c *resource.Catalogue) *resource.Resource { return c.Kind(kind) })
}

// resourceOf returns the resource of a store key, or nil.
func (r *Reactor) resourceOf(list *tasks, key string) (*resource.Resource, error) {
	return lookUp(r, list, func(c *resource.Catalogue) *resource.Resource { return c.ResourceOf(key) })
}

// lookUp searches the catalogue that the list of tasks has read before. If that does not
// have the resource, it searches the present one.
func lookUp(r *Reactor, list *tasks, find func(*resource.Catalogue) *resource.Resource) (*resource.Resource, error) {
	if list.catalogue != nil {
		if res := find(list.catalogue); res != nil {
			return res, nil
		}
	}
	var err error
	if list.catalogue, err = r.server.Catalogue(); err != nil {
		return nil, err
	}
	return find(list.catalogue), nil
}
