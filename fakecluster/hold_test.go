package fakecluster_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/faults"
)

// agent is a client with a user agent.
func agent(c *fakecluster.Cluster, name string) dynamic.Interface {
	config := c.RESTConfig()
	config.UserAgent = name
	return dynamic.NewForConfigOrDie(config)
}

func texts(deliveries []faults.Delivery) []string {
	found := []string{}
	for _, d := range deliveries {
		found = append(found, d.String())
	}
	return found
}

func TestHeldEventsAreDeliveredInTheOrderOfTheTest(t *testing.T) {
	eachWay(t, func(t *testing.T, way ...fakecluster.Option) {
		c := defined(t, way...)
		start := list(t, inDefault(c)).GetResourceVersion()
		begin := func(client dynamic.Interface, resource dynamic.ResourceInterface, options metav1.ListOptions) watch.Interface {
			t.Helper()
			options.ResourceVersion = start
			w, err := resource.Watch(t.Context(), options)
			must(t, err)
			t.Cleanup(w.Stop)
			return w
		}
		one, two := agent(c, "one"), agent(c, "two")
		crontabs := begin(one, one.Resource(cronTabs), metav1.ListOptions{})
		labelled := begin(two, two.Resource(cronTabs), metav1.ListOptions{LabelSelector: "app=x"})
		spaces := begin(two, two.Resource(namespaces), metav1.ListOptions{})
		hold := c.Hold()

		a := cronTab("a")
		create(t, inDefault(c), a)
		create(t, c.Dynamic().Resource(namespaces), newNamespace("team"))
		b := cronTab("b")
		b.SetLabels(map[string]string{"app": "x"})
		create(t, inDefault(c), b)
		equal(t, "pending", texts(hold.Pending()), []string{
			"ADDED crontabs.stable.example.com default/a to one", "ADDED namespaces team to two",
			"ADDED crontabs.stable.example.com default/b to one", "ADDED crontabs.stable.example.com default/b to two",
		})
		equal(t, "the kind", hold.DeliverKind("namespaces"), 1)
		equal(t, "namespaces", events(t, spaces, 1), []string{"ADDED team"})
		equal(t, "to two", hold.DeliverTo("two"), 1)
		equal(t, "labelled", events(t, labelled, 1), []string{"ADDED b"})
		equal(t, "one event", hold.Deliver(1), 1)
		equal(t, "the first", events(t, crontabs, 1), []string{"ADDED a"})
		remove(t, inDefault(c), "a")
		last := hold.Pending()
		equal(t, "pending", texts(last), []string{
			"ADDED crontabs.stable.example.com default/b to one", "DELETED crontabs.stable.example.com default/a to one",
		})
		equal(t, "with what comes before", hold.DeliverThese(last[1]), 2)
		equal(t, "again", hold.DeliverThese(last...), 0)
		equal(t, "both", events(t, crontabs, 2), []string{"ADDED b", "DELETED a"})

		// A watch that begins gets what is there, and is held back from then on.
		late, err := inDefault(c).Watch(t.Context(), metav1.ListOptions{})
		must(t, err)
		t.Cleanup(late.Stop)
		equal(t, "what it begins with", events(t, late, 1), []string{"ADDED b"})
		create(t, inDefault(c), cronTab("c"))
		equal(t, "pending", len(hold.Pending()), 2)
		hold.Release()
		hold.Release()
		equal(t, "released", events(t, late, 1), []string{"ADDED c"})
		equal(t, "released", events(t, crontabs, 1), []string{"ADDED c"})
		create(t, inDefault(c), cronTab("d"))
		equal(t, "free", events(t, late, 1), []string{"ADDED d"})
		equal(t, "pending", len(hold.Pending()), 0)
	})
}

// follower creates a ConfigMap-like CronTab for each that it sees, down to a depth.
func follower(ctx context.Context, t *testing.T, c *fakecluster.Cluster, depth int) {
	w, err := inDefault(c).Watch(ctx, metav1.ListOptions{})
	must(t, err)
	go func() {
		for e := range w.ResultChan() {
			u, ok := e.Object.(*unstructured.Unstructured)
			if ok && e.Type == watch.Added && len(u.GetName()) < depth {
				_, _ = inDefault(c).Create(ctx, cronTab(u.GetName()+"a"), metav1.CreateOptions{})
			}
		}
	}()
}

func TestSettleReturnsTheNumberOfTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := defined(t, fakecluster.InProcess())
		follower(t.Context(), t, c, 5)
		hold := c.Hold()
		equal(t, "nothing to do", hold.Drain(3), 0)
		began := time.Now()
		create(t, inDefault(c), cronTab("a"))
		equal(t, "one tick", []int{hold.Tick(), len(list(t, inDefault(c)).Items)}, []int{1, 2})
		equal(t, "the rest", hold.Drain(10), 4)
		equal(t, "all", []any{hold.Ticks(), len(list(t, inDefault(c)).Items), time.Since(began)}, []any{5, 5, time.Duration(0)})
	})
}

