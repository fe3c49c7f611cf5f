package fakecluster_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/faults"
)

// watchFrom begins a watch of the CronTabs after a revision.
func watchFrom(t testing.TB, c *fakecluster.Cluster, resourceVersion string) watch.Interface {
	t.Helper()
	w, err := inDefault(c).Watch(t.Context(), metav1.ListOptions{ResourceVersion: resourceVersion})
	must(t, err)
	t.Cleanup(w.Stop)
	return w
}

// brief is an event in a few words.
func brief(e watch.Event) string {
	if u, ok := e.Object.(*unstructured.Unstructured); ok {
		return fmt.Sprint(e.Type, " ", u.GetName())
	}
	return fmt.Sprint(e.Type, " ", apierrors.FromObject(e.Object))
}

// events returns the next events of a watch in a few words.
func events(t testing.TB, w watch.Interface, n int) (found []string) {
	t.Helper()
	for _, e := range next(t, w, n) {
		metadata, _ := e.Object["metadata"].(object)
		found = append(found, fmt.Sprint(e.Type, " ", metadata["name"]))
	}
	return found
}

func TestAWatchIsDropped(t *testing.T) {
	eachWay(t, func(t *testing.T, way ...fakecluster.Option) {
		c := defined(t, way...)
		start := list(t, inDefault(c)).GetResourceVersion()
		first, second, other := watchFrom(t, c, start), watchFrom(t, c, start), watchFrom(t, c, start)
		create(t, inDefault(c), cronTab("a"))
		for _, w := range []watch.Interface{first, second, other} {
			equal(t, "before", events(t, w, 1), []string{"ADDED a"})
		}
		fault := c.Inject(faults.Fault{Resource: definition, After: 1, Times: 1, Effect: faults.DropWatch(1)})
		create(t, inDefault(c), cronTab("b"))
		create(t, inDefault(c), cronTab("c"))
		equal(t, "the first goes on", events(t, first, 2), []string{"ADDED b", "ADDED c"})
		equal(t, "the second has one more event", events(t, second, 1), []string{"ADDED b"})
		// Over HTTP/2 client-go reports a stream that breaks.
		if left := ended(t, second); len(left) > 0 && left[0].Type != watch.Error {
			t.Errorf("after the cut: %v", left)
		}
		equal(t, "the third goes on", events(t, other, 2), []string{"ADDED b", "ADDED c"})
		equal(t, "fired", fault.Fired(), 1)
	})
}

// The client sees a connection that ends in the middle, not a watch that is over.
func TestADroppedWatchIsNotAnEndOfFile(t *testing.T) {
	c := defined(t)
	resp, err := newWire(t, c).Open(t.Context(), "GET", "/apis/stable.example.com/v1/crontabs?watch=1", "", "", "")
	must(t, err)
	defer resp.Body.Close()
	c.Inject(faults.Fault{Effect: faults.DropWatch(0)})
	_, err = io.ReadAll(resp.Body)
	fails(t, "the end", err, "unexpected EOF")
}

func TestAWatchThatBeginsIsDropped(t *testing.T) {
	c := defined(t, fakecluster.InProcess())
	create(t, inDefault(c), cronTab("a"))
	fault := c.Inject(faults.Fault{Times: 2, Effect: faults.DropWatch(0)})
	for range 2 {
		var left []string
		for _, e := range ended(t, watchFrom(t, c, "")) {
			left = append(left, brief(e))
		}
		equal(t, "what it begins with", left, []string{"ADDED a"})
	}
	equal(t, "fired", fault.Fired(), 2)
	equal(t, "the third", events(t, watchFrom(t, c, ""), 1), []string{"ADDED a"})
}

func TestAWatchIsDelayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := defined(t, fakecluster.InProcess())
		w := watchFrom(t, c, list(t, inDefault(c)).GetResourceVersion())
		prompt := watchFrom(t, c, list(t, inDefault(c)).GetResourceVersion())
		fault := c.Inject(faults.Fault{Resource: definition, Times: 1, Effect: faults.DelayWatch(time.Minute)})
		began := time.Now()
		create(t, inDefault(c), cronTab("a"))
		time.Sleep(10 * time.Second)
		create(t, inDefault(c), cronTab("b"))
		equal(t, "in time", events(t, prompt, 2), []string{"ADDED a", "ADDED b"})
		equal(t, "then", time.Since(began), 10*time.Second)
		arrives := func(name string, after time.Duration) {
			t.Helper()
			e := <-w.ResultChan()
			equal(t, "event and time", []any{brief(e), time.Since(began)}, []any{"ADDED " + name, after})
		}
		arrives("a", time.Minute)
		create(t, inDefault(c), cronTab("c"))
		synctest.Wait()
		fault.Stop()
		create(t, inDefault(c), cronTab("d"))
		arrives("b", 70*time.Second)
		arrives("c", 2*time.Minute)
		arrives("d", 2*time.Minute) // it would be out of order before
		create(t, inDefault(c), cronTab("e"))
		arrives("e", 2*time.Minute)
		equal(t, "fired", fault.Fired(), 1)
	})
}

// redefine gives the definition of the CronTabs another column, which ends their watches.
func redefine(t *testing.T, c *fakecluster.Cluster) {
	t.Helper()
	crd := getDefinition(t, c, definition)
	crd.Spec.Versions[0].AdditionalPrinterColumns = append(crd.Spec.Versions[0].AdditionalPrinterColumns,
		apiextensionsv1.CustomResourceColumnDefinition{Name: "More", Type: "string", JSONPath: ".spec.cronSpec"})
	_, err := c.APIExtensions().ApiextensionsV1().CustomResourceDefinitions().Update(t.Context(), crd, metav1.UpdateOptions{})
	must(t, err)
}

