package fakecluster_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// outage is a conversion that can be made to fail: to a version, for an object, or "all".
type outage struct{ what atomic.Value }

func (o *outage) convert(ctx context.Context, u *unstructured.Unstructured, apiVersion string) error {
	if what, _ := o.what.Load().(string); what == "all" || what == apiVersion || what == u.GetName() {
		return errors.New("no way to " + apiVersion)
	}
	return parts(ctx, u, apiVersion)
}

// cronTabsWithOutage starts a cluster whose conversion can be made to fail, with objects that were written in v1beta1.
func cronTabsWithOutage(t *testing.T, names ...string) (*fakecluster.Cluster, *outage) {
	o := &outage{}
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithCRDPaths(withWebhook),
		fakecluster.WithConversion("crontabs.example.com", fakecluster.ConversionFunc(o.convert)))
	for _, name := range names {
		createCronTab(t, c, name)
	}
	return c, o
}

func createCronTab(t *testing.T, c *fakecluster.Cluster, name string) {
	t.Helper()
	create(t, cronTabsIn(c, "v1beta1"), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1beta1", "kind": "CronTab", "metadata": map[string]any{"name": name}, "hostPort": "localhost:1234",
	}})
}

// briefly shows an answer: its code and the names of the objects in it, or the reason of an error.
func briefly(code int, body string) string {
	if kind := gjson.Get(body, "kind").Str; kind == "Status" {
		return fmt.Sprint(code, " ", gjson.Get(body, "reason").Str)
	} else if kind == "CronTab" {
		return fmt.Sprint(code, " ", gjson.Get(body, "metadata.name").Str)
	}
	var names []string
	for _, item := range gjson.Get(body, "items.#.metadata.name").Array() {
		names = append(names, item.Str)
	}
	if !gjson.Get(body, "items").Exists() {
		for line := range strings.Lines(body) {
			names = append(names, gjson.Get(line, "type").Str+" "+gjson.Get(line, "object.metadata.name").Str+gjson.Get(line, "object.reason").Str)
		}
	}
	return strings.TrimSpace(fmt.Sprint(code, " ", strings.Join(names, ", ")))
}

const outagePath = "/apis/example.com/v1/namespaces/default/crontabs"

// The answers are those of a kube-apiserver 1.37.1 to the same requests.
func TestReadsWhileAConversionFails(t *testing.T) {
	const initial = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
	queries := []string{"", "?resourceVersion=0", "?limit=1", "?limit=1&resourceVersion=0", "?labelSelector=a!%3Db", "/x", "/x?resourceVersion=0",
		"?watch=1&timeoutSeconds=1", "?watch=1&timeoutSeconds=1&resourceVersion=0", "?watch=1&timeoutSeconds=1&" + initial, "?watch=1&timeoutSeconds=1&resourceVersion=0&" + initial}
	const (
		read    = "500 StorageReadError"
		corrupt = "500 InternalError"
		busy    = "429 TooManyRequests"
		added   = "200 ADDED x, ADDED y"
		old     = "200 ERROR Timeout"
	)
	synctest.Test(t, func(t *testing.T) {
		c, o := cronTabsWithOutage(t, "x", "y")
		answers := func(when string, want ...string) {
			t.Helper()
			for i, query := range queries {
				code, body := send(t, c, outagePath+query)
				equal(t, when+": "+query, briefly(code, body), want[i])
			}
		}
		_, _ = send(t, c, outagePath)
		o.what.Store("all")
		answers("it has worked", "200 x, y", "200 x, y", "200 x", "200 x, y", "200 x, y", corrupt, "200 x", added, added, added+", BOOKMARK", added+", BOOKMARK")
		createCronTab(t, c, "w")
		answers("an object is new", read, "200 x, y", read, "200 x, y", read, corrupt, "200 x", old, added, old, added+", BOOKMARK")
		time.Sleep(40 * time.Second)
		answers("for a while", busy, busy, read, read, busy, corrupt, corrupt, busy, busy, busy, busy)
		code, body := send(t, c, outagePath)
		equal(t, "a client should wait", fmt.Sprint(code, gjson.Get(body, "details.retryAfterSeconds"), strings.HasPrefix(gjson.Get(body, "message").Str,
			"storage is (re)initializing: failed to list <unspecified>: failed to read one or more crontabs.example.com from the storage: StorageError: corrupt object")), "429 1 true")
		o.what.Store("")
		again := "200 ADDED w, ADDED x, ADDED y"
		answers("it works again", "200 w, x, y", "200 w, x, y", "200 w", "200 w, x, y", "200 w, x, y", "200 x", "200 x", again, again, again+", BOOKMARK", again+", BOOKMARK")
	})
}

