package write

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	registryrest "k8s.io/apiserver/pkg/registry/rest"
)

// propagationFinalizers returns the finalizers of an object that is deleted with the given
// options. A finalizer determines what the garbage collector does with the dependents. If neither
// the options nor the finalizers of the object say that, the kind does: the dependents of a Job
// are orphaned, Events have none.
func (a attempt) propagationFinalizers(finalizers []string, options *metav1.DeleteOptions) []string {
	byDefault := registryrest.DeleteDependents
	if dependents := a.version.Deletion.Dependents; dependents != nil {
		byDefault = dependents(a.ctx)
	}
	orphan := slices.Contains(finalizers, metav1.FinalizerOrphanDependents)
	foreground := !orphan && slices.Contains(finalizers, metav1.FinalizerDeleteDependents)
	orphan = orphan || !foreground && byDefault == registryrest.OrphanDependents
	switch deprecated := OrphanDependents(options); {
	case byDefault == registryrest.Unsupported:
		orphan, foreground = false, false
	case deprecated != nil:
		orphan, foreground = *deprecated, false
	case options.PropagationPolicy != nil:
		orphan = *options.PropagationPolicy == metav1.DeletePropagationOrphan
		foreground = *options.PropagationPolicy == metav1.DeletePropagationForeground
	}
	return withPropagation(finalizers, orphan, foreground)
}

// namespaceFinalizers returns the finalizers of a namespace that is deleted with the given options. Unlike those of
// other kinds, it may keep both finalizers that it had, and orphanDependents=false asks for foreground deletion.
func namespaceFinalizers(finalizers []string, options *metav1.DeleteOptions) []string {
	orphan := slices.Contains(finalizers, metav1.FinalizerOrphanDependents)
	foreground := slices.Contains(finalizers, metav1.FinalizerDeleteDependents)
	switch deprecated := OrphanDependents(options); {
	case deprecated != nil:
		orphan, foreground = *deprecated, !*deprecated
	case options.PropagationPolicy != nil:
		orphan = *options.PropagationPolicy == metav1.DeletePropagationOrphan
		foreground = *options.PropagationPolicy == metav1.DeletePropagationForeground
	}
	return withPropagation(finalizers, orphan, foreground)
}

// withPropagation returns finalizers with or without those of orphan and foreground deletion.
func withPropagation(finalizers []string, orphan, foreground bool) []string {
	kept := slices.DeleteFunc(slices.Clone(finalizers), func(f string) bool {
		return f == metav1.FinalizerOrphanDependents || f == metav1.FinalizerDeleteDependents
	})
	if orphan {
		kept = append(kept, metav1.FinalizerOrphanDependents)
	}
	if foreground {
		kept = append(kept, metav1.FinalizerDeleteDependents)
	}
	// The order has no meaning: keep it if nothing else has changed.
	before, after := slices.Sorted(slices.Values(finalizers)), slices.Sorted(slices.Values(kept))
	if slices.Equal(before, after) {
		return finalizers
	}
	return kept
}

// OrphanDependents returns the deprecated field orphanDependents, which propagationPolicy replaces.
func OrphanDependents(options *metav1.DeleteOptions) *bool {
	//lint:ignore SA1019 clients still send it
	return options.OrphanDependents
}
