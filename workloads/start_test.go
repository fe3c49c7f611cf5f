package workloads_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

func TestRunWaitsTenSecondsForANodeThatCannotBecomeReady(t *testing.T) {
	for _, test := range []struct {
		name  string
		fault faults.Fault
		wait  time.Duration
		fails string // the test; part of how
	}{
		{"it keeps its taint", faults.Fault{User: "system:serviceaccount:kube-system:node-controller", Verb: "patch", Resource: "nodes", Effect: faults.InternalError("on purpose")}, 10 * time.Second, ""},
		{"it is rejected", faults.Fault{Verb: "create", Resource: "nodes", Name: "n2", Effect: faults.InternalError("on purpose")}, 0, "node n2 does not exist, because it cannot be registered"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := fakecluster.Start(t, fakecluster.InProcess())
				injected := c.Inject(test.fault)
				began := time.Now()
				w, err := workloads.New(c, workloads.Nodes(2))
				if err != nil {
					t.Fatal(err)
				}
				if got := time.Since(began).Truncate(time.Second); got != test.wait {
					t.Errorf("it takes %s", got)
				}
				injected.Stop()
				switch err := w.Close(); {
				case test.fails == "" && err != nil:
					t.Error(err)
				case test.fails != "" && (err == nil || !strings.Contains(err.Error(), test.fails)):
					t.Errorf("the error is %v, and lacks %q", err, test.fails)
				}
			})
		})
	}
}
