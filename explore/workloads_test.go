package explore_test

import (
	"context"
	"sync/atomic"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/explore"
	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads"
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
	if found.Trials != 3 || len(found.Findings) > 0 { // with those that lead at once to the states that it reaches
		t.Errorf("%s: %+v", found, found.Findings)
	}
}

// With the hook, Pods run in each trial, and a correct operator has no finding. Without it there are no Pods.
func TestTrialsWithLivingPods(t *testing.T) {
	for name, tc := range map[string]struct {
		workloads func(testing.TB, *fakecluster.Cluster)
		trials    []string
		pods      int32
	}{
		"living": {
			workloads: func(t testing.TB, c *fakecluster.Cluster) { workloads.Run(t, c, workloads.Nodes(1)) },
			trials:    []string{"create", "create; restart; delete"},
			pods:      1,
		},
		"without the hook": {trials: []string{"create"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, trial := range tc.trials {
				var running, ready atomic.Int32
				s := gadgetOperator{image: "nginx"}.subject()
				s.Roles, s.User = nil, ""
				s.Workloads = tc.workloads
				s.Replay = "gadgets.example.com default/a: " + trial
				s.Invariants = []explore.Invariant{
					explore.Eventually("pods run", "pods", fakecluster.When(func(p *corev1.Pod) bool {
						running.Add(1)
						return p.Status.Phase == corev1.PodRunning && p.Status.PodIP != ""
					})),
					explore.Eventually("deployments are ready", "deployments.apps", fakecluster.When(func(d *appsv1.Deployment) bool {
						ready.Store(d.Status.ReadyReplicas)
						return d.Status.ReadyReplicas == 1
					})),
				}
				found, err := explore.FindOperator(t, s)
				if err != nil {
					t.Fatal(err)
				}
				// The second trial leads to the same state at once.
				if found.Trials != 2 || len(found.Findings) > 0 || (running.Load() > 0) != (tc.pods > 0) || ready.Load() != 1 {
					t.Errorf("%s: %s, %+v; looked at %d pods, %d ready", trial, found, found.Findings, running.Load(), ready.Load())
				}
			}
		})
	}
}