// A watch that lags ends where any other does: it has all events from before the change of the
// definition, when they are due, and none from behind it.
func TestAWatchThatLagsEndsAtTheChangeOfItsDefinition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := defined(t, fakecluster.InProcess())
		delayed := watchFrom(t, c, list(t, inDefault(c)).GetResourceVersion())
		c.Inject(faults.Fault{Resource: definition, Times: 1, Effect: faults.DelayWatch(time.Minute)})
		prompt := watchFrom(t, c, list(t, inDefault(c)).GetResourceVersion())
		hold := c.Hold()
		held := watchFrom(t, c, list(t, inDefault(c)).GetResourceVersion())
		create(t, inDefault(c), cronTab("a"))
		redefine(t, c)
		create(t, inDefault(c), cronTab("b"))
		equal(t, "held back", len(hold.Pending()), 3) // of each watch one event
		hold.Release()
		began := time.Now()
		for what, w := range map[string]watch.Interface{"prompt": prompt, "held": held} {
			var left []string
			for _, e := range ended(t, w) {
				left = append(left, brief(e))
			}
			equal(t, what, left, []string{"ADDED a"})
			equal(t, what+": time", time.Since(began), time.Duration(0))
		}
		e := <-delayed.ResultChan()
		equal(t, "delayed", []any{brief(e), time.Since(began)}, []any{"ADDED a", time.Minute})
		_, open := <-delayed.ResultChan()
		equal(t, "delayed: it goes on, and the time", []any{open, time.Since(began)}, []any{false, time.Minute})
	})
}

func TestAWatchExpires(t *testing.T) {
	eachWay(t, func(t *testing.T, way ...fakecluster.Option) {
		c := defined(t, way...)
		start := list(t, inDefault(c)).GetResourceVersion()
		w, other := watchFrom(t, c, start), watchFrom(t, c, start)
		create(t, inDefault(c), cronTab("a"))
		equal(t, "before", events(t, w, 1), []string{"ADDED a"})
		now := list(t, inDefault(c)).GetResourceVersion()
		fault := c.Inject(faults.Fault{Resource: definition, Times: 1, Effect: faults.ExpireWatch()})
		var left []string
		for _, e := range ended(t, w) {
			left = append(left, brief(e))
		}
		equal(t, "the end", left, []string{fmt.Sprintf("ERROR too old resource version: %s (%s)", now, now)})
		equal(t, "the other one", events(t, other, 1), []string{"ADDED a"})
		create(t, inDefault(c), cronTab("b"))
		equal(t, "the other one", events(t, other, 1), []string{"ADDED b"})
		equal(t, "fired", fault.Fired(), 1)

		// The history is gone: the client has to list.
		left = nil
		for _, e := range ended(t, watchFrom(t, c, start)) {
			left = append(left, brief(e))
		}
		equal(t, "from before", left, []string{fmt.Sprintf("ERROR too old resource version: %s (%s)", start, now)})
		_, err := inDefault(c).List(t.Context(), metav1.ListOptions{ResourceVersion: start, ResourceVersionMatch: metav1.ResourceVersionMatchExact})
		if !apierrors.IsResourceExpired(err) {
			t.Errorf("a list from before: %v", err)
		}
	})
}

func TestTheHistoryIsCompactedOnDemand(t *testing.T) {
	c := defined(t, fakecluster.InProcess())
	start := list(t, inDefault(c)).GetResourceVersion()
	w := watchFrom(t, c, start)
	create(t, inDefault(c), cronTab("a"))
	must(t, c.Compact())
	equal(t, "a watch that runs", events(t, w, 1), []string{"ADDED a"})
	create(t, inDefault(c), cronTab("b"))
	equal(t, "a watch that runs", events(t, w, 1), []string{"ADDED b"})
	left := ended(t, watchFrom(t, c, start))
	if len(left) != 1 || !strings.HasPrefix(brief(left[0]), "ERROR too old resource version: "+start+" (") {
		t.Errorf("a watch from before: %v", left)
	}
	must(t, c.Close())
	fails(t, "closed", c.Compact(), "the store is closed")
}

// An informer survives all of it, and has the current state in the end.
func TestAnInformerSurvivesFaultsOfItsWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := defined(t, fakecluster.InProcess(), fakecluster.WithSeed(1))
		informer := dynamicinformer.NewDynamicSharedInformerFactory(c.Dynamic(), 0).ForResource(cronTabs).Informer()
		stop := make(chan struct{})
		done := make(chan struct{})
		go func() { defer close(done); informer.Run(stop) }()
		defer func() { close(stop); <-done }()
		if !cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced) {
			t.Fatal("the informer does not sync")
		}
		drops := c.Inject(faults.Fault{Effect: faults.DropWatch(2), Probability: 0.5})
		delays := c.Inject(faults.Fault{Effect: faults.DelayWatch(time.Second), Probability: 0.5, Optional: true})
		for n := range 60 {
			if n%20 == 10 {
				c.Inject(faults.Fault{Times: 1, Effect: faults.ExpireWatch(), Optional: true})
			}
			create(t, inDefault(c), cronTab(fmt.Sprint("c", n)))
			if n > 3 {
				remove(t, inDefault(c), fmt.Sprint("c", n-3))
			}
			time.Sleep(3 * time.Second)
		}
		drops.Stop()
		delays.Stop()
		time.Sleep(time.Hour)
		equal(t, "in the cache", len(informer.GetStore().List()), len(list(t, inDefault(c)).Items))
		if drops.Fired() < 3 {
			t.Errorf("watches dropped: %d", drops.Fired())
		}
	})
}
