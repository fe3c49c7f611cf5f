package controller

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/write"
	"github.com/fakecluster/fakecluster/store"
)

// This file follows k8s.io/kubernetes' pkg/controller/garbagecollector.

// garbageCollector deletes objects whose owners are gone, and completes foreground and orphan deletions. Its graph has
// the owner references. The name in a key is the store key of an object.
func garbageCollector() *controller {
	g := &collector{newGraph()}
	return &controller{
		identity: ServiceAccount("generic-garbage-collector"),
		follows:  []followed{{kind: anyKind, concerns: g.follow}},
		resume: func(s *step, revision int64) error {
			return g.graph.resume(objects{s}, func(k key) { s.enqueue(k) }, revision)
		},
		inherit: func(from *controller, revision int64) { g.graph = from.state.(*collector).graph.copy(revision) },
		sync: func(s *step, k key) error {
			if k.task == verifyOwners {
				return g.verifyOwners(s, k.name)
			}
			return g.collectGarbage(s, k.name)
		},
		resyncs: true, // a foreground deletion makes the object itself wait for its dependents
		state:   g,
	}
}

// collector is the state of the garbage collector.
type collector struct{ graph *graph }

// verifyOwners is the task of a key for an object whose new owners must be checked. Other keys are for objects that may
// be garbage, or wait for their dependents.
const verifyOwners = "owners"

// objects reads the objects of all resources, for the graph.
type objects struct{ *step }

func (o objects) everything() (store.List, error) {
	return o.server.Records.List("", store.ListOptions{})
}

func (o objects) watch(after int64) (*store.Cursor, error) { return o.server.Records.Watch("", after) }

func (o objects) oldest() int64 { return o.server.Records.Oldest() }

// ignored reports whether the garbage collector ignores the object with a key. It ignores Events, which that of a real
// cluster does not watch either.
func (s *step) ignored(key string) bool {
	events := s.server.Cluster.Registry().Resource("", "events")
	return events != nil && strings.HasPrefix(key, events.Prefix)
}

// follow enqueues the owners and dependents that a commit concerns.
func (g *collector) follow(s *step, c change) error {
	g.graph.mu.Lock()
	defer g.graph.mu.Unlock()
	if err := g.graph.follow(objects{s}, c.Record.Revision); err != nil {
		return err
	}
	enqueue := func(k key) { s.enqueue(k) }
	g.graph.enqueue(enqueue, c.Commit)
	if definitions.matches(c.Resource) && !c.Deleted {
		// A reference may have a kind that is served only from now on.
		g.graph.enqueueDue(enqueue)
	}
	return nil
}

// owned is an object that the collector processes.
type owned struct {
	ownership
	resource *resource.Resource
	record   store.Record
}

// read reads the object with a store key. It returns nil if it does not exist, or if its resource is not served. Later
// changes of the object do not stop writes of the step to other objects: the graph follows each change, and enqueues
// what it concerns.
func read(s *step, stored string) (*owned, error) {
	registry, err := s.server.Registry()
	if err != nil {
		return nil, err
	}
	res := registry.ResourceOf(stored)
	if res == nil {
		return nil, nil
	}
	record, err := s.server.Records.Get(stored)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return &owned{ownershipOf(record.Value), res, record}, err
}

// amend changes the finalizers or the owners of an object.
func amend(s *step, it *owned, change func(metav1.Object)) error {
	v := s.controller.identity.Version(it.resource)
	current, err := s.server.Memory.Decode(v, it.record)
	if err != nil {
		return err
	}
	body, err := metadataPatch(v.Codec.Copy(current.Object), change)
	if err != nil {
		return err
	}
	return s.write("patch", v, it.resource.NamespaceOf(it.record.Key), it.resource.NameOf(it.record.Key), write.Request{
		Revision: it.record.Revision,
		Change:   write.Patch{Type: types.MergePatchType, Body: body, Validation: metav1.FieldValidationIgnore},
	})
}

// metadataPatch returns a merge patch of what change does to the finalizers and owners of obj. It alters obj.
func metadataPatch(obj runtime.Object, change func(metav1.Object)) ([]byte, error) {
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	finalizers, owners := slices.Clone(metadata.GetFinalizers()), slices.Clone(metadata.GetOwnerReferences())
	change(metadata)
	patch := map[string]any{"resourceVersion": metadata.GetResourceVersion()}
	if current := metadata.GetFinalizers(); !slices.Equal(current, finalizers) {
		patch["finalizers"] = orNull(current)
	}
	if current := metadata.GetOwnerReferences(); !equality.Semantic.DeepEqual(current, owners) {
		patch["ownerReferences"] = orNull(current)
	}
	return json.Marshal(map[string]any{"metadata": patch})
}

