package remote

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/remote"
)

var plainHistories = flag.Int("plain-histories", 20, "how many random histories without workloads run in process and through remote")

// A history in a cluster without workloads has the same answers, watch events and objects in process and through remote, down to the resourceVersions, and
// what has a time has the same one up to a second. Events expire, owners take their dependents along, and namespaces their content.
func TestPlainHistoriesAreThoseInProcess(t *testing.T) {
	inProcess := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithControllers(fakecluster.AllControllers()...), fakecluster.WithCRDPaths("../../scenarios/crontab"))
	outside := remote.Start(t, remote.AllControllers(), remote.CRDPaths("../../scenarios/crontab"))
	for lane := range runtime.GOMAXPROCS(0) { // a parallel test for each history would leave thousands of goroutines, whose stacks the watchdogs read
		t.Run(fmt.Sprint(lane), func(t *testing.T) {
			t.Parallel()
			for i := lane; i < *plainHistories; i += runtime.GOMAXPROCS(0) {
				seed := uint64(*firstHistory + i)
				t.Run(fmt.Sprint(seed), func(t *testing.T) { comparePlain(t, inProcess, outside, seed) })
			}
		})
	}
}

// comparePlain plays a history in forks of two clusters, and compares them.
func comparePlain(t *testing.T, inProcess *fakecluster.Cluster, outside *remote.Cluster, seed uint64) {
	var want, got *plainHistory
	synctest.Test(t, func(t *testing.T) { want = playPlain(t, inProcess.Fork(t).RESTConfig(), seed) })
	synctest.Test(t, func(t *testing.T) {
		c := outside.Fork(t)
		got = playPlain(t, &rest.Config{Host: c.URL(), BearerToken: c.Token(), Transport: c.Transport(), QPS: -1}, seed)
	})
	if len(want.objects) == 0 || !slices.EqualFunc(want.objects, got.objects, entry.same) || !slices.Equal(want.answers, got.answers) || !slices.Equal(want.events, got.events) {
		t.Errorf("(-in process +remote):\n%s%s%s", cmp.Diff(want.answers, got.answers), cmp.Diff(want.events, got.events), cmp.Diff(want.objects, got.objects))
	}
}

// plainHistory plays a history, and keeps what came of it.
type plainHistory struct {
	*rand.Rand
	client  dynamic.Interface
	began   time.Time
	answers []string // to writes
	events  []string // of watches
	objects []entry  // at the end
}

