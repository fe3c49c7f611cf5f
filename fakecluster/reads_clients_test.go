package fakecluster_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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
	"github.com/fakecluster/fakecluster/internal/testing/consistency"
	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

// These tests run the unchanged informers and watchers of client-go over a connection that
// breaks all the time, while four writers write. They run in bubbles, so that the clients'
// back-offs take no time.

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
		return dynamicinformer.NewDynamicSharedInformerFactory(client, 0).ForResource(consistency.Resource).Informer(), nil
	}},
	{"list and watch", func(cfg *clientrest.Config) (cache.SharedIndexInformer, error) {
		client, err := dynamic.NewForConfig(cfg)
		if err != nil {
			return nil, err
		}
		return dynamicinformer.NewDynamicSharedInformerFactory(listing{client}, 0).ForResource(consistency.Resource).Informer(), nil
	}},
	{"metadata in protobuf", func(cfg *clientrest.Config) (cache.SharedIndexInformer, error) {
		client, err := metadata.NewForConfig(cfg)
		if err != nil {
			return nil, err
		}
		return metadatainformer.NewSharedInformerFactory(client, 0).ForResource(consistency.Resource).Informer(), nil
	}},
}

// listing is a client for which reflectors do not stream lists.
type listing struct{ dynamic.Interface }

func (listing) IsWatchListSemanticsUnSupported() bool { return true }

// following is a client that follows the changes of a cluster over a brittle connection.
type following struct {
	config *clientrest.Config // over the brittle connection
	way    *consistency.FlakyTransport
	notes  *consistency.EventLog
	start  int // the revision before the first write

	away time.Duration // how long the cluster is out of the client's reach after each break
	// withFaults puts faults of the client in force.
	withFaults func(*fakecluster.Cluster)
	expiring   bool // the history is compacted, and watches of the client end with 410
	options    []fakecluster.Option
}

// followingAgent is the user agent of the client that follows.
const followingAgent = "following"

// writing are the writers whose changes clients follow. Each pauses for less than 20 s before each write.
func writing(seed uint64, withFaults bool) *consistency.Writers {
	return &consistency.Writers{Seed: seed, Count: 4, Each: 60, Faults: withFaults, Pause: func(random *rand.Rand) time.Duration {
		return time.Duration(random.Int64N(int64(20 * time.Second)))
	}}
}

// follow starts a client with begin, and runs writers until the client has received the last write.
func (f *following) follow(t testing.TB, writers *consistency.Writers, begin func(testing.TB, *following) (stop func())) *consistency.History {
	t.Helper()
	c, err := fakecluster.New(append(f.options, fakecluster.InProcess(), fakecluster.WithSeed(writers.Seed))...)
	must(t, err)
	defer c.Close()
	define(t, c, consistency.Definition())
	w := newWire(t, c)
	f.way, f.notes = consistency.NewFlakyTransport(writers.Seed, f.away), consistency.NewEventLog()
	f.config = c.RESTConfig()
	f.config.UserAgent = followingAgent
	f.config.Wrap(f.way.Wrap)
	f.start, err = consistency.Revision(t.Context(), w)
	must(t, err)
	writers.Wire = w
	if writers.Faults {
		writers.Wire.Agent = "writer"
		faultsOfWrites(c, "writer")
	}
	if f.withFaults != nil {
		f.withFaults(c)
	}
	var h *consistency.History
	var workers sync.WaitGroup
	workers.Go(func() {
		var err error
		if h, err = consistency.Record(t.Context(), w, f.start); err != nil {
			t.Error(err)
		}
	})
	calm := func() {}
	if f.expiring {
		calm = expireWatches(t, c, writers.Seed, time.Minute, followingAgent, 1)
	}
	stop := begin(t, f)
	writers.Run(t)
	workers.Wait()
	if !t.Failed() {
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour) // by the clock of the bubble
		defer cancel()
		select {
		case <-f.notes.Last():
		case <-ctx.Done():
			t.Errorf("the client does not hear the last event: %v", f.way)
		}
	}
	calm()
	synctest.Wait()
	stop()
	must(t, c.Close())
	if t.Failed() {
		t.FailNow()
	}
	h.Check(t, writers.Accepted())
	return h
}

// informing returns a begin for follow that runs an informer.
func informing(informer func(*clientrest.Config) (cache.SharedIndexInformer, error), store *cache.Store) func(testing.TB, *following) func() {
	return func(t testing.TB, f *following) func() {
		i, err := informer(f.config)
		must(t, err)
		_, err = i.AddEventHandler(f.notes.Handler())
		must(t, err)
		*store = i.GetStore()
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { i.RunWithContext(ctx) })
		synced, give := context.WithTimeout(ctx, time.Hour) // by the clock of the bubble
		defer give()
		if !cache.WaitForCacheSync(synced.Done(), i.HasSynced) {
			t.Errorf("the informer does not sync: %v", f.way)
		}
		return func() { cancel(); running.Wait() }
	}
}