// orNull returns a list, or nil if it is empty, which removes the field.
func orNull[T any](list []T) any {
	if len(list) == 0 {
		return nil
	}
	return list
}

// remove deletes an object.
func remove(s *step, it *owned, policy metav1.DeletionPropagation) error {
	uid, revision := types.UID(gjson.Get(it.record.Value, "metadata.uid").Str), strconv.FormatInt(it.record.Revision, 10)
	return s.write("delete", s.controller.identity.Version(it.resource), it.resource.NamespaceOf(it.record.Key), it.resource.NameOf(it.record.Key), write.Request{
		Revision: it.record.Revision,
		Change: write.Delete{Options: &metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &revision}, PropagationPolicy: &policy,
		}},
	})
}

// verifyOwners looks up the owners that a change has added to an object. If one of them does not exist, it enqueues the
// object.
func (g *collector) verifyOwners(s *step, stored string) error {
	it, err := read(s, stored)
	if it == nil || err != nil {
		return err
	}
	owners, err := g.classify(s, it)
	if err != nil || owners.unknown {
		return err
	}
	if len(owners.dangling) > 0 {
		s.enqueue(key{name: stored})
		return nil
	}
	g.graph.done(stored, it.record.Revision, s.server.Records.Revision())
	return nil
}

// collectGarbage processes one object. If its delete is rejected, the next write of the object tries again.
func (g *collector) collectGarbage(s *step, stored string) error {
	it, err := read(s, stored)
	if it == nil || err != nil {
		return err
	}
	decided, err := g.decide(s, it)
	switch {
	case errors.Is(err, errConflict):
	case err != nil && !apierrors.IsNotFound(err):
		s.refuse()
		g.graph.postpone(stored, it.record.Revision)
	case !decided:
		g.graph.postpone(stored, it.record.Revision)
	default:
		g.graph.done(stored, it.record.Revision, s.server.Records.Revision())
	}
	return err
}

// decide processes the dependents of an object that waits for them. It deletes any other object if none of its owners
// exists.
func (g *collector) decide(s *step, it *owned) (decided bool, err error) {
	switch {
	case it.orphansDependents():
		return true, g.orphanDependents(s, it)
	case it.deletesDependents():
		return true, g.awaitDependents(s, it)
	case it.deleting || len(it.owners) == 0:
		return true, nil
	}
	owners, err := g.classify(s, it)
	if err != nil || owners.unknown {
		return false, err
	}
	if err := g.report(s, it, owners.dangling); err != nil {
		return false, err
	}
	return true, g.evaluate(s, it, owners)
}

// evaluate deletes an object, removes the references to owners that are gone, or does nothing, depending on its owners.
func (g *collector) evaluate(s *step, it *owned, owners owners) error {
	switch {
	case owners.misplaced:
		return nil
	case len(owners.solid) > 0:
		released := append(owners.dangling, owners.waiting...)
		if len(released) == 0 {
			return nil
		}
		return g.release(s, it, released...)
	case len(owners.waiting) > 0:
		if dependents := g.graph.dependentsOf(it.uid); len(dependents) > 0 {
			return g.deleteInForeground(s, it, dependents)
		}
	}
	policy := metav1.DeletePropagationBackground
	switch {
	case slices.Contains(it.finalizers, metav1.FinalizerOrphanDependents):
		policy = metav1.DeletePropagationOrphan
	case slices.Contains(it.finalizers, metav1.FinalizerDeleteDependents):
		policy = metav1.DeletePropagationForeground
	}
	return remove(s, it, policy)
}

// deleteInForeground deletes an object in the foreground, because its owner is. If a dependent of the object waits for
// its own dependents, there may be a cycle. To break it, the object first stops blocking its owners.
func (g *collector) deleteInForeground(s *step, it *owned, dependents []string) error {
	for _, stored := range dependents {
		dependent, err := read(s, stored)
		if err != nil {
			return err
		}
		if dependent == nil || !dependent.deletesDependents() {
			continue
		}
		if err := g.unblock(s, it); err != nil {
			return err
		}
		if it, err = read(s, it.record.Key); it == nil || err != nil {
			return err
		}
		break
	}
	return remove(s, it, metav1.DeletePropagationForeground)
}

