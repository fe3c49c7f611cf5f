package controlplane

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/fakecluster/fakecluster/fakecluster"
)

func ready(name string, status corev1.ConditionStatus, taints ...corev1.Taint) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Taints: taints},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, LastHeartbeatTime: metav1.Now()}}},
	}
}

// TestTheLifecycleOfNodesPauses proves that the first loop comes round only when it could find something, and then at a
// whole period after its start.
func TestTheLifecycleOfNodesPauses(t *testing.T) {
	for _, c := range []struct {
		name   string
		node   *corev1.Node
		change func(revision *atomic.Int64, faulty, dead *atomic.Bool)
		want   []time.Duration // when it comes round, after the start
	}{
		{"while nothing happens", ready("n", corev1.ConditionTrue), nil, []time.Duration{0}},
		{"until something is written", ready("n", corev1.ConditionTrue), func(revision *atomic.Int64, _, _ *atomic.Bool) { revision.Add(1) },
			[]time.Duration{0, time.Hour + 5*time.Second}},
		{"until a fault is in force", ready("n", corev1.ConditionTrue), func(_ *atomic.Int64, faulty, _ *atomic.Bool) { faulty.Store(true) },
			[]time.Duration{0, time.Hour + 5*time.Second, time.Hour + 10*time.Second}},
		{"until a node does not renew its Lease", ready("n", corev1.ConditionTrue), func(_ *atomic.Int64, _, dead *atomic.Bool) { dead.Store(true) },
			[]time.Duration{0, time.Hour + 5*time.Second, time.Hour + 10*time.Second}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var revision atomic.Int64
				var faulty, dead atomic.Bool
				nodes := informers.NewSharedInformerFactory(fake.NewClientset(), 0).Core().V1().Nodes()
				if err := nodes.Informer().GetStore().Add(c.node); err != nil {
					t.Fatal(err)
				}
				p, err := newPauses(&Idle{Revision: revision.Load, Faulty: faulty.Load, Beat: func(string) (time.Time, bool, bool) {
					return time.Now(), !dead.Load(), true
				}}, 5*time.Second, nodes)
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				p.context(ctx)
				start := time.Now()
				var rounds []time.Duration
				go func() {
					for ctx.Err() == nil {
						if _, err := p.nodes(nodes).Lister().List(labels.Everything()); err == nil {
							rounds = append(rounds, time.Since(start))
						}
						select {
						case <-ctx.Done():
						case <-time.After(5 * time.Second):
						}
					}
				}()
				time.Sleep(time.Hour + time.Second)
				if c.change != nil {
					c.change(&revision, &faulty, &dead)
				}
				time.Sleep(10 * time.Second)
				cancel()
				synctest.Wait()
				if !slices.Equal(rounds, c.want) {
					t.Errorf("it comes round after %v, want %v", rounds, c.want)
				}
			})
		})
	}
}

// TestTheLoopsOfUpstreamPause proves that the node lifecycle controller comes to where the pauses are, and that a
// node which is not ready ends them.
func TestTheLoopsOfUpstreamPause(t *testing.T) {
	for _, c := range []struct {
		name  string
		node  *corev1.Node
		pause bool
	}{
		{"a ready node", ready("n", corev1.ConditionTrue), true},
		{"a node that is not ready", ready("n", corev1.ConditionFalse), false},
		{"a tainted node", ready("n", corev1.ConditionUnknown, corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute}), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := fakecluster.Start(t, fakecluster.InProcess())
				client := kubernetes.NewForConfigOrDie(cluster.RESTConfig())
				created, err := client.CoreV1().Nodes().Create(t.Context(), c.node, metav1.CreateOptions{})
				if err != nil {
					t.Fatal(err)
				}
				created.Spec.Taints = c.node.Spec.Taints
				if _, err := client.CoreV1().Nodes().Update(t.Context(), created, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
				startedIn(context.Background(), t, cluster, Config{Controllers: []string{"node-lifecycle-controller"}, Report: func(err error) { t.Error(err) }, Idle: &Idle{
					Revision: func() int64 { return 1 }, Faulty: func() bool { return false },
					Beat: func(string) (time.Time, bool, bool) { return time.Now(), true, true },
				}})
				time.Sleep(time.Minute + 50*time.Millisecond)
				stacks := make([]byte, 1<<20)
				stacks = stacks[:runtime.Stack(stacks, true)]
				for _, where := range []string{"(*pauses).list", "(*pauses).waitForTaints"} {
					if got := strings.Contains(string(stacks), where); got != c.pause {
						t.Errorf("%s waits: %t, want %t", where, got, c.pause)
					}
				}
			})
		})
	}
}
