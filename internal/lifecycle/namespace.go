package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// namespaceTerminates tells whether a namespace is being deleted.
func (r *Reactor) namespaceTerminates(name string) bool {
	obj, _, err := r.server.Get(context.Background(), r.server.Namespaces(), "", name)
	return err == nil && obj.(*corev1.Namespace).DeletionTimestamp != nil
}

// finishNamespace deletes what is in a namespace that is being deleted and, once
// it is empty, lets it go. Its conditions say what is left.
func (r *Reactor) finishNamespace(ctx context.Context, name string) error {
	ns, was, err := r.getNamespace(ctx, name)
	if err != nil {
		return err
	}
	if ns.DeletionTimestamp == nil || !slices.Contains(ns.Spec.Finalizers, corev1.FinalizerKubernetes) {
		return nil
	}
	catalogue, err := r.server.Catalogue()
	if err != nil {
		return err
	}
	content, err := r.emptyNamespace(ctx, catalogue, name)
	if err != nil {
		return err
	}
	if content.report(ns, r.server.Now()) {
		if err := r.server.Update(ctx, r.server.Namespaces(), "status", was, ns); err != nil {
			return err
		}
		if ns, was, err = r.getNamespace(ctx, name); err != nil {
			return err
		}
	}
	if content.remains() {
		return nil // the delete of the last object brings us back
	}
	ns.Spec.Finalizers = slices.DeleteFunc(ns.Spec.Finalizers, func(f corev1.FinalizerName) bool { return f == corev1.FinalizerKubernetes })
	return r.server.Update(ctx, r.server.Namespaces(), "finalize", was, ns)
}

func (r *Reactor) getNamespace(ctx context.Context, name string) (*corev1.Namespace, store.Record, error) {
	obj, record, err := r.server.Get(ctx, r.server.Namespaces(), "", name)
	if err != nil {
		return nil, record, err
	}
	return obj.(*corev1.Namespace), record, nil
}

// namespaceContent is what emptying a namespace has left in it.
type namespaceContent struct {
	resources  map[string]int // objects by resource
	finalizers map[string]int // objects by finalizer
	failed     []string       // the deletes that were refused
}

func (r *Reactor) emptyNamespace(ctx context.Context, catalogue *resource.Catalogue, name string) (namespaceContent, error) {
	content := namespaceContent{resources: map[string]int{}, finalizers: map[string]int{}}
	for _, group := range catalogue.Groups() {
		for _, res := range group.Resources {
			if !res.Namespaced {
				continue
			}
			if _, err := r.deleteAll(ctx, res, name, r.server.DeleteContent); errors.Is(err, ErrConflict) {
				return content, err
			} else if err != nil {
				content.failed = append(content.failed, err.Error())
			}
			left, err := r.server.List(res, name)
			if err != nil {
				return content, err
			}
			if len(left) == 0 {
				continue
			}
			content.resources[res.Names.Plural+"."+res.Group] = len(left)
			for _, record := range left {
				for _, finalizer := range gjson.Get(record.Value, "metadata.finalizers").Array() {
					content.finalizers[finalizer.Str]++
				}
			}
		}
	}
	return content, nil
}

func (c namespaceContent) remains() bool { return len(c.resources) > 0 || len(c.failed) > 0 }

// report sets the conditions of a namespace, as the namespace controller does,
// and tells whether any changed.
func (c namespaceContent) report(ns *corev1.Namespace, now metav1.Time) bool {
	set := func(t corev1.NamespaceConditionType, trouble bool, reason, message string) bool {
		return setNamespaceCondition(ns, now, t, trouble, reason, message)
	}
	changed := set(corev1.NamespaceDeletionDiscoveryFailure, false, "ResourcesDiscovered", "All resources successfully discovered")
	changed = set(corev1.NamespaceDeletionGVParsingFailure, false, "ParsedGroupVersions", "All legacy kube types successfully parsed") || changed
	if len(c.failed) > 0 {
		changed = set(corev1.NamespaceDeletionContentFailure, true, "ContentDeletionFailed",
			fmt.Sprintf("Failed to delete all resource types, %d remaining: %v", len(c.failed), strings.Join(slices.Sorted(slices.Values(c.failed)), ", "))) || changed
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

// join lists counts in the order of their names.
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