func TestMistakesWithAHoldFailTheTest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		message := fatal(t, func(t testing.TB) {
			c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithObjects(cronTabDefinition()))
			hold := c.Hold()
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			w, err := inDefault(c).Watch(ctx, metav1.ListOptions{})
			must(t, err)
			go func() {
				n := 0
				for range w.ResultChan() {
					n++
					_, _ = inDefault(c).Create(ctx, cronTab(fmt.Sprint("x", n)), metav1.CreateOptions{})
				}
			}()
			create(t, inDefault(c), cronTab("a"))
			hold.Drain(4)
		})
		equal(t, "no end", message, "fakecluster: Drain: events are still held back after 4 ticks, because clients answer each event with another change: ADDED crontabs.stable.example.com default/x5 to fakecluster.test")
	})
	for text, wrong := range map[string]func(c *fakecluster.Cluster){
		"the watch events are already held: release the other hold first":                                         func(c *fakecluster.Cluster) { c.Hold(); c.Hold() },
		`DeliverKind: there is no resource "pots"`:                                                                func(c *fakecluster.Cluster) { c.Hold().DeliverKind("pots") },
		"Tick works only in a testing/synctest bubble, where it can wait until all clients are idle: use Deliver": func(c *fakecluster.Cluster) { c.Hold().Tick() },
	} {
		equal(t, "message", fatal(t, func(t testing.TB) { wrong(fakecluster.Start(t, fakecluster.InProcess())) }), "fakecluster: "+text)
		c, err := fakecluster.New(fakecluster.InProcess())
		must(t, err)
		wrong(c)
		fails(t, "close", c.Close(), text)
	}
}

// No lock is held while a conversion webhook is called to decide whether a watch shows an event: the webhook may do
// what takes every lock there is.
func TestAWebhookMayUseTheClusterWhileEventsAreHeld(t *testing.T) {
	var c *fakecluster.Cluster
	var called, stuck atomic.Int32
	c = fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithCRDPaths(withWebhook),
		fakecluster.WithConversion("crontabs.example.com", fakecluster.ConversionFunc(func(ctx context.Context, u *unstructured.Unstructured, apiVersion string) error {
			if called.Add(1) > 1 {
				return parts(ctx, u, apiVersion)
			}
			done := make(chan error, 1)
			go func() { done <- c.Compact() }()
			select {
			case err := <-done:
				if err != nil {
					return err
				}
			case <-time.After(patience): // a hang becomes a failure
				stuck.Add(1)
			}
			return parts(ctx, u, apiVersion)
		})))
	w, err := cronTabsIn(c, "v1").Watch(t.Context(), metav1.ListOptions{LabelSelector: "app=x"})
	must(t, err)
	defer w.Stop()
	hold := c.Hold()
	for _, app := range []string{"y", "x"} {
		create(t, cronTabsIn(c, "v1beta1"), &unstructured.Unstructured{Object: object{
			"apiVersion": "example.com/v1beta1", "kind": "CronTab", "metadata": object{"name": app, "labels": object{"app": app}}, "hostPort": "localhost:1234",
		}})
	}
	equal(t, "pending", len(hold.Pending()), 1)
	equal(t, "delivered", hold.Deliver(10), 1)
	equal(t, "event", events(t, w, 1), []string{"ADDED x"})
	equal(t, "called, and stuck", []any{called.Load() > 0, stuck.Load()}, []any{true, int32(0)})
}

func TestAForkIsNotHeld(t *testing.T) {
	c := defined(t, fakecluster.InProcess())
	c.Hold()
	f := c.Fork(t)
	w := watchFrom(t, f, "")
	create(t, inDefault(f), cronTab("a"))
	equal(t, "in the fork", events(t, w, 1), []string{"ADDED a"})
}

// A test that waits for held events need not poll.
func TestMoreReturnsWhenEventsArePending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess())
		maps := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().ConfigMaps("default")
		w, err := maps.Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		h := c.Hold()
		synctest.Wait()
		select {
		case <-h.More():
			t.Error("something is held back before anything has happened")
		default:
		}
		for _, name := range []string{"a", "b"} {
			if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			<-h.More()
			if pending := h.Pending(); len(pending) != 1 || pending[0].Name != name {
				t.Errorf("held back: %v", pending)
			}
			h.Deliver(1)
			<-w.ResultChan()
		}
	})
}
