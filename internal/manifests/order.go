package manifests

import "k8s.io/apimachinery/pkg/runtime/schema"

// The steps of installing objects, whatever the order of their files.
const (
	definitionsFirst = iota
	namespacesNext
	referredTo
	others
	admissionLast
)

// InstallStep returns the step in which objects of a kind are installed. Lower steps come first.
func InstallStep(kind schema.GroupKind) int {
	switch kind.Group {
	case "apiextensions.k8s.io":
		return definitionsFirst
	case "admissionregistration.k8s.io", "apiregistration.k8s.io":
		return admissionLast
	case "scheduling.k8s.io", "node.k8s.io", "storage.k8s.io":
		return referredTo
	}
	switch kind.String() {
	case "Namespace":
		return namespacesNext
	case "ServiceAccount", "LimitRange", "ResourceQuota", "IngressClass.networking.k8s.io":
		return referredTo
	}
	return others
}
