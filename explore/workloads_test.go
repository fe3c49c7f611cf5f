package explore_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
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
		core, batch := kubernetes.NewForConfigOrDie(config).CoreV1(), kubernetes.NewForConfigOrDie(config).BatchV1()
		if err == nil {
			_, err = core.Pods("default").Create(ctx, &corev1.Pod{ObjectMeta: named, Spec: template.Spec}, metav1.CreateOptions{})
		}
		template := *template.DeepCopy()
		template.Spec.RestartPolicy = corev1.RestartPolicyNever
		if err == nil {
			_, err = batch.Jobs("default").Create(ctx, &batchv1.Job{ObjectMeta: named, Spec: batchv1.JobSpec{Template: template}}, metav1.CreateOptions{})
		}
		if err == nil {
			_, err = batch.Jobs("default").Create(ctx, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "indexed"}, Spec: batchv1.JobSpec{Template: template,
				CompletionMode: new(batchv1.IndexedCompletion), Completions: new(int32(3))}}, metav1.CreateOptions{})
		}
		if err == nil {
			err = createClaim(ctx, core)
		}
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		return run(ctx, config)
	}
	s.Invariants = []explore.Invariant{
		explore.Eventually("Jobs complete", "jobs.batch", fakecluster.CEL(`object.status.succeeded == (object.metadata.name == "a" ? 1 : 3) && object.status.conditions.exists(c, c.type == "Complete")`)),
		explore.Eventually("claims are bound", "persistentvolumeclaims", fakecluster.CEL(`object.status.phase == "Bound" && object.status.capacity.storage == "1Gi"`)),
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

// A claim that somebody deletes while a Pod uses it stays until the Pod ends, and no operator can change that. One that the operator itself deletes is
// found. A claim whose Pod waits ends, so that there is a new one.
func TestAClaimThatIsDeletedStaysWithItsPod(t *testing.T) {
	const used, added = "create; delete-owned persistentvolumeclaims default/a", "create; set /spec/count 1"
	for name, tt := range map[string]struct {
		deletes bool // the operator deletes its claim when there are fewer ConfigMaps
		trial   string
		renewed bool // the claim ends, and is made again
		want    string
	}{
		"by somebody":     {false, used, false, ""},
		"by the operator": {true, added, false, "persistentvolumeclaims default/a has /metadata/deletionGracePeriodSeconds, and 1 difference more"},
		"and its Pod":     {false, used + " & delete-owned pods default/a", true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := gadgetOperator{}.subject()
			s.Roles = nil
			run := s.Run
			var runs, made atomic.Int32
			s.Run = func(ctx context.Context, config *rest.Config) error {
				runs.Add(1)
				core := kubernetes.NewForConfigOrDie(config).CoreV1()
				pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "nginx"}},
					Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "a"}}}}}}
				go func() {
					for former := 0; ctx.Err() == nil; time.Sleep(10 * time.Second) {
						if _, err := core.PersistentVolumeClaims("default").Get(ctx, "a", metav1.GetOptions{}); apierrors.IsNotFound(err) && createClaim(ctx, core) == nil {
							made.Add(1)
						}
						if maps, err := core.ConfigMaps("default").List(ctx, metav1.ListOptions{}); err == nil {
							if tt.deletes && len(maps.Items) > 0 && len(maps.Items) < former {
								_ = core.PersistentVolumeClaims("default").Delete(ctx, "a", metav1.DeleteOptions{})
							}
							former = len(maps.Items)
						}
						if _, err := core.Pods("default").Get(ctx, "a", metav1.GetOptions{}); apierrors.IsNotFound(err) {
							_, _ = core.Pods("default").Create(ctx, pod, metav1.CreateOptions{})
						}
					}
				}()
				return run(ctx, config)
			}
			s.Replay = "gadgets.example.com default/a: " + tt.trial
			found, err := explore.FindOperator(t, s)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, f := range found.Findings {
				got += f.What + "\n"
			}
			if strings.TrimSpace(got) != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if again := made.Load() - runs.Load(); again > 0 != tt.renewed {
				t.Errorf("%d claims were made again, want some: %t", again, tt.renewed)
			}
		})
	}
}

// An operator that makes one Pod after the other, as a StatefulSet, has as many turns as it needs. One that never stops is found.
func TestPodsThatAreMadeOneAfterTheOther(t *testing.T) {
	for pods, want := range map[int]string{10: "", 1000: "the operator still writes after 1h0m0s; the last writes:"} {
		t.Run(fmt.Sprint(pods), func(t *testing.T) {
			s := gadgetOperator{}.subject()
			s.Roles = nil
			run := s.Run
			s.Run = func(ctx context.Context, config *rest.Config) error {
				core := kubernetes.NewForConfigOrDie(config).CoreV1().Pods("default")
				go func() {
					for i := 0; i < pods && ctx.Err() == nil; time.Sleep(10 * time.Second) {
						pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("a-", i)}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "nginx"}}}}
						now, err := core.Get(ctx, pod.Name, metav1.GetOptions{})
						if apierrors.IsNotFound(err) {
							now, err = core.Create(ctx, pod, metav1.CreateOptions{})
						}
						if err == nil && now.Status.Phase == corev1.PodRunning {
							i++
						}
					}
				}()
				return run(ctx, config)
			}
			s.Replay = "gadgets.example.com default/a: create; restart"
			found, err := explore.FindOperator(t, s)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, f := range found.Findings {
				got += strings.SplitN(f.What, "\n", 2)[0]
			}
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// createClaim creates the claim a.
func createClaim(ctx context.Context, core typedcorev1.CoreV1Interface) error {
	_, err := core.PersistentVolumeClaims("default").Create(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}}}}, metav1.CreateOptions{})
	return err
}