// A dry run answers with the object that it would make, and not with what was converted of the one that is there, which has the same
// resourceVersion.
func TestADryRunIsConverted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := cronTabsWithOutage(t, "x")
		crontabs := cronTabsIn(c, "v1")
		_, err := crontabs.Get(t.Context(), "x", metav1.GetOptions{})
		must(t, err)
		patched, err := crontabs.Patch(t.Context(), "x", types.MergePatchType, []byte(`{"port":"4321"}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		must(t, err)
		equal(t, "what the dry run makes", fmt.Sprint(patched.Object["host"], patched.Object["port"]), "localhost4321")
		stored, err := crontabs.Get(t.Context(), "x", metav1.GetOptions{})
		must(t, err)
		equal(t, "what is there", fmt.Sprint(stored.Object["host"], stored.Object["port"]), "localhost1234")
	})
}

// A change that cannot be converted comes late, with those after it.
func TestAWatchWaitsForAConversion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, o := cronTabsWithOutage(t, "x")
		crontabs := cronTabsIn(c, "v1")
		list, err := crontabs.List(t.Context(), metav1.ListOptions{})
		must(t, err)
		w, err := crontabs.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
		must(t, err)
		defer w.Stop()
		next := func() string {
			e, ok := <-w.ResultChan()
			if !ok {
				return "the end"
			}
			return fmt.Sprint(e.Type, " ", e.Object.(*unstructured.Unstructured).GetName())
		}
		o.what.Store("bad")
		createCronTab(t, c, "bad")
		createCronTab(t, c, "good")
		time.Sleep(20 * time.Second)
		select {
		case e := <-w.ResultChan():
			t.Errorf("too early: %v", e)
		default:
		}
		o.what.Store("")
		equal(t, "late", []string{next(), next()}, []string{string(watch.Added) + " bad", string(watch.Added) + " good"})

		began := time.Now()
		o.what.Store("all")
		must(t, cronTabsIn(c, "v1beta1").Delete(t.Context(), "x", metav1.DeleteOptions{}))
		equal(t, "a cache begins anew after half a minute", next(), "the end")
		equal(t, "it takes", time.Since(began).Round(time.Second), 30*time.Second)
	})
}

// A server that has never converted the objects does not have a cache.
func TestAConversionThatFailsFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, o := cronTabsWithOutage(t)
		path := "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/crontabs.example.com"
		conversion := func(strategy string) {
			_, err := c.Discovery().RESTClient().Patch(types.JSONPatchType).AbsPath(path).Body([]byte(strategy)).DoRaw(t.Context())
			must(t, err)
		}
		_, body := send(t, c, path)
		conversion(`[{"op": "replace", "path": "/spec/conversion", "value": {"strategy": "None"}}]`)
		createCronTab(t, c, "x")
		o.what.Store("all")
		conversion(`[{"op": "replace", "path": "/spec/conversion", "value": ` + gjson.Get(body, "spec.conversion").Raw + `}]`)
		for query, want := range map[string]string{
			"": "429 TooManyRequests", "?resourceVersion=0": "429 TooManyRequests", "?limit=1": "500 StorageReadError", "/x": "500 InternalError",
			"/x?resourceVersion=0": "500 InternalError", "?watch=1": "429 TooManyRequests", "?watch=1&resourceVersion=1": "429 TooManyRequests",
		} {
			code, body := send(t, c, outagePath+query)
			equal(t, query, briefly(code, body), want)
		}
		o.what.Store("")
		code, body := send(t, c, outagePath)
		equal(t, "it works", briefly(code, body), "200 x")
	})
}

// A real server begins with the object in its cache, which it converts to the storage version.
func TestWritesWhileAConversionFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, o := cronTabsWithOutage(t, "x", "y")
		_, _ = send(t, c, outagePath)
		crontabs := cronTabsIn(c, "v1")
		const back = "conversion webhook for example.com/v1, Kind=CronTab failed: no way to example.com/v1beta1"
		o.what.Store("example.com/v1beta1")
		err := crontabs.Delete(t.Context(), "x", metav1.DeleteOptions{})
		equal(t, "a delete", fmt.Sprint(err), back)
		must(t, crontabs.Delete(t.Context(), "x", metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}))
		patch := func() error {
			_, err := crontabs.Patch(t.Context(), "x", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
			return err
		}
		equal(t, "a patch", fmt.Sprint(patch()), back)
		o.what.Store("all")
		equal(t, "a patch of what was converted before", fmt.Sprint(patch()), back)
		o.what.Store("example.com/v1")
		err = patch()
		equal(t, "the answer cannot be converted", strings.HasPrefix(fmt.Sprint(err), "object not decodable revision="), true)
		stored, err := cronTabsIn(c, "v1beta1").Get(t.Context(), "x", metav1.GetOptions{})
		must(t, err)
		equal(t, "it is stored all the same", stored.GetLabels()["a"], "b")
	})
}
