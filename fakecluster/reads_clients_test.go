package fakecluster_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	clientrest "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/seedtest"
)

// Informers and watchers of client-go, as they are, over a way that breaks all the
// time, while four writers write: in bubbles, whose clock their back-offs wait by.

// clients are the ways in which client-go keeps up with a resource.
var clients = []struct {
	name string
	// informer makes an informer for a configuration.
	informer func(*clientrest.Config) (cache.SharedIndexInformer, error)
}{
	{"streaming list", func(cfg *clientrest.Config) (cache.SharedIndexInformer, error) {
		client, err := dynamic.NewForConfig(cfg)
		if err != nil {
			return nil, err
		}
		return dynamicinformer.NewDynamicSharedInformerFactory(client, 0).ForResource(samples).Informer(), nil
	}},
	{"list and watch", func(cfg *clientrest.Config) (cache.SharedIndexInformer, error) {
		client, err := dynamic.NewForConfig(cfg)
		if err != nil {
			return nil, err
		}
		return dynamicinformer.NewDynamicSharedInformerFactory(listing{client}, 0).ForResource(samples).Informer(), nil
	}},
	{"metadata in protobuf", func(cfg *clientrest.Config) (cache.SharedIndexInformer, error) {
		client, err := metadata.NewForConfig(cfg)
		if err != nil {
			return nil, err
		}
		return metadatainformer.NewSharedInformerFactory(client, 0).ForResource(samples).Informer(), nil
	}},
}

// listing is a client for which reflectors do not stream lists.
type listing struct{ dynamic.Interface }

func (listing) IsWatchListSemanticsUnSupported() bool { return true }

// notes are what a client has been told, one line each: the type, the object and
// its revision.
type notes struct {
	mu    sync.Mutex
	lines []string
	last  chan struct{} // closed when the last object has been seen as it was written last
}

func (n *notes) add(kind string, o any) {
	m, err := meta.Accessor(o)
	if err != nil {
		panic(err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, fmt.Sprintf("%s %s/%s %s", kind, m.GetNamespace(), m.GetName(), m.GetResourceVersion()))
	if kind != "SAME" && (vantage{}).ends(sampleMetaOf(m)) {
		close(n.last)
	}
}

func revisionOf(o any) string {
	m, err := meta.Accessor(o)
	if err != nil {
		panic(err)
	}
	return m.GetResourceVersion()
}

func sampleMetaOf(m metav1.Object) (s sampleMeta) {
	s.Metadata.Namespace, s.Metadata.Name, s.Metadata.Annotations = m.GetNamespace(), m.GetName(), m.GetAnnotations()
	return s
}

// note is an event of the history in the same words.
func (e historic) note() string { return fmt.Sprintf("%s %s %d", e.kind, e.key, e.revision) }

func (n *notes) handler() cache.ResourceEventHandlerFuncs {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { n.add("ADDED", o) },
		UpdateFunc: func(old, o any) {
			if revisionOf(old) == revisionOf(o) {
				n.add("SAME", o) // found so by a relist
				return
			}
			n.add("MODIFIED", o)
		},
		DeleteFunc: func(o any) {
			if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
				n.add("GONE", gone.Obj)
				return
			}
			n.add("DELETED", o)
		},
	}
}

// following is a cluster, its history, and what a client made of it.
type following struct {
	cluster *fakecluster.Cluster
	config  *clientrest.Config // over the way
	way     *brittle
	notes   *notes
	start   int
}

// follow runs writers, which rest up to the given time between their writes, until
// the client that begin begins has seen the last of them.
func follow(t *testing.T, seed uint64, rest, away time.Duration, begin func(*following) (stop func()), options ...fakecluster.Option) (*following, *history) {
	t.Helper()
	c := fakecluster.Start(t, append(options, fakecluster.InProcess())...)
	define(t, c, sampleDefinition())
	w := newWire(t, c)
	f := &following{cluster: c, way: newBrittle(seed, away), notes: &notes{last: make(chan struct{})}}
	f.config = c.RESTConfig()
	f.config.Wrap(f.way.wrap)
	var err error
	_, f.start, _, err = vantage{version: "v1"}.list(t.Context(), w)
	must(t, err)
	writers := &churn{wire: w, seed: seed, writers: 4, each: 60, rest: func(random *rand.Rand) time.Duration {
		return time.Duration(random.Int64N(int64(rest)))
	}}
	var h *history
	var recording sync.WaitGroup
	recording.Go(func() {
		if h, err = recordHistory(t.Context(), w, f.start); err != nil {
			t.Error(err)
		}
	})
	stop := begin(f)
	writers.run(t)
	recording.Wait()
	if !t.Failed() {
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour) // of the bubble
		defer cancel()
		select {
		case <-f.notes.last:
		case <-ctx.Done():
			t.Errorf("the client does not hear the last event: %v", f.way)
		}
	}
	synctest.Wait()
	stop()
	must(t, c.Close())
	if t.Failed() {
		t.FailNow()
	}
	checkHistory(t, h, writers.accepted)
	return f, h
}

// informing runs an informer.
func informing(t *testing.T, informer func(*clientrest.Config) (cache.SharedIndexInformer, error), store *cache.Store) func(*following) func() {
	return func(f *following) func() {
		i, err := informer(f.config)
		must(t, err)
		_, err = i.AddEventHandler(f.notes.handler())
		must(t, err)
		*store = i.GetStore()
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { i.RunWithContext(ctx) })
		if !cache.WaitForCacheSync(ctx.Done(), i.HasSynced) {
			t.Error("the informer does not sync")
		}
		return func() { cancel(); running.Wait() }
	}
}

