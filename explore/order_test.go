package explore_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/explore"
)

func configMaps(c *explore.Cluster) typedcorev1.ConfigMapInterface {
	return kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().ConfigMaps("default")
}

// readies is a controller that makes the ConfigMaps of its watch ready.
func readies(ctx context.Context, config *rest.Config) error {
	configMaps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default")
	w, err := configMaps.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, w.Stop)
	for e := range w.ResultChan() {
		configMap, ok := e.Object.(*corev1.ConfigMap)
		if !ok || e.Type == watch.Deleted || configMap.Data["ready"] != "" {
			continue
		}
		configMap.Data = map[string]string{"ready": "yes"}
		if _, err := configMaps.Update(ctx, configMap, metav1.UpdateOptions{}); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// A body may wait in any way in which time passes, also where events come in another order.
func TestABodyMayWaitInAnyWay(t *testing.T) {
	for name, wait := range map[string]func(t testing.TB, c *explore.Cluster){
		"it sleeps": func(testing.TB, *explore.Cluster) { time.Sleep(time.Minute) },
		"it waits":  func(_ testing.TB, c *explore.Cluster) { c.Wait(0) },
		"it settles": func(t testing.TB, c *explore.Cluster) {
			if err := c.Settle(t.Context()); err != nil {
				t.Error(err)
			}
		},
		"it polls": func(t testing.TB, c *explore.Cluster) {
			for range 100 {
				if got, err := configMaps(c).Get(t.Context(), "a", metav1.GetOptions{}); err == nil && got.Data["ready"] != "" {
					break
				}
				time.Sleep(time.Second)
			}
		},
		"it watches": func(t testing.TB, c *explore.Cluster) {
			w, err := configMaps(c).Watch(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Stop()
			late := time.After(time.Minute)
			for {
				select {
				case e := <-w.ResultChan():
					if configMap, ok := e.Object.(*corev1.ConfigMap); ok && configMap.Data["ready"] != "" {
						return
					}
				case <-late:
					t.Error("nothing has come")
					return
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			body := func(t testing.TB, c *explore.Cluster) {
				c.Control("operator", c.RESTConfig(), readies)
				c.Wait(time.Second)
				if _, err := configMaps(c).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
				wait(t, c)
				if got, err := configMaps(c).Get(t.Context(), "a", metav1.GetOptions{}); err != nil || got.Data["ready"] == "" {
					t.Errorf("%v, %v", got, err)
				}
			}
			for _, schedule := range []string{"", "order 1", "order 2"} {
				if f := find(t, body, explore.Replay(t.Name()+": "+schedule)).Failure; f != nil {
					t.Errorf("%s: %+v", schedule, f)
				}
			}
		})
	}
}

// A mistake that takes another order of events and a fault beside it is found by pairs.
func TestAnotherOrderAndAFault(t *testing.T) {
	body := func(t testing.TB, c *explore.Cluster) {
		var mu sync.Mutex
		received := map[string]time.Time{} // of what, and when
		var failed bool
		c.Control("watcher", c.RESTConfig(), func(ctx context.Context, config *rest.Config) error {
			client := kubernetes.NewForConfigOrDie(config).CoreV1()
			note := func(kind string, w watch.Interface, err error) {
				if err != nil {
					return // the controller has been stopped
				}
				context.AfterFunc(ctx, w.Stop)
				for e := range w.ResultChan() {
					if e.Type == watch.Added {
						mu.Lock()
						received[kind] = time.Now()
						mu.Unlock()
					}
				}
			}
			var both sync.WaitGroup
			for kind, begin := range map[string]func(context.Context, metav1.ListOptions) (watch.Interface, error){
				"secret": client.Secrets("default").Watch, "map": client.ConfigMaps("default").Watch,
			} {
				both.Go(func() { w, err := begin(ctx, metav1.ListOptions{}); note(kind, w, err) })
			}
			both.Wait()
			return nil
		})
		c.Wait(time.Second)
		c.Control("writer", c.RESTConfig(), func(ctx context.Context, config *rest.Config) error {
			client := kubernetes.NewForConfigOrDie(config).CoreV1()
			metadata := metav1.ObjectMeta{Name: "a"}
			if _, err := client.ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metadata}, metav1.CreateOptions{}); err != nil {
				return nil
			}
			if _, err := client.Secrets("default").Create(ctx, &corev1.Secret{ObjectMeta: metadata}, metav1.CreateOptions{}); err != nil {
				return nil
			}
			_, err := client.ServiceAccounts("default").Create(ctx, &corev1.ServiceAccount{ObjectMeta: metadata}, metav1.CreateOptions{})
			mu.Lock()
			defer mu.Unlock()
			failed = err != nil && ctx.Err() == nil
			return nil
		})
		c.Wait(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		// Without another order, both events come at the same moment, or one of them half a minute late.
		if later := received["map"].Sub(received["secret"]); failed && later > 0 && later < time.Second {
			t.Error("both have happened")
		}
	}
	if f := find(t, body).Failure; f != nil {
		t.Errorf("one fault: %+v", f)
	}
	f := find(t, body, explore.Faults(2)).Failure
	if f == nil || !strings.HasPrefix(f.Schedule, t.Name()+": order ") || !strings.HasSuffix(f.Schedule, "; cut-after writer create serviceaccounts default/ 1") {
		t.Fatalf("two faults: %+v", f)
	}
	if again := find(t, body, explore.Replay(f.Schedule)).Failure; again == nil || again.Schedule != f.Schedule {
		t.Errorf("the replay: %+v", again)
	}
}