// While the history reaches back far enough, an informer lists once. Then it hears every
// event once, in order, however often its watch breaks.
func TestInformersReceiveEveryEventOnceThroughBrokenWatches(t *testing.T) {
	for _, client := range clients {
		t.Run(client.name, func(t *testing.T) {
			var f *following
			replayed(t, writing(seedtest.Seed(t), false), func(t testing.TB, ws *consistency.Writers) {
				var store cache.Store
				f = &following{}
				h := f.follow(t, ws, informing(client.informer, &store))
				equal(t, "events", f.notes.Lines(), h.Lines())
				h.CheckStore(t, store)
				if lists, _ := f.way.Lists(); lists != 1 {
					t.Errorf("%d lists: %v", lists, f.way)
				}
			})
			if _, breaks := f.way.Lists(); breaks < 10 {
				t.Errorf("only %v", f.way)
			}
		})
	}
}

// When the history does not reach back far enough, the informer lists again. It does not
// hear of what it missed, but it hears nothing twice and nothing out of order, and its
// store is right in the end.
func TestInformersRecoverFromCompaction(t *testing.T) {
	for _, client := range clients {
		for name, form := range map[string]following{
			"short history":            {away: time.Minute, options: []fakecluster.Option{fakecluster.WithWatchHistory(10, 0)}},
			"expired watches":          {away: 10 * time.Second, expiring: true},
			"expired watches, refused": {away: 10 * time.Second, expiring: true, withFaults: func(c *fakecluster.Cluster) { faultsOfFreshReads(c, followingAgent) }},
		} {
			t.Run(client.name+"/"+name, func(t *testing.T) {
				f := &following{}
				replayed(t, writing(seedtest.Seed(t), form.expiring), func(t testing.TB, ws *consistency.Writers) {
					var store cache.Store
					*f = form
					h := f.follow(t, ws, informing(client.informer, &store))
					h.CheckReceived(t, f.notes.Lines())
					h.CheckStore(t, store)
				})
				if lists, _ := f.way.Lists(); lists < 2 {
					t.Errorf("the history was long enough: %v", f.way)
				}
			})
		}
	}
}

// retrying returns a begin for follow that runs a RetryWatcher from the first revision.
func retrying(failed *watch.Event) func(testing.TB, *following) func() {
	return func(t testing.TB, f *following) func() {
		client, err := dynamic.NewForConfig(f.config)
		must(t, err)
		w, err := watchtools.NewRetryWatcherWithContext(t.Context(), fmt.Sprint(f.start), &cache.ListWatch{
			WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
				return client.Resource(consistency.Resource).Watch(ctx, options)
			},
		})
		must(t, err)
		var reading sync.WaitGroup
		reading.Go(func() {
			for e := range w.ResultChan() {
				if e.Type == watch.Error {
					*failed = e
					f.notes.End()
					return
				}
				f.notes.Add(string(e.Type), e.Object)
			}
		})
		return func() {
			w.Stop()
			reading.Wait()
			<-w.Done()
		}
	}
}

func TestRetryWatcherReceivesEveryEventOnceThroughBrokenWatches(t *testing.T) {
	for name, form := range map[string]following{
		"broken": {},
		"with faults": {withFaults: func(c *fakecluster.Cluster) {
			faultsOfFreshReads(c, followingAgent)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := &following{}
			replayed(t, writing(seedtest.Seed(t), form.withFaults != nil), func(t testing.TB, ws *consistency.Writers) {
				var failed watch.Event
				*f = form
				h := f.follow(t, ws, retrying(&failed))
				equal(t, "events", f.notes.Lines(), h.Lines())
			})
			if _, breaks := f.way.Lists(); breaks < 10 {
				t.Errorf("only %v", f.way)
			}
		})
	}
}

func TestRetryWatcherEndsWithExpiredAfterCompaction(t *testing.T) {
	for name, form := range map[string]following{
		"short history":   {away: 5 * time.Minute, options: []fakecluster.Option{fakecluster.WithWatchHistory(10, 0)}},
		"expired watches": {expiring: true, withFaults: func(c *fakecluster.Cluster) { faultsOfFreshReads(c, followingAgent) }},
	} {
		t.Run(name, func(t *testing.T) {
			var failed watch.Event
			replayed(t, writing(seedtest.Seed(t), form.expiring), func(t testing.TB, ws *consistency.Writers) {
				failed = watch.Event{}
				f := form
				h := f.follow(t, ws, retrying(&failed))
				for n, line := range f.notes.Lines() {
					equal(t, "event", line, h.Events[n].Line())
				}
				status, ok := failed.Object.(*metav1.Status)
				if failed.Object != nil && (!ok || status.Code != 410 || status.Reason != metav1.StatusReasonExpired || !strings.HasPrefix(status.Message, "too old resource version: ")) {
					t.Errorf("the last event is %+v", failed)
				}
			})
			if failed.Object == nil {
				t.Error("the watcher has not ended")
			}
		})
	}
}