// Where the history reaches back far enough, an informer lists once and then hears
// every event once, in order, however often its watch breaks.
func TestInformersHearEveryEventOnceThroughBrokenWatches(t *testing.T) {
	for _, client := range clients {
		t.Run(client.name, func(t *testing.T) {
			seed := seedtest.Seed(t)
			synctest.Test(t, func(t *testing.T) {
				var store cache.Store
				f, h := follow(t, seed, 20*time.Second, 0, informing(t, client.informer, &store))
				var want []string
				for _, e := range h.events {
					want = append(want, e.note())
				}
				equal(t, "events", f.notes.lines, want)
				checkStore(t, store, h)
				lists, breaks := f.way.lists()
				if lists != 1 || breaks < 10 {
					t.Errorf("%d lists: %v", lists, f.way)
				}
			})
		})
	}
}

// Where it does not, the informer lists again: it does not hear what it missed,
// but nothing twice, nothing out of its order, and its store ends up right.
func TestInformersRecoverFromCompaction(t *testing.T) {
	for _, client := range clients {
		t.Run(client.name, func(t *testing.T) {
			seed := seedtest.Seed(t)
			synctest.Test(t, func(t *testing.T) {
				var store cache.Store
				f, h := follow(t, seed, 20*time.Second, time.Minute, informing(t, client.informer, &store), fakecluster.WithHistory(10, 0))
				checkHeard(t, f.notes.lines, h)
				checkStore(t, store, h)
				if lists, _ := f.way.lists(); lists < 2 {
					t.Errorf("the history was long enough: %v", f.way)
				}
			})
		})
	}
}

// checkHeard checks what an informer that missed events heard: of each object it
// heard states that it had, in their order, and of its end.
func checkHeard(t *testing.T, heard []string, h *history) {
	t.Helper()
	byRevision := map[string]historic{}
	for _, e := range h.events {
		byRevision[fmt.Sprint(e.revision)] = e
	}
	newest, present := map[string]int{}, map[string]bool{}
	for _, line := range heard {
		part := strings.Fields(line)
		kind, key, e := part[0], part[1], byRevision[part[2]]
		if e.key != key {
			t.Errorf("%s: that is of %q", line, e.key)
		}
		if again := (kind == "GONE" || kind == "SAME") && e.revision == newest[key]; e.revision <= newest[key] && !again {
			t.Errorf("%s: after revision %d of it", line, newest[key])
		}
		if present[key] == (kind == "ADDED") {
			t.Errorf("%s: was it there before: %v", line, present[key])
		}
		newest[key], present[key] = e.revision, kind == "ADDED" || kind == "MODIFIED" || kind == "SAME"
	}
}

// checkStore compares the store of an informer with the state at the end.
func checkStore(t *testing.T, store cache.Store, h *history) {
	t.Helper()
	var got, want []string
	for _, o := range store.List() {
		m, err := meta.Accessor(o)
		must(t, err)
		got = append(got, fmt.Sprintf("%s/%s %s", m.GetNamespace(), m.GetName(), m.GetResourceVersion()))
	}
	slices.Sort(got)
	for _, e := range h.at(h.last()) {
		want = append(want, fmt.Sprintf("%s %d", e.key, e.revision))
	}
	equal(t, "store", got, want)
}

// retrying runs a RetryWatcher from the beginning.
func retrying(t *testing.T, failed *watch.Event) func(*following) func() {
	return func(f *following) func() {
		client, err := dynamic.NewForConfig(f.config)
		must(t, err)
		w, err := watchtools.NewRetryWatcherWithContext(t.Context(), fmt.Sprint(f.start), &cache.ListWatch{
			WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
				return client.Resource(samples).Watch(ctx, options)
			},
		})
		must(t, err)
		var reading sync.WaitGroup
		reading.Go(func() {
			for e := range w.ResultChan() {
				if e.Type == watch.Error {
					*failed = e
					close(f.notes.last)
					return
				}
				f.notes.add(string(e.Type), e.Object)
			}
		})
		return func() {
			w.Stop()
			reading.Wait()
			<-w.Done()
		}
	}
}

func TestRetryWatcherHearsEveryEventOnceThroughBrokenWatches(t *testing.T) {
	seed := seedtest.Seed(t)
	synctest.Test(t, func(t *testing.T) {
		var failed watch.Event
		f, h := follow(t, seed, 20*time.Second, 0, retrying(t, &failed))
		var want []string
		for _, e := range h.events {
			want = append(want, e.note())
		}
		equal(t, "events", f.notes.lines, want)
		if _, breaks := f.way.lists(); breaks < 10 {
			t.Errorf("only %v", f.way)
		}
	})
}

func TestRetryWatcherEndsWithExpiredAfterCompaction(t *testing.T) {
	seed := seedtest.Seed(t)
	synctest.Test(t, func(t *testing.T) {
		var failed watch.Event
		f, h := follow(t, seed, 20*time.Second, 5*time.Minute, retrying(t, &failed), fakecluster.WithHistory(10, 0))
		for n, line := range f.notes.lines {
			equal(t, "event", line, h.events[n].note())
		}
		status, ok := failed.Object.(*metav1.Status)
		if !ok || status.Code != 410 || status.Reason != metav1.StatusReasonExpired || !strings.HasPrefix(status.Message, "too old resource version: ") {
			t.Errorf("the last event is %+v", failed)
		}
	})
}
