package fakecluster_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fakecluster/fakecluster/fakecluster"
)

func TestHundredClustersAreIsolated(t *testing.T) {
	const clusters = 100
	eachWay(t, func(t *testing.T, way ...fakecluster.Option) {
		var (
			made [clusters]*fakecluster.Cluster
			uids sync.Map
			work sync.WaitGroup
		)
		// A few are filled at a time: if all were, a busy machine would need more than the time that a request may take.
		turns := make(chan struct{}, 8)
		for i := range made {
			work.Go(func() {
				turns <- struct{}{}
				defer func() { <-turns }()
				var err error
				if made[i], err = fakecluster.New(way...); err != nil {
					t.Error(err)
					return
				}
				if err := populate(t.Context(), made[i], fmt.Sprint(i)); err != nil {
					t.Error(err)
				}
			})
		}
		work.Wait()
		defer func() {
			for _, c := range made {
				if c != nil {
					must(t, c.Close())
				}
			}
		}()
		if t.Failed() {
			return
		}
		for i, c := range made {
			l := list(t, inDefault(c))
			if len(l.Items) != 1 {
				t.Fatalf("cluster %d has %q", i, names(l))
			}
			u := &l.Items[0]
			equal(t, "object", fixed(t, u), stored("a", fmt.Sprint(i), 2, revision(t, l)))
			equal(t, "revision", revision(t, l), revision(t, list(t, inDefault(made[0]))))
			if owner, taken := uids.LoadOrStore(u.GetUID(), i); taken {
				t.Errorf("clusters %d and %d share the uid %s", owner, i, u.GetUID())
			}
		}
	})
}

// populate defines CronTabs and creates one with the given image. It has the generation 2.
func populate(ctx context.Context, c *fakecluster.Cluster, image string) error {
	if _, err := c.APIExtensions().ApiextensionsV1().CustomResourceDefinitions().Create(ctx, cronTabDefinition(), metav1.CreateOptions{}); err != nil {
		return err
	}
	u, err := inDefault(c).Create(ctx, cronTab("a"), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if err := unstructured.SetNestedField(u.Object, image, "spec", "image"); err != nil {
		return err
	}
	_, err = inDefault(c).Update(ctx, u, metav1.UpdateOptions{})
	return err
}

func TestIdleClusterHoldsAMegabyteAtMost(t *testing.T) {
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // what the first left to finalizers and pools
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	const clusters, limit = 50, 1 << 20
	for _, way := range ways { // one after the other: the heap is the process's
		t.Run(way.name, func(t *testing.T) {
			fakecluster.Start(t, way.options...) // what the process needs once
			made := make([]*fakecluster.Cluster, 0, clusters)
			before := heap()
			for range clusters {
				made = append(made, defined(t, way.options...))
			}
			each := (int64(heap()) - int64(before)) / clusters
			t.Logf("%d KiB of heap a cluster with one definition", each>>10)
			if each > limit {
				t.Errorf("a cluster holds %d bytes, more than %d", each, limit)
			}
			runtime.KeepAlive(made)
		})
	}
}
