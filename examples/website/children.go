package website

import (
	"bytes"
	"context"
	"fmt"
	"html/template"

	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1 "k8s.io/client-go/applyconfigurations/core/v1"
	metav1 "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// observed is what the answers of the server say of the objects of a Website.
type observed struct {
	address           string // of the Service
	availableReplicas int32  // of the Deployment
}

// applyChildren applies the ConfigMap, the Deployment and the Service of a Website. The server
// changes what differs and leaves the fields of others alone.
func (r *Reconciler) applyChildren(ctx context.Context, site *Website) (observed, error) {
	page, err := render(site)
	if err != nil {
		return observed{}, err
	}
	deployment, service := wantDeployment(site), wantService(site)
	if err := r.Apply(ctx, wantConfigMap(site, page), fieldOwner, client.ForceOwnership); err != nil {
		return observed{}, fmt.Errorf("applying the ConfigMap: %w", err)
	}
	if err := r.Apply(ctx, deployment, fieldOwner, client.ForceOwnership); err != nil {
		return observed{}, fmt.Errorf("applying the Deployment: %w", err)
	}
	if err := r.Apply(ctx, service, fieldOwner, client.ForceOwnership); err != nil {
		return observed{}, fmt.Errorf("applying the Service: %w", err)
	}
	// Apply has put the answers of the server into what was applied.
	seen := observed{address: *service.Spec.ClusterIP}
	if deployment.Status != nil && deployment.Status.AvailableReplicas != nil {
		seen.availableReplicas = *deployment.Status.AvailableReplicas
	}
	return seen, nil
}

func render(site *Website) (string, error) {
	page, err := template.New("page").Parse(site.Spec.Page)
	if err != nil {
		return "", err
	}
	var text bytes.Buffer
	err = page.Execute(&text, struct{ Host string }{site.Spec.Host})
	return text.String(), err
}

func wantConfigMap(site *Website, page string) *corev1.ConfigMapApplyConfiguration {
	return corev1.ConfigMap(site.Name, site.Namespace).
		WithOwnerReferences(owner(site)).
		WithData(map[string]string{"index.html": page})
}

func wantDeployment(site *Website) *appsv1.DeploymentApplyConfiguration {
	pod := corev1.PodSpec().
		WithContainers(corev1.Container().
			WithName("web").
			WithImage(site.Spec.Image).
			WithPorts(corev1.ContainerPort().WithName("http").WithContainerPort(8080)).
			WithVolumeMounts(corev1.VolumeMount().WithName("page").WithMountPath("/www"))).
		WithVolumes(corev1.Volume().WithName("page").
			WithConfigMap(corev1.ConfigMapVolumeSource().WithName(site.Name)))
	return appsv1.Deployment(site.Name, site.Namespace).
		WithOwnerReferences(owner(site)).
		WithSpec(appsv1.DeploymentSpec().
			WithReplicas(site.Spec.Replicas).
			WithSelector(metav1.LabelSelector().WithMatchLabels(labels(site))).
			WithTemplate(corev1.PodTemplateSpec().WithLabels(labels(site)).WithSpec(pod)))
}

func wantService(site *Website) *corev1.ServiceApplyConfiguration {
	return corev1.Service(site.Name, site.Namespace).
		WithOwnerReferences(owner(site)).
		WithSpec(corev1.ServiceSpec().
			WithSelector(labels(site)).
			WithPorts(corev1.ServicePort().WithName("http").WithPort(80).WithTargetPort(intstr.FromString("http"))))
}

func labels(site *Website) map[string]string {
	return map[string]string{"example.com/website": site.Name}
}

// owner has the garbage collector delete an object with its Website.
func owner(site *Website) *metav1.OwnerReferenceApplyConfiguration {
	return metav1.OwnerReference().
		WithAPIVersion(GroupVersion.String()).WithKind("Website").
		WithName(site.Name).WithUID(site.UID).
		WithController(true).WithBlockOwnerDeletion(true)
}
