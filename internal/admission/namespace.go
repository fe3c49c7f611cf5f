package admission

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
)

// Namespace is the state of the namespace of a write.
type Namespace struct {
	Exists      bool
	Terminating bool
}

// NamespaceLifecycle follows upstream's admission plugin of this name: it rejects creates in namespaces that do not
// exist or are being deleted, and deletes of default, kube-system and kube-public.
func NamespaceLifecycle(a admission.Attributes, ns Namespace) error {
	isNamespace := a.GetResource().GroupResource() == schema.GroupResource{Resource: "namespaces"}
	if a.GetOperation() == admission.Delete {
		if isNamespace && isImmortal(a.GetName()) {
			return apierrors.NewForbidden(a.GetResource().GroupResource(), a.GetName(), errors.New("this namespace may not be deleted"))
		}
		return nil
	}
	if a.GetNamespace() == "" || a.GetOperation() != admission.Create || isAccessReview(a) {
		return nil
	}
	if !ns.Exists {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, a.GetNamespace())
	}
	if !ns.Terminating {
		return nil
	}
	err := admission.NewForbidden(a, fmt.Errorf("unable to create new content in namespace %s because it is being terminated", a.GetNamespace()))
	var status *apierrors.StatusError
	if errors.As(err, &status) {
		status.ErrStatus.Details.Causes = append(status.ErrStatus.Details.Causes, metav1.StatusCause{
			Type:    corev1.NamespaceTerminatingCause,
			Message: fmt.Sprintf("namespace %s is being terminated", a.GetNamespace()),
			Field:   "metadata.namespace",
		})
	}
	return err
}

// isAccessReview reports whether a write is a LocalSubjectAccessReview. Rejecting it would reveal
// which namespaces exist.
func isAccessReview(a admission.Attributes) bool {
	return a.GetResource().GroupResource() == schema.GroupResource{Group: "authorization.k8s.io", Resource: "localsubjectaccessreviews"}
}

// isImmortal reports whether a namespace may never be deleted.
func isImmortal(name string) bool {
	return name == metav1.NamespaceDefault || name == metav1.NamespaceSystem || name == metav1.NamespacePublic
}
