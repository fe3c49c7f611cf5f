package operator

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1 "k8s.io/client-go/applyconfigurations/core/v1"
	applymeta "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

const (
	finalizer  = "conformance.example.com/farewell"
	fieldOwner = "greeting-controller"
	ready      = "Ready"
)

// reconciler keeps a ConfigMap of the greeting's name that holds its text, a Deployment
// and a Service. It is written the way a careful operator is: a finalizer before anything
// is made, the ConfigMap by server-side apply, the conditions through the status
// subresource.
type reconciler struct {
	client client.Client
	events events.EventRecorder
	// farewells gets the name of each greeting whose finalizer ran.
	farewells chan<- string
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	greeting := &Greeting{}
	if err := r.client.Get(ctx, request.NamespacedName, greeting); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !greeting.DeletionTimestamp.IsZero() {
		if !controllerutil.RemoveFinalizer(greeting, finalizer) {
			return ctrl.Result{}, nil
		}
		if err := r.client.Update(ctx, greeting); err != nil {
			return ctrl.Result{}, err
		}
		r.farewells <- greeting.Name
		return ctrl.Result{}, nil
	}
	if controllerutil.AddFinalizer(greeting, finalizer) {
		// The change brings the greeting back here.
		return ctrl.Result{}, r.client.Update(ctx, greeting)
	}
	if err := r.client.Apply(ctx, wanted(greeting), client.FieldOwner(fieldOwner), client.ForceOwnership); err != nil {
		return ctrl.Result{}, err
	}
	deployment, err := r.deploy(ctx, greeting)
	if err != nil {
		return ctrl.Result{}, err
	}
	changed := setServed(greeting, deployment)
	changed = meta.SetStatusCondition(&greeting.Status.Conditions, metav1.Condition{
		Type: ready, Status: metav1.ConditionTrue, Reason: "Greeted",
		Message: greeting.Spec.Text, ObservedGeneration: greeting.Generation,
	}) || changed
	if !changed {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, r.client.Status().Update(ctx, greeting)
}

// wanted returns the ConfigMap of a greeting, which is deleted with it.
func wanted(greeting *Greeting) *corev1.ConfigMapApplyConfiguration {
	return corev1.ConfigMap(greeting.Name, greeting.Namespace).
		WithOwnerReferences(applymeta.OwnerReference().
			WithAPIVersion(groupVersion.String()).WithKind("Greeting").
			WithName(greeting.Name).WithUID(greeting.UID).
			WithController(true).WithBlockOwnerDeletion(true)).
		WithData(map[string]string{"text": greeting.Spec.Text})
}
