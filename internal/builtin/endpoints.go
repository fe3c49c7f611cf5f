package builtin

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/api/v1/endpoints"
)

// RepackSubsets returns the subsets of Endpoints in their canonical form: addresses with the same ports are in one
// subset, and everything is sorted.
//
//lint:ignore SA1019 their controller still keeps Endpoints
func RepackSubsets(subsets []corev1.EndpointSubset) []corev1.EndpointSubset {
	return endpoints.RepackSubsets(subsets)
}
