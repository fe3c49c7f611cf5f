package fakecluster_test

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// pass lets virtual time pass.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// Nobody writes meanwhile. A list of the first interval expires with the second.
func TestTheHistoryIsCompactedByTime(t *testing.T) {
	for name, option := range map[string]fakecluster.Option{
		"by the option": fakecluster.WithCompactionInterval(5 * time.Minute),
		"by the flag":   fakecluster.WithAPIServerFlags("--etcd-compaction-interval=5m"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := limitedBy(t, fakecluster.Start(t, fakecluster.InProcess(), option))
				for n := range 4 {
					must(t, c.configMap(fmt.Sprint("a", n)))
				}
				configMaps := c.CoreV1().ConfigMaps("default")
				running, err := configMaps.Watch(t.Context(), metav1.ListOptions{})
				must(t, err)
				defer running.Stop()
				for range 4 {
					<-running.ResultChan()
				}
				first, err := configMaps.List(t.Context(), metav1.ListOptions{Limit: 1})
				must(t, err)

				pass(10*time.Minute - time.Second)
				next, err := configMaps.List(t.Context(), metav1.ListOptions{Limit: 1, Continue: first.Continue})
				must(t, err)
				equal(t, "the page is as old as the first one", next.ResourceVersion, first.ResourceVersion)

				pass(time.Second)
				_, err = configMaps.List(t.Context(), metav1.ListOptions{Limit: 1, Continue: first.Continue})
				expired, ok := err.(apierrors.APIStatus)
				if !ok || !apierrors.IsResourceExpired(err) {
					t.Fatalf("an old token: %v", err)
				}
				next, err = configMaps.List(t.Context(), metav1.ListOptions{Limit: 1, Continue: expired.Status().Continue})
				must(t, err)
				equal(t, "goes on in the present", next.ResourceVersion != first.ResourceVersion, true)
				equal(t, "behind the first page", next.Items[0].Name, "a1")

				_, err = configMaps.List(t.Context(), metav1.ListOptions{ResourceVersion: first.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchExact})
				equal(t, "an exact list is too old", apierrors.IsResourceExpired(err), true)
				must(t, c.configMap("b"))
				again, err := configMaps.Watch(t.Context(), metav1.ListOptions{ResourceVersion: first.ResourceVersion})
				must(t, err)
				defer again.Stop()
				for what, w := range map[string]watch.Interface{"the watch that runs": running, "a watch from before": again} {
					if e := <-w.ResultChan(); e.Type != watch.Added || e.Object.(*corev1.ConfigMap).Name != "b" {
						t.Errorf("%s: %v", what, e)
					}
				}
				listed, err := configMaps.List(t.Context(), metav1.ListOptions{})
				must(t, err)
				pass(5 * time.Minute)
				_, err = configMaps.List(t.Context(), metav1.ListOptions{ResourceVersion: listed.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchExact})
				must(t, err)
			})
		})
	}
}

// A real server has no watch cache for Events. It watches etcd, which forgets the past with a compaction.
func TestWatchesOfEventsExpire(t *testing.T) {
	const tooOld = `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"The resourceVersion for the provided watch is too old.","reason":"Expired","code":410}}` + "\n"
	synctest.Test(t, func(t *testing.T) {
		c := limitedBy(t, fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithCompactionInterval(time.Minute)))
		event := func(name string) *corev1.Event {
			e, err := c.CoreV1().Events("default").Create(t.Context(), &corev1.Event{
				ObjectMeta: metav1.ObjectMeta{Name: name}, InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: "p"},
			}, metav1.CreateOptions{})
			must(t, err)
			return e
		}
		first := event("first")
		running, err := c.CoreV1().Events("default").Watch(t.Context(), metav1.ListOptions{ResourceVersion: first.ResourceVersion, AllowWatchBookmarks: true})
		must(t, err)
		defer running.Stop()
		last := event("second") // the events after this revision are those that a compaction at the end of the interval keeps
		pass(time.Minute)
		third := event("third")
		watches := func(query string) (ends map[string]string) {
			ends = map[string]string{}
			for _, path := range []string{"/api/v1/namespaces/default/events", "/api/v1/events", "/apis/events.k8s.io/v1/events", "/api/v1/namespaces/default/configmaps"} {
				_, ends[path] = send(t, c.Cluster, path+"?watch=1&timeoutSeconds=1&"+query)
			}
			return ends
		}
		expires := func(when, query string, want bool) {
			t.Helper()
			for path, end := range watches(query) {
				if path == "/api/v1/namespaces/default/configmaps" {
					equal(t, "what is cached does not expire: "+when, end, "")
				} else if (end == tooOld) != want {
					t.Errorf("%s, %s?%s: expires: %v, want %v: %s", when, path, query, !want, want, end)
				}
			}
		}
		expires("before a compaction", "resourceVersion="+first.ResourceVersion, false)
		pass(time.Minute)
		expires("after a compaction", "resourceVersion="+first.ResourceVersion, true)
		expires("without initial events", "sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion="+first.ResourceVersion, true)
		expires("with initial events", "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion="+first.ResourceVersion, false)
		expires("what is not compacted", "resourceVersion="+last.ResourceVersion, false)

		// Bookmarks come from a watch cache, too.
		pass(10 * time.Minute)
		event("last")
		for _, name := range []string{last.Name, third.Name, "last"} {
			if e := <-running.ResultChan(); e.Type != watch.Added || e.Object.(*corev1.Event).Name != name {
				t.Errorf("the watch that runs: %v, want %s", e, name)
			}
		}
	})
}

