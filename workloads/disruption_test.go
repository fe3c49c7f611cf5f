package workloads_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fakecluster/fakecluster/workloads"
)

// budget is a PodDisruptionBudget of the Pods app=web.
func budget(spec string) string {
	return "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: web}}\n" + indent(spec)
}

// evict evicts the first Pod app=web that is not being deleted, and a ready one if there is any: a budget that is met does not
// protect others.
func (w world) evict() error {
	w.Helper()
	pods := w.list("pods")
	slices.SortStableFunc(pods, func(a, b unstructured.Unstructured) int {
		return strings.Compare(condition(&b, "Ready"), condition(&a, "Ready")) // True before False
	})
	for _, p := range pods {
		if p.GetLabels()["app"] == "web" && p.GetDeletionTimestamp() == nil {
			return w.client.PolicyV1().Evictions(p.GetNamespace()).Evict(w.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: p.GetNamespace(), Name: p.GetName()}})
		}
	}
	w.Fatal("there is no Pod")
	return nil
}

// disruptions returns how many disruptions the budget allows, and how many Pods are healthy.
func (w world) disruptions() string {
	w.Helper()
	b := w.object("poddisruptionbudgets.policy", "web")
	return field(b, "status.disruptionsAllowed") + " of " + field(b, "status.currentHealthy")
}

func TestDisruptionBudgets(t *testing.T) {
	for _, c := range []struct {
		name     string // the rule
		behavior workloads.Behavior
		test     func(w world)
	}{
		{"an eviction is refused until the replacement of the last one is ready", workloads.Behavior{ReadyDelay: 20 * time.Second}, func(w world) {
			w.create(budget("minAvailable: 2") + "---\n" + workload("apps/v1", "Deployment", "web", "replicas: 3"))
			if got := w.disruptions(); got != "0 of 0" {
				w.Errorf("before the Pods are ready, the budget allows %s", got)
			}
			w.pass(30 * time.Second)
			if got := w.disruptions(); got != "1 of 3" {
				w.Errorf("when the Pods are ready, the budget allows %s", got)
			}
			if err := w.evict(); err != nil {
				w.Errorf("the first eviction: %v", err)
			}
			w.pass(5 * time.Second)
			err := w.evict()
			if !apierrors.IsTooManyRequests(err) || err.Error() != "Cannot evict pod as it would violate the pod's disruption budget." {
				w.Errorf("the second eviction: %v", err)
			}
			if cause, ok := apierrors.StatusCause(err, policyv1.DisruptionBudgetCause); !ok || cause.Message != "The disruption budget web needs 2 healthy pods and has 2 currently" {
				w.Errorf("the cause is %v", cause)
			}
			w.pass(30 * time.Second)
			if err := w.evict(); err != nil {
				w.Errorf("the third eviction: %v", err)
			}
		}},
		{"a drain waits for the budget", workloads.Behavior{ReadyDelay: 20 * time.Second}, func(w world) {
			w.create(budget("maxUnavailable: 1") + "---\n" + workload("apps/v1", "Deployment", "web", "replicas: 6"))
			w.pass(time.Minute)
			// The scheduler may put five of them on one node. The one with more of them is drained.
			on := func(node string) (n int) {
				for _, p := range w.list("pods") {
					if field(&p, "spec.nodeName") == node {
						n++
					}
				}
				return n
			}
			name := "n1"
			if on("n2") > on("n1") {
				name = "n2"
			}
			n, err := w.Node(name)
			if err != nil {
				w.Fatal(err)
			}
			pods, began := on(name), time.Now()
			if err := n.Drain(w.Context()); err != nil || pods < 3 {
				w.Errorf("a drain of %d Pods: %v", pods, err)
			}
			// Each replacement becomes ready after 20 s, and the drain evicts again every 5 s.
			if took := time.Since(began); took < time.Duration(pods-1)*20*time.Second || took > time.Duration(pods)*30*time.Second {
				w.Errorf("the drain of %d Pods has taken %v", pods, took)
			}
			if left := on(name); left > 0 {
				w.Errorf("%d Pods are still there", left)
			}
			w.pass(time.Minute)
			if got := w.disruptions(); got != "1 of 6" {
				w.Errorf("after the drain the budget allows %s", got)
			}
		}},
		{"a drain that the budget never allows ends with its context", workloads.Behavior{}, func(w world) {
			w.create(budget("maxUnavailable: 0") + "---\n" + pod("web", "nodeName: n1"))
			w.pass(10 * time.Second)
			n, err := w.Node("n1")
			if err != nil {
				w.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
			defer cancel()
			if err := n.Drain(ctx); err == nil || err.Error() != "drain node n1: context deadline exceeded; remaining pods: [default/web]" {
				w.Errorf("the error is %v", err)
			}
		}},
		{"by default unhealthy Pods are evicted only if enough are healthy", workloads.Behavior{NeverReady: true}, func(w world) {
			w.create(budget("minAvailable: 1") + "---\n" + workload("apps/v1", "Deployment", "web", "replicas: 2"))
			w.pass(10 * time.Second)
			if err := w.evict(); !apierrors.IsTooManyRequests(err) || !strings.Contains(err.Error(), "disruption budget") {
				w.Errorf("the eviction: %v", err)
			}
		}},
		{"unhealthyPodEvictionPolicy AlwaysAllow evicts unhealthy Pods", workloads.Behavior{NeverReady: true}, func(w world) {
			w.create(budget("minAvailable: 1\nunhealthyPodEvictionPolicy: AlwaysAllow") + "---\n" + workload("apps/v1", "Deployment", "web", "replicas: 2"))
			w.pass(10 * time.Second)
			if err := w.evict(); err != nil {
				w.Errorf("the eviction: %v", err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.behavior.Labels = map[string]string{"app": "web"}
			inBubble(t, c.test, workloads.Nodes(3), workloads.Behaviors(c.behavior))
		})
	}
}
