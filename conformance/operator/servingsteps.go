package operator

import (
	"context"
	"fmt"
	"net/netip"

	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v1"
	core "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The steps about the Deployment, the Service and the events of a greeting. No controller
// of Kubernetes runs, so the steps do what the Deployment's would.

var (
	deploymentResource = apps.SchemeGroupVersion.WithResource("deployments")
	serviceResource    = core.SchemeGroupVersion.WithResource("services")
	eventResource      = core.SchemeGroupVersion.WithResource("events")
)

func (o *operator) deployed(ctx context.Context) error {
	return until(ctx, o, deploymentResource, "", func(_ watch.EventType, d *apps.Deployment) bool {
		// The strategy is the server's default.
		return *d.Spec.Replicas == 2 && d.Spec.Strategy.Type == apps.RollingUpdateDeploymentStrategyType
	})
}

func (o *operator) exposed(ctx context.Context) error {
	return until(ctx, o, serviceResource, "", func(_ watch.EventType, s *core.Service) bool {
		address, err := netip.ParseAddr(s.Spec.ClusterIP)
		return err == nil && address.Is4()
	})
}

// unchanged makes the reconciler run once more by a label, and checks that it does not
// write: fields that the server has filled in are not a difference.
func (o *operator) unchanged(ctx context.Context) error {
	before := map[string]client.Object{"Deployment": &apps.Deployment{}, "Service": &core.Service{}}
	for _, object := range before {
		if err := o.client.Get(ctx, key, object); err != nil {
			return err
		}
	}
	// An update of the greeting that its reconciler answers by a status shows that the pass is over.
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"language":"fr"}}`))
	if err := o.client.Patch(ctx, newGreeting(greetingName, ""), patch); err != nil {
		return err
	}
	if err := o.ready(ctx); err != nil {
		return err
	}
	for kind, object := range before {
		former := object.GetResourceVersion()
		if err := o.client.Get(ctx, key, object); err != nil {
			return err
		}
		if object.GetResourceVersion() != former {
			return fmt.Errorf("the %s was written again", kind)
		}
	}
	return nil
}

func (o *operator) recorded(ctx context.Context) error {
	w, err := o.cluster.Dynamic().Resource(eventResource).Namespace(key.Namespace).Watch(ctx, metav1.ListOptions{
		FieldSelector: "involvedObject.name=" + key.Name + ",reason=Deployed",
	})
	if err != nil {
		return err
	}
	defer w.Stop()
	select {
	case <-w.ResultChan():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	recorded := &eventsv1.EventList{}
	if err := o.client.List(ctx, recorded, client.InNamespace(key.Namespace)); err != nil {
		return err
	}
	for _, event := range recorded.Items {
		if event.Regarding.Name == key.Name && event.Reason == "Deployed" && event.ReportingController == fieldOwner {
			return nil
		}
	}
	return fmt.Errorf("the events are %v", recorded.Items)
}

func (o *operator) served(ctx context.Context) error {
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"replicas":2,"readyReplicas":2,"updatedReplicas":2,"availableReplicas":2}}`))
	deployment := &apps.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	if err := o.client.Status().Patch(ctx, deployment, patch); err != nil {
		return err
	}
	return until(ctx, o, greetingResource, "", func(_ watch.EventType, g *Greeting) bool {
		return meta.IsStatusConditionTrue(g.Status.Conditions, served)
	})
}

func (o *operator) scaledBack(ctx context.Context) error {
	deployment := &apps.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	scale := &autoscaling.Scale{}
	if err := o.client.SubResource("scale").Get(ctx, deployment, scale); err != nil {
		return err
	}
	scale.Spec.Replicas = 7
	if err := o.client.SubResource("scale").Update(ctx, deployment, client.WithSubResourceBody(scale)); err != nil {
		return err
	}
	return until(ctx, o, deploymentResource, scale.ResourceVersion, func(_ watch.EventType, d *apps.Deployment) bool {
		return *d.Spec.Replicas == 2
	})
}

func (o *operator) undeployed(ctx context.Context) error {
	if err := o.gone(ctx, deploymentResource, &apps.Deployment{}); err != nil {
		return err
	}
	return o.gone(ctx, serviceResource, &core.Service{})
}