// A claim that somebody deletes ends, as with upstream's pvc-protection-controller, so that an operator can create it again.
func TestAClaimThatIsDeletedEnds(t *testing.T) {
	s := gadgetOperator{}.subject()
	s.Roles = nil
	run := s.Run
	s.Run = func(ctx context.Context, config *rest.Config) error {
		core := kubernetes.NewForConfigOrDie(config).CoreV1()
		go func() {
			for ctx.Err() == nil {
				if _, err := core.PersistentVolumeClaims("default").Get(ctx, "a", metav1.GetOptions{}); apierrors.IsNotFound(err) && ctx.Err() == nil {
					if err := createClaim(ctx, core); err != nil {
						t.Error(err)
					}
				}
				time.Sleep(10 * time.Second)
			}
		}()
		return run(ctx, config)
	}
	s.Replay = "gadgets.example.com default/a: create; delete-owned persistentvolumeclaims default/a"
	found, err := explore.FindOperator(t, s)
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Findings) > 0 {
		t.Error(found.Findings[0].Report)
	}
}

// A Job that has done its work is not missed when somebody deletes it, with its Pods where there are some.
func TestAJobThatIsCompleteNeedNotBeMadeGood(t *testing.T) {
	for name, live := range map[string]func(testing.TB, *fakecluster.Cluster){
		"living": func(t testing.TB, c *fakecluster.Cluster) { workloads.Run(t, c, workloads.Nodes(1)) },
		"beside a Deployment of the cluster": func(t testing.TB, c *fakecluster.Cluster) {
			workloads.Run(t, c, workloads.Nodes(1), workloads.ControlPlane())
		},
		"without the hook": nil,
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "living" {
				t.Skip("-short: exploration is slow, and does the same for each way to live")
			}
			s := gadgetOperator{}.subject()
			s.Roles, s.Workloads = nil, live
			run := s.Run
			s.Run = func(ctx context.Context, config *rest.Config) error {
				_, err := kubernetes.NewForConfigOrDie(config).BatchV1().Jobs("default").Create(ctx, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "a"},
					Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever,
						Containers: []corev1.Container{{Name: "main", Image: "nginx"}}}}}}, metav1.CreateOptions{})
				if err != nil && !apierrors.IsAlreadyExists(err) {
					return err
				}
				return run(ctx, config)
			}
			s.Replay = "gadgets.example.com default/a: create; delete-owned jobs.batch default/a"
			found, err := explore.FindOperator(t, s)
			if err != nil {
				t.Fatal(err)
			}
			if len(found.Findings) > 0 {
				t.Error(found.Findings[0].Report)
			}
		})
	}
}

// A StatefulSet keeps the claims of its templates when it has fewer Pods. Other claims that an operator does not need anymore are its to delete.
func TestClaimsOfAStatefulSetMayOutlive(t *testing.T) {
	sets := appsv1.SchemeGroupVersion.WithResource("statefulsets")
	for name, tt := range map[string]struct {
		template string
		want     string
	}{
		"of a template": {"data-db", ""},
		"others":        {"data-web", "persistentvolumeclaims default/data-web-1 exists"},
	} {
		t.Run(name, func(t *testing.T) {
			operator := gadgetOperator{before: func(ctx context.Context, client dynamic.Interface, gadget *unstructured.Unstructured) (bool, error) {
				owner := []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Gadget", Name: gadget.GetName(), UID: gadget.GetUID()}}
				set := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": map[string]any{
					"selector": map[string]any{"matchLabels": map[string]any{"app": "db"}},
					"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "db"}}, "spec": map[string]any{
						"containers": []any{map[string]any{"name": "main", "image": "db:1"}}}}}}}
				set.SetName("db")
				set.SetOwnerReferences(owner)
				if _, err := client.Resource(sets).Namespace("default").Create(ctx, set, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
					return false, err
				}
				count, _, _ := unstructured.NestedInt64(gadget.Object, "spec", "count")
				for i := range count { // as a StatefulSet with so many replicas
					claim := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": map[string]any{
						"accessModes": []any{"ReadWriteOnce"}, "resources": map[string]any{"requests": map[string]any{"storage": "1Gi"}}}}}
					claim.SetName(fmt.Sprintf("%s-%d", tt.template, i))
					_, err := client.Resource(corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims")).Namespace("default").Create(ctx, claim, metav1.CreateOptions{})
					if err != nil && !apierrors.IsAlreadyExists(err) {
						return false, err
					}
				}
				return false, nil
			}}
			s := operator.subject()
			s.Roles = nil
			s.Replay = "gadgets.example.com default/a: create; set /spec/count 1"
			found, err := explore.FindOperator(t, s)
			if err != nil {
				t.Fatal(err)
			}
			var got string
			for _, f := range found.Findings {
				got += f.What
			}
			if got != tt.want {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
}

// An operator that changes its Deployment leads to what one leads to that creates it so, although the Deployment has had two ReplicaSets.
func TestARolloutInALivingClusterIsNoDifference(t *testing.T) {
	s := gadgetOperator{image: "nginx", copiesLabels: true}.subject()
	s.Roles, s.User = nil, ""
	s.Workloads = func(t testing.TB, c *fakecluster.Cluster) { workloads.Run(t, c, workloads.Nodes(1)) }
	s.Replay = `gadgets.example.com default/a: create; set /metadata/labels/explore.example.com~1label "explored"`
	found, err := explore.FindOperator(t, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found.Findings {
		t.Error(f.Report)
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