// An ExpireWatch compacts, and what is not cached has other words for it.
func TestAForcedCompactionExpiresWatchesOfEvents(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	must(t, c.Compact())
	for path, message := range map[string]string{"events": "The resourceVersion for the provided watch is too old.", "configmaps": "too old resource version: 1 ("} {
		_, end := send(t, c, "/api/v1/namespaces/default/"+path+"?watch=1&timeoutSeconds=1&resourceVersion=1")
		equal(t, path+": "+end, strings.Contains(end, message), true)
	}
}

func TestByDefaultTheHistoryIsNotCompacted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess())
		configMaps := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().ConfigMaps("default")
		list, err := configMaps.List(t.Context(), metav1.ListOptions{})
		must(t, err)
		pass(24 * time.Hour)
		_, err = configMaps.List(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchExact})
		must(t, err)
		again, err := configMaps.List(t.Context(), metav1.ListOptions{})
		must(t, err)
		equal(t, "nobody has written", again.ResourceVersion, list.ResourceVersion)
	})
}

// A fork compacts by its own time, and so does a cluster that goes on in a data file. What has expired before
// stays so.
func TestCompactionGoesOnElsewhere(t *testing.T) {
	var expired string // in the first of them, and so in all
	expires := func(t *testing.T, c *fakecluster.Cluster) {
		t.Helper()
		configMaps := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().ConfigMaps("default")
		list, err := configMaps.List(t.Context(), metav1.ListOptions{})
		must(t, err)
		equal(t, "at first", endOfExact(t, configMaps, list.ResourceVersion), "")
		if expired != "" {
			equal(t, "what has expired", endOfExact(t, configMaps, expired), "Expired")
		}
		pass(2 * time.Minute)
		equal(t, "later", endOfExact(t, configMaps, list.ResourceVersion), "Expired")
		expired = cmp.Or(expired, list.ResourceVersion)
	}
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "data")
		options := []fakecluster.Option{fakecluster.InProcess(), fakecluster.WithCompactionInterval(time.Minute), fakecluster.WithDataFile(path, fakecluster.FsyncEverySecond)}
		c, err := fakecluster.New(options...)
		must(t, err)
		expires(t, c)
		fork, err := c.NewFork()
		must(t, err)
		must(t, c.Close())
		expires(t, fork)
		must(t, fork.Close())
		c, err = fakecluster.New(options...)
		must(t, err)
		expires(t, c)
		must(t, c.Close())
	})
}

func endOfExact(t *testing.T, configMaps typedcorev1.ConfigMapInterface, revision string) string {
	t.Helper()
	_, err := configMaps.List(t.Context(), metav1.ListOptions{ResourceVersion: revision, ResourceVersionMatch: metav1.ResourceVersionMatchExact})
	return string(apierrors.ReasonForError(err))
}

func TestCompactionsThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		options []fakecluster.Option
		err     string
	}{
		{[]fakecluster.Option{fakecluster.WithCompactionInterval(-1)}, "WithCompactionInterval: -1ns is negative; 0 means never"},
		{[]fakecluster.Option{fakecluster.WithAPIServerFlags("--etcd-compaction-interval=-1s")}, "WithAPIServerFlags: --etcd-compaction-interval=-1s is negative; 0 means never"},
		{[]fakecluster.Option{fakecluster.WithCompactionInterval(0), fakecluster.WithAPIServerFlags("--etcd-compaction-interval=1s")},
			"WithAPIServerFlags: WithCompactionInterval and --etcd-compaction-interval say the same; give one of them"},
	} {
		cluster, err := fakecluster.New(c.options...)
		if err == nil {
			cluster.Close()
			t.Errorf("no error, want %s", c.err)
			continue
		}
		equal(t, "the error", err.Error(), c.err)
	}
}

// A cluster that ends just when it compacts ends well, and what it publishes shows how often it does.
func TestCompactionsEndWithTheCluster(t *testing.T) {
	for range 20 {
		c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithCompactionInterval(time.Microsecond))
		text, err := c.Discovery().RESTClient().Get().AbsPath("/flagz").SetHeader("Accept", "text/plain").DoRaw(t.Context())
		must(t, err)
		equal(t, "/flagz", strings.Contains(string(text), "1µs"), true)
		must(t, c.Close())
	}
}
