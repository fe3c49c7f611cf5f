package explore_test

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/explore"
)

// The exploration sets the status of workloads that fail once, and not again and again: some counts are stored if they are 0,
// others are not.
func TestWorkloadsThatFailComeToRest(t *testing.T) {
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"of": "a"}}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: selector.MatchLabels},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "nginx"}}}}
	named := metav1.ObjectMeta{Name: "a"}
	s := gadgetOperator{}.subject()
	s.Roles = nil
	run := s.Run
	s.Run = func(ctx context.Context, config *rest.Config) error {
		apps := kubernetes.NewForConfigOrDie(config).AppsV1()
		_, err := apps.StatefulSets("default").Create(ctx, &appsv1.StatefulSet{ObjectMeta: named, Spec: appsv1.StatefulSetSpec{Selector: selector, Template: template}}, metav1.CreateOptions{})
		if err == nil {
			_, err = apps.DaemonSets("default").Create(ctx, &appsv1.DaemonSet{ObjectMeta: named, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template}}, metav1.CreateOptions{})
		}
		if err == nil {
			_, err = apps.ReplicaSets("default").Create(ctx, &appsv1.ReplicaSet{ObjectMeta: named, Spec: appsv1.ReplicaSetSpec{Selector: selector, Template: template}}, metav1.CreateOptions{})
		}
		if err == nil {
			_, err = apps.Deployments("default").Create(ctx, &appsv1.Deployment{ObjectMeta: named, Spec: appsv1.DeploymentSpec{Selector: selector, Template: template}}, metav1.CreateOptions{})
		}
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		return run(ctx, config)
	}
	s.Replay = "gadgets.example.com default/a: create; fail; heal"
	found, err := explore.FindOperator(t, s)
	if err != nil {
		t.Fatal(err)
	}
	if found.Trials != 1 || len(found.Findings) > 0 {
		t.Errorf("%s: %+v", found, found.Findings)
	}
}
