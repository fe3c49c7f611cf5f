package fakecluster_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/faults"
)

// newDeployment returns the Deployment that the tests wait for.
func newDeployment() *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}},
			},
		},
	}
}

// inAndOutsideOfABubble runs a test three times: in a bubble, in process and over a socket.
func inAndOutsideOfABubble(t *testing.T, test func(t *testing.T, c *fakecluster.Cluster)) {
	t.Run("in a bubble", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { test(t, fakecluster.Start(t, fakecluster.InProcess())) })
	})
	t.Run("in process", func(t *testing.T) { test(t, fakecluster.Start(t, fakecluster.InProcess())) })
	t.Run("over a socket", func(t *testing.T) { test(t, fakecluster.Start(t)) })
}

// web returns the Deployment, as a test names it that has not read it.
func web() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
}

func TestWaitForMissesNoState(t *testing.T) {
	inAndOutsideOfABubble(t, func(t *testing.T, c *fakecluster.Cluster) {
		clients := c.Clientset().AppsV1().Deployments("default")
		_, err := clients.Create(t.Context(), newDeployment(), metav1.CreateOptions{})
		must(t, err)
		scale := make(chan int, 3)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for replicas := range scale {
				if _, err := clients.Patch(context.WithoutCancel(t.Context()), "web", types.MergePatchType, fmt.Appendf(nil, `{"spec": {"replicas": %d}}`, replicas), metav1.PatchOptions{}); err != nil {
					t.Error(err)
				}
			}
		}()
		deployment := web()
		var seen []int32
		c.WaitFor(t, deployment, fakecluster.When(func(d *appsv1.Deployment) bool {
			if seen == nil { // the watch has begun
				scale <- 2
				scale <- 3
				scale <- 4
				close(scale)
			}
			seen = append(seen, *d.Spec.Replicas)
			return *d.Spec.Replicas == 3
		}))
		<-done
		equal(t, "the states", seen, []int32{1, 2, 3})
		equal(t, "the replicas in the object that met the condition", *deployment.Spec.Replicas, int32(3))
		c.WaitFor(t, deployment, fakecluster.CEL("object.spec.replicas == 4"))
		equal(t, "the replicas", *deployment.Spec.Replicas, int32(4))
	})
}

func TestWaitForConditionsOfAnObject(t *testing.T) {
	inAndOutsideOfABubble(t, func(t *testing.T, c *fakecluster.Cluster) {
		clients := c.Clientset().AppsV1().Deployments("default")
		created := make(chan struct{})
		go func() {
			defer close(created)
			if _, err := clients.Create(context.WithoutCancel(t.Context()), newDeployment(), metav1.CreateOptions{}); err != nil {
				t.Error(err)
			}
		}()
		c.WaitFor(t, web(), fakecluster.When(func(*unstructured.Unstructured) bool { return true })) // it need not exist yet
		<-created
		status := func(text string) {
			_, err := clients.Patch(t.Context(), "web", types.MergePatchType, []byte(`{"status": `+text+`}`), metav1.PatchOptions{}, "status")
			must(t, err)
		}
		status(`{"observedGeneration": 1, "conditions": [{"type": "Available", "status": "True"}, {"type": "Progressing", "status": "False"}]}`)
		c.WaitFor(t, web(), fakecluster.HasCondition("Available"))
		c.WaitFor(t, web(), fakecluster.HasCondition("Progressing", metav1.ConditionFalse))
		c.WaitFor(t, fakecluster.Named("apps/v1", "Deployment", "default", "web"), fakecluster.CEL("object.metadata.name == 'web'"))
		must(t, clients.Delete(t.Context(), "web", metav1.DeleteOptions{}))
		c.WaitFor(t, web(), fakecluster.Gone())
	})
}

// Neither a fault that strikes all requests, nor a hold, affects the watch.
func TestWaitForSeesThroughFaultsAndHolds(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	clients := c.Clientset().AppsV1().Deployments("default")
	_, err := clients.Create(t.Context(), newDeployment(), metav1.CreateOptions{})
	must(t, err)
	hold := c.Hold()
	defer hold.Release()
	c.Inject(faults.Fault{Optional: true, Effect: faults.Unavailable()})
	before := len(c.Requests())
	c.WaitFor(t, web(), fakecluster.CEL("object.spec.replicas == 1"))
	equal(t, "its requests", len(c.Requests())-before, 0)
}