// The resources of the histories.
var (
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	events     = schema.GroupVersionResource{Version: "v1", Resource: "events"}
	podsOfAll  = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

// uids are made up by each cluster.
var uids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

func playPlain(t *testing.T, cfg *rest.Config, seed uint64) *plainHistory {
	h := &plainHistory{Rand: rand.New(rand.NewPCG(seed, 2)), client: dynamic.NewForConfigOrDie(cfg)}
	h.began = time.Now().Truncate(time.Minute).Add(time.Minute)
	time.Sleep(time.Until(h.began))
	ctx, cancel := context.WithCancel(t.Context())
	watched := h.watch(t, ctx)
	for range 20 {
		h.write(ctx)
		time.Sleep([]time.Duration{0, 0, 0, time.Second, 5 * time.Second, time.Minute}[h.IntN(6)])
		if h.IntN(60) == 0 {
			time.Sleep(65 * time.Minute) // Events expire after an hour
		}
	}
	time.Sleep(time.Minute) // what watches have to tell has arrived
	cancel()
	h.events = <-watched
	for _, resource := range []schema.GroupVersionResource{configMaps, events, podsOfAll, namespaces, cronTabs} {
		list, err := h.client.Resource(resource).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Items {
			created := o.GetCreationTimestamp().Sub(h.began)
			if created.Abs() > 24*time.Hour {
				created = 0 // of the start of the cluster, outside of the bubble
			}
			h.objects = append(h.objects, entry{fmt.Sprint(resource.Resource, " ", o.GetNamespace(), "/", o.GetName(), " ", o.GetResourceVersion(), " ", o.GetGeneration(), " ", o.GetDeletionTimestamp() != nil, " ",
				o.GetFinalizers(), " ", o.GetLabels()), created})
		}
	}
	return h
}

// watch follows the ConfigMaps of all namespaces, and sends what it has seen when the context ends.
func (h *plainHistory) watch(t *testing.T, ctx context.Context) <-chan []string {
	watched, err := h.client.Resource(configMaps).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	seen := make(chan []string, 1)
	go func() {
		var texts []string
		for e := range watched.ResultChan() {
			if o, ok := e.Object.(*unstructured.Unstructured); ok {
				texts = append(texts, fmt.Sprint(e.Type, " ", o.GetNamespace(), "/", o.GetName(), " ", o.GetResourceVersion()))
			}
		}
		seen <- texts
	}()
	return seen
}

// write sends one write, and keeps its answer.
func (h *plainHistory) write(ctx context.Context) {
	name, namespace := fmt.Sprint("o", h.IntN(4)), []string{"default", "default", "n0", "n1"}[h.IntN(4)]
	maps := h.client.Resource(configMaps).Namespace(namespace)
	switch h.IntN(10) {
	case 0, 1:
		h.keep(maps.Create(ctx, h.configMap(ctx, namespace, name), metav1.CreateOptions{}))
	case 2:
		patch := []string{`{"data": {"a": "1"}}`, `{"metadata": {"finalizers": null}}`, `{"metadata": {"labels": {"x": "y"}}}`, `{"data": {"a": 1}}`, `{"metadata": {"resourceVersion": "1"}}`}[h.IntN(5)]
		h.keep(maps.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}))
	case 3:
		o := object("v1", "ConfigMap", namespace, name)
		o.Object["data"] = map[string]any{fmt.Sprint("k", h.IntN(2)): fmt.Sprint(h.IntN(2))}
		h.keep(maps.Apply(ctx, name, o, metav1.ApplyOptions{FieldManager: fmt.Sprint("m", h.IntN(2)), Force: h.IntN(3) == 0}))
	case 4:
		policy := []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan}[h.IntN(3)]
		h.keep(nil, maps.Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &policy}))
	case 5:
		if h.IntN(2) == 0 {
			h.keep(h.client.Resource(namespaces).Create(ctx, object("v1", "Namespace", "", namespace), metav1.CreateOptions{}))
			return
		}
		h.keep(nil, h.client.Resource(namespaces).Delete(ctx, namespace, metav1.DeleteOptions{}))
	case 6:
		o := object("v1", "Event", namespace, name)
		o.Object["involvedObject"] = map[string]any{"namespace": namespace}
		h.keep(h.client.Resource(events).Namespace(namespace).Create(ctx, o, metav1.CreateOptions{}))
	case 7:
		pods := h.client.Resource(podsOfAll).Namespace(namespace)
		if h.IntN(2) == 0 {
			h.keep(nil, pods.Delete(ctx, name, metav1.DeleteOptions{}))
			return
		}
		o := object("v1", "Pod", namespace, name)
		o.Object["spec"] = map[string]any{"nodeName": []string{"", "n1"}[h.IntN(2)], "containers": []any{map[string]any{"name": "c", "image": "web"}}}
		h.keep(pods.Create(ctx, o, metav1.CreateOptions{}))
	case 8:
		o := cronTab(name)
		o.Object["spec"].(map[string]any)["replicas"] = int64(h.IntN(20))
		h.keep(h.client.Resource(cronTabs).Namespace(namespace).Create(ctx, o, metav1.CreateOptions{}))
	case 9:
		h.keep(nil, maps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "x=y"}))
	}
}

// configMap returns a ConfigMap, which may have a finalizer, and an owner that exists.
func (h *plainHistory) configMap(ctx context.Context, namespace, name string) *unstructured.Unstructured {
	o := object("v1", "ConfigMap", namespace, name)
	if h.IntN(4) == 0 {
		o.SetFinalizers([]string{"example.com/kept"})
	}
	if owner, err := h.client.Resource(configMaps).Namespace(namespace).Get(ctx, fmt.Sprint("o", h.IntN(4)), metav1.GetOptions{}); err == nil && h.IntN(3) > 0 {
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.GetName(), UID: owner.GetUID(), BlockOwnerDeletion: new(true)}})
	}
	return o
}

// keep keeps the answer to a write.
func (h *plainHistory) keep(o *unstructured.Unstructured, err error) {
	switch {
	case err != nil:
		h.answers = append(h.answers, uids.ReplaceAllString(err.Error(), "UID"))
	case o != nil:
		h.answers = append(h.answers, o.GetResourceVersion())
	default:
		h.answers = append(h.answers, "deleted")
	}
}

func object(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	metadata := map[string]any{"name": name}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": metadata}}
}
