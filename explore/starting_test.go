package explore_test

import (
	"context"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/explore"
)

// A controller that crashes in the first second can read until that second is over, so that its caches sync; its context ends then, and only
// then do its writes. A manager of controller-runtime whose context ends before spins for ever.
func TestAControllerThatCrashesAtItsStartMayStillRead(t *testing.T) {
	type life struct {
		took  time.Duration // until the context ended
		reads int           // that were answered
		alive bool          // when the write failed
	}
	var mu sync.Mutex
	var lives []life
	result := find(t, func(t testing.TB, c *explore.Cluster) {
		lives = nil
		c.Control("writer", c.RESTConfig(), func(ctx context.Context, config *rest.Config) error {
			configMaps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default")
			l, began := life{}, time.Now()
			written := make(chan bool)
			go func() {
				_, err := configMaps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
				written <- err != nil && ctx.Err() == nil
			}()
			for ctx.Err() == nil && time.Since(began) < time.Minute {
				time.Sleep(300 * time.Millisecond)
				if _, err := configMaps.Get(ctx, "a", metav1.GetOptions{}); err == nil {
					l.reads++
				}
			}
			l.alive = <-written
			<-ctx.Done()
			l.took = time.Since(began)
			mu.Lock()
			defer mu.Unlock()
			lives = append(lives, l)
			return nil
		})
		c.Wait(10 * time.Second)
	}, explore.Replay(t.Name()+": crash-after writer create configmaps default/ 1"))
	if result.Failure != nil {
		t.Fatal(result.Failure.Log)
	}
	// The loop looks at its context every 300 ms.
	if want := (life{took: 1200 * time.Millisecond, reads: 3}); len(lives) != 2 || lives[0] != want {
		t.Errorf("the lives of the controller are %+v, the first should be %+v", lives, want)
	}
}
