package operator

import (
	"context"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// served is the condition of a greeting whose pods run.
const served = "Served"

// deploy keeps a Deployment and a Service of the greeting's name. It is written as
// most operators are: read, change what matters, write if that made a difference.
func (r *reconciler) deploy(ctx context.Context, greeting *Greeting) (*apps.Deployment, error) {
	name := metav1.ObjectMeta{Namespace: greeting.Namespace, Name: greeting.Name}
	labels := map[string]string{"greeting": greeting.Name}
	replicas := int32(2)

	deployment := &apps.Deployment{ObjectMeta: name}
	did, err := controllerutil.CreateOrUpdate(ctx, r.client, deployment, func() error {
		deployment.Spec.Replicas = &replicas
		deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		deployment.Spec.Template.Labels = labels
		if len(deployment.Spec.Template.Spec.Containers) == 0 {
			deployment.Spec.Template.Spec.Containers = []core.Container{{Name: "greeter"}}
		}
		greeter := &deployment.Spec.Template.Spec.Containers[0]
		greeter.Image = "registry.example.com/greeter:1.0"
		greeter.Args = []string{greeting.Spec.Text}
		return controllerutil.SetControllerReference(greeting, deployment, r.client.Scheme())
	})
	if err != nil {
		return nil, err
	}
	if did == controllerutil.OperationResultCreated {
		r.events.Eventf(greeting, deployment, core.EventTypeNormal, "Deployed", "Deploy", "made the Deployment %s", deployment.Name)
	}

	service := &core.Service{ObjectMeta: name}
	_, err = controllerutil.CreateOrUpdate(ctx, r.client, service, func() error {
		service.Spec.Selector = labels
		if len(service.Spec.Ports) == 0 {
			service.Spec.Ports = []core.ServicePort{{Name: "http"}}
		}
		service.Spec.Ports[0].Port = 80
		service.Spec.Ports[0].TargetPort = intstr.FromInt32(8080)
		return controllerutil.SetControllerReference(greeting, service, r.client.Scheme())
	})
	return deployment, err
}

// setServed sets the condition that reports whether the pods run.
func setServed(greeting *Greeting, deployment *apps.Deployment) (changed bool) {
	condition := metav1.Condition{
		Type: served, Status: metav1.ConditionFalse, Reason: "Waiting",
		Message: "the Deployment is not available", ObservedGeneration: greeting.Generation,
	}
	if deployment.Status.AvailableReplicas == *deployment.Spec.Replicas {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionTrue, "Available", ""
	}
	return meta.SetStatusCondition(&greeting.Status.Conditions, condition)
}