// unblock sets blockOwnerDeletion to false in all references of an object.
func (g *collector) unblock(s *step, it *owned) error {
	return amend(s, it, func(metadata metav1.Object) {
		owners := metadata.GetOwnerReferences()
		for i := range owners {
			// For a kind without strategic merge patches, a merge patch replaces the whole list.
			if blocks(owners[i]) || it.resource.Storage.Patches.StrategicMerge == nil {
				owners[i].BlockOwnerDeletion = new(bool)
			}
		}
		metadata.SetOwnerReferences(owners)
	})
}

// release removes the references to some owners from an object.
func (g *collector) release(s *step, it *owned, uids ...types.UID) error {
	return amend(s, it, func(metadata metav1.Object) {
		kept := slices.DeleteFunc(metadata.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return slices.Contains(uids, o.UID) })
		if len(kept) == 0 {
			kept = nil
		}
		metadata.SetOwnerReferences(kept)
	})
}

// awaitDependents removes the finalizer of foreground deletion from an object if no dependent blocks its deletion.
// Otherwise it enqueues the dependents whose deletion has not begun.
func (g *collector) awaitDependents(s *step, it *owned) error {
	remaining, blocked := g.graph.blockingDependentsOf(it.uid)
	if blocked {
		for _, stored := range remaining {
			s.enqueue(key{name: stored})
		}
		return nil
	}
	return g.removeFinalizer(s, it, metav1.FinalizerDeleteDependents)
}

// orphanDependents removes the references to an object from its dependents, and then its
// finalizer.
func (g *collector) orphanDependents(s *step, it *owned) error {
	var failed []error
	for _, stored := range g.graph.dependentsOf(it.uid) {
		if err := g.orphan(s, stored, types.UID(it.uid)); err != nil && !apierrors.IsNotFound(err) {
			failed = append(failed, err)
		}
	}
	if err := utilerrors.NewAggregate(failed); err != nil {
		return err
	}
	return g.removeFinalizer(s, it, metav1.FinalizerOrphanDependents)
}

// orphan removes the reference to an owner from one dependent.
func (g *collector) orphan(s *step, stored string, owner types.UID) error {
	dependent, err := read(s, stored)
	if dependent == nil || err != nil {
		return err
	}
	return g.release(s, dependent, owner)
}

func (g *collector) removeFinalizer(s *step, it *owned, finalizer string) error {
	return amend(s, it, func(metadata metav1.Object) {
		metadata.SetFinalizers(slices.DeleteFunc(metadata.GetFinalizers(), func(f string) bool { return f == finalizer }))
	})
}

// owners has the owner references of an object, by the state of the owners.
type owners struct {
	solid    []types.UID
	dangling []types.UID
	waiting  []types.UID // wait for the deletion of their dependents

	// misplaced: a cluster-scoped object has a namespaced owner. The collector ignores such an object.
	misplaced bool
	// unknown: the kind of an owner is not served, so that the owner may exist or not.
	unknown bool
}

// classify looks up the current state of the owners of an object. It stops at the first owner that makes a decision
// impossible.
func (g *collector) classify(s *step, it *owned) (owners, error) {
	var found owners
	for _, reference := range it.owners {
		if namespace, gone := g.graph.isGone(string(reference.UID)); gone {
			// The graph knows that it is gone. Its resource may be gone too.
			if namespace != "" && it.namespace == "" {
				return owners{misplaced: true}, nil
			}
			found.dangling = append(found.dangling, reference.UID)
			continue
		}
		res, err := kindOf(s, schema.FromAPIVersionAndKind(reference.APIVersion, reference.Kind))
		switch {
		case err != nil:
			return owners{}, err
		case res == nil:
			return owners{unknown: true}, nil
		case res.Namespaced && it.namespace == "":
			return owners{misplaced: true}, nil
		}
		record, err := s.server.Records.Get(res.Key(it.namespace, reference.Name))
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return owners{}, err
		}
		switch owner := ownershipOf(record.Value); {
		case owner.uid != string(reference.UID): // empty if the object does not exist
			found.dangling = append(found.dangling, reference.UID)
		case owner.deletesDependents():
			found.waiting = append(found.waiting, reference.UID)
		default:
			found.solid = append(found.solid, reference.UID)
		}
	}
	return found, nil
}

// kindOf returns the resource that serves a kind, or nil.
func kindOf(s *step, kind schema.GroupVersionKind) (*resource.Resource, error) {
	registry, err := s.server.Registry()
	if err != nil {
		return nil, err
	}
	return registry.Kind(kind), nil
}
