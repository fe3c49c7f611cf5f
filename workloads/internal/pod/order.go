package pod

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
)

// CompareAdmission compares two pods by the order in which a starting node syncs them. Pods that a former agent has
// admitted come first, so new pods get the remaining resources. Otherwise the order is that of a kubelet. nil, a pod
// whose object has not arrived, comes last.
func CompareAdmission(a, b *corev1.Pod) int {
	if a == nil || b == nil {
		return cmp.Compare(rank(a != nil), rank(b != nil))
	}
	return cmp.Or(
		cmp.Compare(rank(a.Status.StartTime != nil), rank(b.Status.StartTime != nil)),
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		cmp.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name),
	)
}

// rank returns a sort key that puts true before false.
func rank(first bool) int {
	if first {
		return 0
	}
	return 1
}
