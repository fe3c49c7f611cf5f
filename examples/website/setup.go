package website

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
)

// NewScheme returns the kinds that the operator works with.
func NewScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(AddToScheme(s))
	return s
}

// Operator is how the operator is set up.
type Operator struct {
	Image    string // serves the page of a Website that names no image
	Registry Registry
}

// SetupController adds the controller to a manager.
func (o Operator) SetupController(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&Website{}).
		Owns(&appsv1.Deployment{}).
		Owns(&corev1.ConfigMap{}).
		Owns(&corev1.Service{}).
		Complete(&Reconciler{
			Client:   mgr.GetClient(),
			Events:   mgr.GetEventRecorder("website-operator"),
			Registry: o.Registry,
		})
}

// SetupWebhooks adds the webhooks to a manager.
func (o Operator) SetupWebhooks(mgr ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(mgr, &Website{}).
		WithDefaulter(Defaulter{Image: o.Image}).
		WithValidator(Validator{}).
		Complete()
}
