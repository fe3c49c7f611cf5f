package workloads_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/faults"
	"github.com/fakecluster/fakecluster/workloads"
)

func TestRunReturnsWhenTheNodesAreReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess())
		workloads.Run(t, c, workloads.Nodes(3))
		nodes, err := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(nodes.Items) != 3 {
			t.Errorf("there are %d Nodes", len(nodes.Items))
		}
		for _, n := range nodes.Items {
			if len(n.Spec.Taints) > 0 || n.Status.Conditions[3].Type != corev1.NodeReady || n.Status.Conditions[3].Status != corev1.ConditionTrue {
				t.Errorf("%s has the taints %v and the conditions %v", n.Name, n.Spec.Taints, n.Status.Conditions)
			}
		}
	})
}

// The scheduler of a real cluster finds Nodes, too, when Pods are created.
func TestPodsThatExistBeforeRunAreSpreadOverTheNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess())
		w := world{t, nil, c, kubernetes.NewForConfigOrDie(c.RESTConfig())}
		for _, name := range []string{"a", "b", "c"} {
			w.post(pod(name, ""))
		}
		workloads.Run(t, c, workloads.Nodes(3))
		w.pass(5 * time.Second)
		nodes := map[string]int{}
		for _, p := range w.list("pods") {
			nodes[field(&p, "spec.nodeName")]++
		}
		if len(nodes) != 3 {
			t.Errorf("the Pods are on %v", nodes)
		}
		for _, e := range w.list("events") {
			if field(&e, "reason") == "FailedScheduling" {
				t.Errorf("there is an Event: %s", field(&e, "message"))
			}
		}
	})
}

// logging is a test whose log a test reads.
type logging struct {
	testing.TB
	lines []string
}

func (l *logging) Log(args ...any) { l.lines = append(l.lines, fmt.Sprint(args...)) }

func TestRunWaitsTenSecondsForANodeThatCannotBecomeReady(t *testing.T) {
	lifecycle := faults.Fault{User: "system:serviceaccount:kube-system:node-controller", Verb: "patch", Resource: "nodes", Effect: faults.InternalError("on purpose")}
	n2 := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n2"}}
	tainted := n2.DeepCopy()
	tainted.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectPreferNoSchedule}}
	broken := n2.DeepCopy()
	broken.Labels = map[string]string{"broken": "yes"}
	breaks := func(_ context.Context, r *fakecluster.AdmissionRequest) error {
		if r.Object == nil || r.Object.GetKind() != "Node" || r.Object.GetLabels()["broken"] == "" {
			return nil
		}
		conditions, _, _ := unstructured.NestedSlice(r.Object.Object, "status", "conditions")
		for _, c := range conditions {
			if c := c.(map[string]any); c["type"] == "Ready" {
				c["status"], c["reason"], c["message"] = "False", "Broken", "on purpose"
			}
		}
		return unstructured.SetNestedSlice(r.Object.Object, conditions, "status", "conditions")
	}
	for _, test := range []struct {
		name  string
		fault *faults.Fault
		node  *corev1.Node
		wait  time.Duration
		log   string
	}{
		{"it keeps its taint", &lifecycle, n2, 10 * time.Second, "workloads: node n2 is not ready after 10s: " +
			"node-lifecycle-controller does not remove the taint node.kubernetes.io/not-ready:NoSchedule; pods are scheduled without it"},
		{"it has a taint of its own", nil, tainted, 0, ""},
		{"admission changes its condition", nil, broken, 10 * time.Second, "workloads: node n2 is not ready after 10s: " +
			"its condition Ready is False: Broken: on purpose; pods are scheduled without it"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithAdmission(breaks, nil))
				if test.fault != nil {
					defer c.Inject(*test.fault).Stop()
				}
				began, l := time.Now(), &logging{TB: t}
				workloads.Run(l, c, workloads.NodeObjects(test.node))
				if got := time.Since(began).Truncate(time.Second); got != test.wait {
					t.Errorf("it takes %s", got)
				}
				if got := strings.Join(l.lines, "\n"); got != test.log {
					t.Errorf("the log is %q, want %q", got, test.log)
				}
			})
		})
	}
}

func TestARejectedNodeIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess())
		injected := c.Inject(faults.Fault{Verb: "create", Resource: "nodes", Name: "n2", Effect: faults.InternalError("on purpose")})
		began := time.Now()
		w, err := workloads.New(c, workloads.Nodes(2))
		if err != nil {
			t.Fatal(err)
		}
		if got := time.Since(began).Truncate(time.Second); got != 0 {
			t.Errorf("it takes %s", got)
		}
		injected.Stop()
		const want = "node n2 does not exist: its registration failed"
		if err := w.Close(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, and lacks %q", err, want)
		}
	})
}

// admin selects edit, which selects view: in that order each is written once.
func TestRunWritesEachAggregatedRoleOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess())
		workloads.Run(t, c)
		var got []string
		for _, r := range c.Requests() {
			if r.User == "system:serviceaccount:kube-system:clusterrole-aggregation-controller" && r.Verb == "patch" {
				got = append(got, r.Name)
			}
		}
		if want := []string{"view", "edit", "admin"}; !slices.Equal(got, want) {
			t.Errorf("written are %v, want %v", got, want)
		}
		role, err := kubernetes.NewForConfigOrDie(c.RESTConfig()).RbacV1().ClusterRoles().Get(t.Context(), "admin", metav1.GetOptions{})
		if err != nil || !slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "bindings") }) {
			t.Errorf("admin lacks a rule of view: %v, %v", role.Rules, err)
		}
	})
}
