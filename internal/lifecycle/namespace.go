package lifecycle

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// namespaceTerminates tells whether a namespace is being deleted.
func (r *Reactor) namespaceTerminates(name string) bool {
	record, err := r.server.Read(r.server.Namespaces().Key("", name))
	return err == nil && isDeleting(record.Value)
}

// finishNamespace empties a namespace that is being deleted. When nothing is left in it, it
// removes the finalizer kubernetes, and the namespace is gone. Until then the conditions of
// the namespace say what is left.
func (r *Reactor) finishNamespace(ctx context.Context, name string) error {
	ns, was, err := r.getNamespace(ctx, name)
	if err != nil {
		return err
	}
	if ns.DeletionTimestamp == nil || !slices.Contains(ns.Spec.Finalizers, corev1.FinalizerKubernetes) {
		return nil
	}
	left, err := r.emptyNamespace(ctx, name)
	if err != nil {
		return err
	}
	if left.report(ns, r.server.Now()) {
		if err := r.server.Update(ctx, r.server.Namespaces(), "status", was, ns); err != nil {
			return err
		}
		if ns, was, err = r.getNamespace(ctx, name); err != nil {
			return err
		}
	}
	if left.remains() {
		return nil // deleting the last object starts this step again
	}
	ns.Spec.Finalizers = slices.DeleteFunc(ns.Spec.Finalizers, func(f corev1.FinalizerName) bool { return f == corev1.FinalizerKubernetes })
	return r.server.Update(ctx, r.server.Namespaces(), "finalize", was, ns)
}

// emptyNamespace deletes the content of a namespace: first the pods, and once they are gone,
// all other kinds that can be deleted. While it waits for pods, the conditions of the namespace
// do not say what is left, as those of a real one.
func (r *Reactor) emptyNamespace(ctx context.Context, name string) (content, error) {
	catalogue, err := r.server.Catalogue()
	if err != nil {
		return content{}, err
	}
	var pods, others []*resource.Resource
	for _, group := range catalogue.Groups() {
		for _, res := range group.Resources {
			switch {
			case !res.Namespaced || !slices.Contains(res.Verbs, "delete"):
			case res.GroupResource() == corev1.Resource("pods"):
				pods = append(pods, res)
			default:
				others = append(others, res)
			}
		}
	}
	first, err := r.empty(ctx, pods, name, r.server.DeleteContent)
	if err != nil {
		return content{}, err
	}
	if len(first.resources) > 0 {
		return content{failed: first.failed, waits: true}, nil
	}
	left, err := r.empty(ctx, others, name, r.server.DeleteContent)
	left.failed = append(first.failed, left.failed...)
	return left, err
}

func (r *Reactor) getNamespace(ctx context.Context, name string) (*corev1.Namespace, store.Record, error) {
	obj, record, err := r.server.Get(ctx, r.server.Namespaces(), "", name)
	if err != nil {
		return nil, record, err
	}
	return obj.(*corev1.Namespace), record, nil
}

// report sets the conditions of a namespace as the namespace controller does, and tells
// whether any of them changed.
func (c content) report(ns *corev1.Namespace, now metav1.Time) bool {
	set := func(t corev1.NamespaceConditionType, trouble bool, reason, message string) bool {
		return setNamespaceCondition(ns, now, t, trouble, reason, message)
	}
	changed := set(corev1.NamespaceDeletionDiscoveryFailure, false, "ResourcesDiscovered", "All resources successfully discovered")
	changed = set(corev1.NamespaceDeletionGVParsingFailure, false, "ParsedGroupVersions", "All legacy kube types successfully parsed") || changed
	if len(c.failed) > 0 {
		var failed []string
		for _, err := range c.failed {
			failed = append(failed, err.Error())
		}
		slices.Sort(failed)
		changed = set(corev1.NamespaceDeletionContentFailure, true, "ContentDeletionFailed",
			fmt.Sprintf("Failed to delete all resource types, %d remaining: %v", len(failed), strings.Join(failed, ", "))) || changed
	} else {
		changed = set(corev1.NamespaceDeletionContentFailure, false, "ContentDeleted", "All content successfully deleted, may be waiting on finalization") || changed
	}
	if len(c.resources) > 0 {
		changed = set(corev1.NamespaceContentRemaining, true, "SomeResourcesRemain",
			"Some resources are remaining: "+join(c.resources, "%s has %d resource instances")) || changed
	} else {
		changed = set(corev1.NamespaceContentRemaining, false, "ContentRemoved", "All content successfully removed") || changed
	}
	if len(c.finalizers) > 0 {
		return set(corev1.NamespaceFinalizersRemaining, true, "SomeFinalizersRemain",
			"Some content in the namespace has finalizers remaining: "+join(c.finalizers, "%s in %d resource instances")) || changed
	}
	return set(corev1.NamespaceFinalizersRemaining, false, "ContentHasNoFinalizers", "All content-preserving finalizers finished") || changed
}

// join formats counts, in the order of their names.
func join(counts map[string]int, format string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf(format, name, counts[name]))
	}
	return strings.Join(parts, ", ")
}

func setNamespaceCondition(ns *corev1.Namespace, now metav1.Time, t corev1.NamespaceConditionType, trouble bool, reason, message string) bool {
	c := corev1.NamespaceCondition{Type: t, Status: corev1.ConditionFalse, LastTransitionTime: now, Reason: reason, Message: message}
	if trouble {
		c.Status = corev1.ConditionTrue
	}
	i := slices.IndexFunc(ns.Status.Conditions, func(c corev1.NamespaceCondition) bool { return c.Type == t })
	if i < 0 {
		ns.Status.Conditions = append(ns.Status.Conditions, c)
		return true
	}
	was := &ns.Status.Conditions[i]
	if was.Status == c.Status && was.Reason == c.Reason && was.Message == c.Message {
		return false
	}
	if was.Status == c.Status {
		c.LastTransitionTime = was.LastTransitionTime
	}
	*was = c
	return true
}
