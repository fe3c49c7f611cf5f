package controller

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/write"
)

// emptyNamespaces deletes the content of a namespace that is being deleted. When it is empty, the controller removes the
// finalizer kubernetes, which completes the deletion. Until then the conditions of the namespace list what is left.
func emptyNamespaces() *controller {
	return &controller{
		identity: ServiceAccount("namespace-controller"),
		follows: []followed{
			{kind: namespaces, concerns: func(s *step, c change) error {
				if !c.Deleted && isDeleting(c.Record.Value) {
					s.enqueue(c.key())
				}
				return nil
			}},
			{kind: anyKind, concerns: func(s *step, c change) error {
				if !c.Deleted || c.Namespace == "" || c.Resource.NamespaceOfItself {
					return nil
				}
				v, err := s.version(namespaces)
				if err != nil {
					return err
				}
				if ns, err := s.server.Records.Get(v.Resource.Key("", c.Namespace)); err == nil && isDeleting(ns.Value) {
					s.enqueue(key{name: c.Namespace})
				}
				return nil
			}},
		},
		resume: func(s *step, _ int64) error {
			v, err := s.version(namespaces)
			if err != nil {
				return err
			}
			records, err := s.records(v.Resource, "")
			for _, ns := range records {
				if isDeleting(ns.Value) {
					s.enqueue(key{name: v.Resource.NameOf(ns.Key)})
				}
			}
			return err
		},
		sync: syncNamespace,
	}
}

func syncNamespace(s *step, k key) error {
	ns, err := copyOf[*corev1.Namespace](s, namespaces, "", k.name)
	if err != nil {
		return err
	}
	if ns.DeletionTimestamp == nil || !slices.Contains(ns.Spec.Finalizers, corev1.FinalizerKubernetes) {
		return nil
	}
	left, err := emptyNamespace(s, k.name)
	if err != nil {
		return err
	}
	if left.report(ns, metav1.NewTime(s.now())) {
		if err := s.update(namespaces, ns, "status"); err != nil {
			return err
		}
		if ns, err = copyOf[*corev1.Namespace](s, namespaces, "", k.name); err != nil {
			return err
		}
	}
	if left.remains() {
		return nil // the deletion of the last object enqueues the namespace again
	}
	ns.Spec.Finalizers = slices.DeleteFunc(ns.Spec.Finalizers, func(f corev1.FinalizerName) bool { return f == corev1.FinalizerKubernetes })
	return s.update(namespaces, ns, "finalize")
}

// emptyNamespace deletes the content of a namespace: first the pods, and once they are gone,
// all other kinds that can be deleted. While it waits for pods, the namespace's conditions
// do not list the remaining content. A real cluster does the same.
func emptyNamespace(s *step, name string) (content, error) {
	registry, err := s.server.Registry()
	if err != nil {
		return content{}, err
	}
	var pods, others []*resource.Resource
	for _, group := range registry.Groups() {
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
	// Admission gets the delete of an object as part of a deletecollection.
	policy := metav1.DeletePropagationBackground
	w := write.Request{Change: write.Delete{Options: &metav1.DeleteOptions{PropagationPolicy: &policy}}, Collection: true, MeasuresQuotaLater: true}
	first, err := s.empty(pods, name, w)
	if err != nil {
		return content{}, err
	}
	if len(first.resources) > 0 {
		return content{failed: first.failed, waits: true}, nil
	}
	left, err := s.empty(others, name, w)
	left.failed = append(first.failed, left.failed...)
	return left, err
}

// report sets the conditions of a namespace as the namespace controller does, and reports
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

// join formats counts, sorted by name.
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
	former := &ns.Status.Conditions[i]
	if former.Status == c.Status && former.Reason == c.Reason && former.Message == c.Message {
		return false
	}
	if former.Status == c.Status {
		c.LastTransitionTime = former.LastTransitionTime
	}
	*former = c
	return true
}
