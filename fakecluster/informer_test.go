package fakecluster_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// network is the connection between an informer and its cluster. Cutting it ends the watches and
// holds back requests until it is mended.
type network struct {
	http.RoundTripper

	mu       sync.Mutex
	whole    chan struct{} // closed while the network is whole
	cutting  context.Context
	cutNow   context.CancelFunc
	requests []string
}

func newNetwork() *network {
	n := &network{whole: make(chan struct{})}
	n.mend()
	return n
}

func (n *network) mend() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cutting, n.cutNow = context.WithCancel(context.Background())
	close(n.whole)
}

func (n *network) cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.whole = make(chan struct{})
	n.cutNow()
}

func (n *network) RoundTrip(req *http.Request) (*http.Response, error) {
	n.mu.Lock()
	whole := n.whole
	n.mu.Unlock()
	select {
	case <-whole:
	case <-req.Context().Done():
		return nil, context.Cause(req.Context())
	}

	q := req.URL.Query()
	what := "list"
	switch {
	case q.Get("sendInitialEvents") == "true":
		what = "streaming list"
	case q.Get("watch") == "true":
		what = "watch"
	}
	n.mu.Lock()
	n.requests = append(n.requests, fmt.Sprintf("%s from %q", what, q.Get("resourceVersion")))
	cutting := n.cutting
	n.mu.Unlock()
	ctx, cancel := context.WithCancel(req.Context())
	context.AfterFunc(cutting, cancel)
	resp, err := n.RoundTripper.RoundTrip(req.WithContext(ctx))
	if err == nil {
		resp.Body = cutBody{resp.Body, cutting}
	}
	return resp, err
}

// cutBody is an answer that ends with the network, as one does when a server goes
// down in good order.
type cutBody struct {
	io.ReadCloser
	cutting context.Context
}

func (b cutBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.cutting.Err() != nil {
		return 0, io.EOF
	}
	return n, err
}

// takeRequests returns the requests since the last call.
func (n *network) takeRequests() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	requests := n.requests
	n.requests = nil
	return requests
}

// informed is an informer of CronTabs that reports its events.
type informed struct {
	network *network
	heard   chan string
	stop    func()
}

func inform(t *testing.T, c *fakecluster.Cluster) *informed {
	t.Helper()
	i := &informed{network: newNetwork(), heard: make(chan string, 1000)}
	cfg := c.RESTConfig()
	cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper {
		i.network.RoundTripper = rt
		return i.network
	})
	client, err := dynamic.NewForConfig(cfg)
	must(t, err)
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	informer := factory.ForResource(cronTabs).Informer()
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { i.hear("add", obj) },
		UpdateFunc: func(_, obj any) { i.hear("update", obj) },
		DeleteFunc: func(obj any) { i.hear("delete", obj) },
	})
	must(t, err)
	stop := make(chan struct{})
	factory.Start(stop)
	i.stop = sync.OnceFunc(func() {
		close(stop)
		factory.Shutdown()
	})
	t.Cleanup(i.stop)
	return i
}

func (i *informed) hear(kind string, obj any) {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		kind, obj = kind+" (found by a relist)", gone.Obj
	}
	u := obj.(*unstructured.Unstructured)
	image, _, _ := unstructured.NestedString(u.Object, "spec", "image")
	i.heard <- fmt.Sprintf("%s %s %s %s", kind, u.GetName(), image, u.GetResourceVersion())
}

// hears compares what the informer hears next, in any order, because client-go relists in a loop
// over a map.
func (i *informed) hears(t *testing.T, when string, want ...string) {
	t.Helper()
	var got []string
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for len(got) < len(want) {
		select {
		case event := <-i.heard:
			got = append(got, event)
		case <-ctx.Done():
			t.Fatalf("%s: the informer hears no more than %q, want %q", when, got, want)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	equal(t, when, got, want)
}

func TestInformerResumesAndRelists(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			testInformer(t, way.options...)
		})
	}
	t.Run("in a bubble", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { testInformer(t, fakecluster.InProcess()) })
	})
}

func testInformer(t *testing.T, options ...fakecluster.Option) {
	const kept = 10
	c := defined(t, append(options, fakecluster.WithWatchHistory(kept, 0))...)
	crontabs := inDefault(c)
	r := revision(t, list(t, crontabs))
	a := create(t, crontabs, cronTab("a"))
	create(t, crontabs, cronTab("b"))

	i := inform(t, c)
	i.hears(t, "first", fmt.Sprint("add a my-awesome-cron-image ", r+1), fmt.Sprint("add b my-awesome-cron-image ", r+2))
	a = change(t, crontabs, a, "1")
	i.hears(t, "watch", fmt.Sprint("update a 1 ", r+3))
	equal(t, "requests of a first list and watch", i.network.takeRequests(), []string{`streaming list from ""`})

	i.network.cut()
	a = change(t, crontabs, a, "2")
	remove(t, crontabs, "b")
	create(t, crontabs, cronTab("c"))
	i.network.mend()
	i.hears(t, "resumed", fmt.Sprint("update a 2 ", r+4), fmt.Sprint("delete b my-awesome-cron-image ", r+5), fmt.Sprint("add c my-awesome-cron-image ", r+6))
	equal(t, "requests of a resume", i.network.takeRequests(), []string{fmt.Sprintf(`watch from "%d"`, r+3)})

	i.network.cut()
	for n := range kept {
		a = change(t, crontabs, a, fmt.Sprint(n))
	}
	remove(t, crontabs, "c") // the eleventh change: the first is compacted
	i.network.mend()
	i.hears(t, "relisted", fmt.Sprint("update a 9 ", r+16), fmt.Sprint("delete (found by a relist) c my-awesome-cron-image ", r+6))
	equal(t, "requests of a relist", i.network.takeRequests(), []string{fmt.Sprintf(`watch from "%d"`, r+6), fmt.Sprintf(`streaming list from "%d"`, r+6)})

	change(t, crontabs, a, "last")
	i.hears(t, "watch after the relist", fmt.Sprint("update a last ", r+18))
	i.stop()
	equal(t, "left unheard", len(i.heard), 0)
}

func TestClusterLivesInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := defined(t, fakecluster.InProcess())
		crontabs := inDefault(c)
		r := revision(t, list(t, crontabs))
		w, err := crontabs.Watch(t.Context(), metav1.ListOptions{})
		must(t, err)
		defer w.Stop()
		synctest.Wait()
		created := create(t, crontabs, cronTab("a"))
		synctest.Wait()
		equal(t, "watch", next(t, w, 1), []event{{"ADDED", stored("a", "my-awesome-cron-image", 1, r+1)}})
		equal(t, "time of creation is that of the bubble", created.GetCreationTimestamp().UTC().Year(), 2000)
	})
}

func TestCloseEndsWatchesAndInformersInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := defined(t, fakecluster.InProcess())
		crontabs := inDefault(c)
		w, err := crontabs.Watch(t.Context(), metav1.ListOptions{})
		must(t, err)
		i := inform(t, c)
		create(t, crontabs, cronTab("a"))
		<-i.heard
		next(t, w, 1)
		must(t, c.Close())
		if left := ended(t, w); len(left) != 0 {
			t.Errorf("the watch said at last: %v", left)
		}
		i.stop()
	})
}