func TestWaitForExplainsWhatIsNotMet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess())
		clients := c.Clientset()
		fails := func(what string, condition fakecluster.Condition, want string, left ...string) {
			t.Helper()
			began := time.Now()
			got := fatal(t, func(t testing.TB) { c.WaitFor(t, web(), condition) })
			first, rest, _ := strings.Cut(got, "\n")
			equal(t, what, first, "fakecluster: WaitFor: "+want)
			equal(t, what+": the time", time.Since(began).String(), "1m0s")
			for _, line := range left {
				if !strings.Contains(rest, line) {
					t.Errorf("%s: got %s, and want %s in it", what, rest, line)
				}
			}
		}
		fails("it does not exist", fakecluster.HasCondition("Available"), "Deployment default/web: not met after 1m: the object does not exist; it was not created meanwhile")

		_, err := clients.AppsV1().Deployments("default").Create(t.Context(), newDeployment(), metav1.CreateOptions{})
		must(t, err)
		fails("no condition", fakecluster.HasCondition("Available"), "Deployment default/web: not met after 1m: the object does not have the condition Available, or any other; it did not change meanwhile",
			"\tkind: Deployment", "\n\t  replicas: 1\n")
		time.AfterFunc(time.Second, func() {
			patchStatus(t, clients, `{"conditions": [{"type": "Available", "status": "False", "reason": "Waiting"}]}`)
		})
		fails("another status", fakecluster.HasCondition("Available"), "Deployment default/web: not met after 1m: the condition Available is False, not True (Waiting); it changed once meanwhile")
		fails("a function", fakecluster.When(func(*appsv1.Deployment) bool { return false }), "Deployment default/web: not met after 1m: the function of When returns false; it did not change meanwhile")
		fails("an expression", fakecluster.CEL("object.spec.replicas > 1"), "Deployment default/web: not met after 1m: object.spec.replicas > 1 is false; it did not change meanwhile")
		fails("a field that is not there", fakecluster.CEL("object.status.readyReplicas == 1"), "Deployment default/web: not met after 1m: object.status.readyReplicas == 1 cannot be evaluated: no such key: readyReplicas; it did not change meanwhile")
		fails("nobody deletes it", fakecluster.Gone(), "Deployment default/web: not met after 1m: the object exists, and nobody has deleted it; it did not change meanwhile")
		_, err = clients.AppsV1().Deployments("default").Patch(t.Context(), "web", types.MergePatchType, []byte(`{"metadata": {"finalizers": ["example.com/keep"]}}`), metav1.PatchOptions{})
		must(t, err)
		must(t, clients.AppsV1().Deployments("default").Delete(t.Context(), "web", metav1.DeleteOptions{}))
		fails("a finalizer", fakecluster.Gone(), `Deployment default/web: not met after 1m: the object is being deleted, and has the finalizers ["example.com/keep"]; it did not change meanwhile`)

		began := time.Now()
		got := fatal(t, func(t testing.TB) { c.WaitFor(t, web(), fakecluster.Gone().Within(2*time.Hour)) })
		if !strings.Contains(got, "not met after 2h:") || time.Since(began) != 2*time.Hour {
			t.Errorf("after %v: %s", time.Since(began), got)
		}
	})
}

func patchStatus(t *testing.T, clients kubernetes.Interface, status string) {
	_, err := clients.AppsV1().Deployments("default").Patch(context.WithoutCancel(t.Context()), "web", types.MergePatchType, []byte(`{"status": `+status+`}`), metav1.PatchOptions{}, "status")
	if err != nil {
		t.Error(err)
	}
}

func TestWaitForHidesTheValuesOfSecrets(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithObjects(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "password"}, StringData: map[string]string{"password": "swordfish"},
	}))
	got := fatal(t, func(t testing.TB) {
		c.WaitFor(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "password"}}, fakecluster.Gone().Within(time.Millisecond))
	})
	if !strings.Contains(got, "kind: Secret") || strings.Contains(got, "c3dvcmRmaXNo") {
		t.Error(got)
	}
}

func TestWaitForRejectsMistakes(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	for _, test := range []struct {
		name      string
		condition fakecluster.Condition
		want      string
	}{
		{"no condition", fakecluster.Condition{}, "the condition is empty; make one with HasCondition, When, CEL or Gone"},
		{"no type", fakecluster.HasCondition(""), "HasCondition: the type of the condition is empty; write one such as Available"},
		{"two statuses", fakecluster.HasCondition("A", "True", "False"), "HasCondition: give one status, not 2"},
		{"no function", fakecluster.When[*appsv1.Deployment](nil), "When: the function is nil"},
		{"a function for another kind", fakecluster.When(func(*appsv1.StatefulSet) bool { return true }), "When: the function takes a *v1.StatefulSet, and the object is a *v1.Deployment"},
		{"not CEL", fakecluster.CEL("object.spec.("), "CEL: the expression is not valid; it is one such as object.spec.replicas == 2, where object is the object: ERROR: <input>:1:13: Syntax error"},
		{"another variable", fakecluster.CEL("self.spec.replicas == 1"), "CEL: the expression is not valid; it is one such as object.spec.replicas == 2, where object is the object: ERROR: <input>:1:1: undeclared reference to 'self'"},
		{"not true or false", fakecluster.CEL("1 + 1"), "CEL: the expression 1 + 1 is of type int; write one that is true or false, such as object.spec.replicas == 2"},
		{"negative time", fakecluster.Gone().Within(-1), "Within: the time must not be negative, and is -1ns"},
	} {
		got := fatal(t, func(t testing.TB) { c.WaitFor(t, web(), test.condition) })
		if !strings.HasPrefix(got, "fakecluster: WaitFor: "+test.want) {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
	got := fatal(t, func(t testing.TB) { c.WaitFor(t, &appsv1.Deployment{}, fakecluster.Gone()) })
	equal(t, "no name", got, "fakecluster: WaitFor: the Deployment does not have a name")
	got = fatal(t, func(t testing.TB) { c.WaitFor(t, cronTab("a"), fakecluster.Gone()) })
	equal(t, "an unknown kind", got, `fakecluster: WaitFor: CronTab a: no matches for kind "CronTab" in version "stable.example.com/v1"; give its definition to fakecluster.WithCRDPaths`)
	got = fatal(t, func(t testing.TB) {
		c.WaitFor(t, fakecluster.Named("apps/v2", "Deployment", "default", "a"), fakecluster.Gone())
	})
	equal(t, "an unknown version", got, `fakecluster: WaitFor: Deployment a: no matches for kind "Deployment" in version "apps/v2"; the cluster serves Deployment in apps/v1`)
	got = fatal(t, func(t testing.TB) {
		c.WaitFor(t, fakecluster.Named("apps/v1", "Deploymnt", "default", "a"), fakecluster.Gone())
	})
	equal(t, "a misspelled kind", got, `fakecluster: WaitFor: Deploymnt a: no matches for kind "Deploymnt" in version "apps/v1"; the cluster serves in this group ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet`)
}
