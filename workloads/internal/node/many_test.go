package node_test

import (
	"flag"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
	"github.com/fakecluster/fakecluster/workloads/internal/node"
	"github.com/fakecluster/fakecluster/workloads/internal/node/nodetest"
)

var (
	manyPods  = flag.Int("pods", 300, "the pods of TestManyPods")
	manyNodes = flag.Int("nodes", 3, "the nodes of TestManyPods and TestIdleHours")
	hours     = flag.Int("hours", 1, "the virtual hours of TestIdleHours")
)

// TestManyPods logs what pods cost. More of them: -run ManyPods -v -pods 10000 -nodes 100.
func TestManyPods(t *testing.T) {
	if seedtest.RaceDetector {
		t.Skip("it measures, and takes minutes under the race detector; the other tests have the same goroutines")
	}
	began := time.Now()
	synctest.Test(t, func(t *testing.T) {
		w := nodetest.New(t, node.Config{Nodes: node.Nodes(*manyNodes)})
		synctest.Wait()
		for i := range *manyPods {
			w.Create(fmt.Sprintf("p%d", i), func(p *corev1.Pod) { p.Spec.NodeName = fmt.Sprintf("n%d", i%*manyNodes+1) })
			time.Sleep(time.Millisecond) // the cluster takes too many writes at one moment for an endless loop
		}
		time.Sleep(2 * time.Second)
		list, err := w.Admin.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{FieldSelector: "status.phase=Running"})
		if err != nil {
			t.Fatal(err)
		}
		addresses := map[string]bool{}
		for i := range list.Items {
			addresses[list.Items[i].Status.PodIP] = true
		}
		if len(list.Items) != *manyPods || len(addresses) != *manyPods {
			t.Errorf("%d of %d pods run, with %d addresses", len(list.Items), *manyPods, len(addresses))
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		t.Logf("%d goroutines, %d MiB in use", runtime.NumGoroutine(), m.HeapAlloc>>20)
	})
	t.Logf("%d pods on %d nodes: %s", *manyPods, *manyNodes, time.Since(began))
}

// TestIdleHours logs what hours cost in which nothing happens. More of them: -run IdleHours -v -hours 24.
func TestIdleHours(t *testing.T) {
	if seedtest.RaceDetector {
		t.Skip("it measures, and takes minutes under the race detector; the other tests have the same goroutines")
	}
	idle := func(d time.Duration) time.Duration {
		began := time.Now()
		synctest.Test(t, func(t *testing.T) {
			w := nodetest.New(t, node.Config{Nodes: node.Nodes(*manyNodes)})
			for i := range 20 {
				w.Create(fmt.Sprintf("p%d", i), func(p *corev1.Pod) { p.Spec.NodeName = fmt.Sprintf("n%d", i%*manyNodes+1) })
			}
			time.Sleep(time.Minute)
			before := w.Pod("p0").ResourceVersion
			time.Sleep(d)
			if after := w.Pod("p0").ResourceVersion; after != before {
				t.Errorf("an idle pod was written: revision %s, then %s", before, after)
			}
		})
		return time.Since(began)
	}
	idle(0)
	without := idle(0)
	t.Logf("%d hours of %d nodes and 20 pods: %s", *hours, *manyNodes, idle(time.Duration(*hours)*time.Hour)-without)
}
