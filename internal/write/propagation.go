package write

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// propagationFinalizers are the finalizers of an object that is to be deleted by
// the given options: what is to become of its dependents is left to the garbage
// collector in the form of a finalizer.
func propagationFinalizers(finalizers []string, options *metav1.DeleteOptions) []string {
	orphan := slices.Contains(finalizers, metav1.FinalizerOrphanDependents)
	foreground := !orphan && slices.Contains(finalizers, metav1.FinalizerDeleteDependents)
	switch deprecated := OrphanDependents(options); {
	case deprecated != nil:
		orphan, foreground = *deprecated, false
	case options.PropagationPolicy != nil:
		orphan = *options.PropagationPolicy == metav1.DeletePropagationOrphan
		foreground = *options.PropagationPolicy == metav1.DeletePropagationForeground
	}
	kept := slices.DeleteFunc(slices.Clone(finalizers), func(f string) bool {
		return f == metav1.FinalizerOrphanDependents || f == metav1.FinalizerDeleteDependents
	})
	if orphan {
		kept = append(kept, metav1.FinalizerOrphanDependents)
	}
	if foreground {
		kept = append(kept, metav1.FinalizerDeleteDependents)
	}
	// The order says nothing: leave it if nothing else changed.
	was, is := slices.Sorted(slices.Values(finalizers)), slices.Sorted(slices.Values(kept))
	if slices.Equal(was, is) {
		return finalizers
	}
	return kept
}

// OrphanDependents is the field that propagationPolicy has replaced.
func OrphanDependents(options *metav1.DeleteOptions) *bool {
	//lint:ignore SA1019 clients still send it
	return options.OrphanDependents
}
