package fakecluster_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

var soakFor = flag.Duration("soak", 3*time.Second, "how long TestSoak loads a cluster")

const (
	soakWriters  = 8
	soakWatchers = 100
	soakSamples  = 12 // the first third of them is the time that caches and the history take to fill
	soakHistory  = 2_000
)

// load is what happens to a cluster in TestSoak, and how much of it.
type load struct {
	cluster                         *fakecluster.Cluster
	writes, refused, events, resets atomic.Int64
	forks, reviews                  atomic.Int64
}

// sample is what the process has at a moment.
type sample struct {
	heap                  uint64
	goroutines, openFiles int
	full                  bool // the history was full
}

func takeSample() (s sample) {
	runtime.GC()
	runtime.GC() // what the first one finalized
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s.heap, s.goroutines = m.HeapAlloc, runtime.NumGoroutine()
	if files, err := os.ReadDir("/proc/self/fd"); err == nil {
		s.openFiles = len(files)
	}
	return s
}

func (s sample) String() string {
	return fmt.Sprintf("%.1f MB, %d goroutines, %d files", float64(s.heap)/1e6, s.goroutines, s.openFiles)
}

// After its caches and its history have filled, a cluster under load grows no more: 8 writers, 100
// watchers, webhooks, policies, quotas, garbage collection and forks.
func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it takes as long as -soak says")
	}
	seed := seedtest.Seed(t)
	before := takeSample()
	l := &load{}
	c, err := fakecluster.New(fakecluster.WithCRDPaths("testdata/crd"), fakecluster.WithWatchHistory(soakHistory, 8<<20),
		fakecluster.WithControllers(append(fakecluster.DefaultControllers(), fakecluster.GarbageCollector)...),
		fakecluster.WithService("default", "hook", 443, http.HandlerFunc(l.review)))
	must(t, err)
	l.cluster = c
	l.configure(t)

	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for i := range soakWriters {
		running.Go(func() { l.write(t, ctx, i, rand.New(rand.NewPCG(seed, uint64(i)))) })
	}
	for i := range soakWatchers {
		running.Go(func() { l.watch(t, ctx, i) })
	}
	running.Go(func() { l.fork(t, ctx) })

	samples := make([]sample, 0, soakSamples)
	ticks := time.NewTicker(*soakFor / soakSamples)
	for len(samples) < soakSamples && !t.Failed() {
		<-ticks.C
		s := takeSample()
		s.full = l.writes.Load() > soakHistory // most of them make an event, and forks and quotas make others
		samples = append(samples, s)
		t.Logf("%v: %d writes, %d refused, %d events, %d watches begun anew, %d forks, %d webhook calls", samples[len(samples)-1],
			l.writes.Load(), l.refused.Load(), l.events.Load(), l.resets.Load(), l.forks.Load(), l.reviews.Load())
	}
	ticks.Stop()
	stop()
	running.Wait()
	must(t, c.Close())
	if t.Failed() {
		return
	}
	early, late := least(samples[soakSamples/3:soakSamples*2/3]), least(samples[soakSamples*2/3:])
	t.Logf("the least of the second third: %v; of the last: %v; before: %v", early, late, before)
	if !samples[soakSamples/3].full {
		t.Log("the heap is not checked: the history was not full after a third of the time")
		early.heap = late.heap
	}
	if late.heap > early.heap*5/4+8<<20 || late.goroutines > early.goroutines*11/10+20 || late.openFiles > early.openFiles*11/10+20 {
		t.Errorf("the process grows: %v after a third of the time, %v at the end", early, late)
	}
}

// least is the least of each figure: load comes and goes, and what leaks stays.
func least(samples []sample) sample {
	w := samples[0]
	for _, s := range samples {
		w = sample{heap: min(w.heap, s.heap), goroutines: min(w.goroutines, s.goroutines), openFiles: min(w.openFiles, s.openFiles)}
	}
	return w
}

// review is a mutating webhook.
func (l *load) review(w http.ResponseWriter, req *http.Request) {
	l.reviews.Add(1)
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	jsonPatch := admissionv1.PatchTypeJSONPatch
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true, PatchType: &jsonPatch,
		Patch: []byte(`[{"op":"add","path":"/metadata/labels","value":{"seen":"yes"}}]`)}
	review.Request = nil
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

// configure makes a namespace with a quota, a policy and a webhook.
func (l *load) configure(t *testing.T) {
	t.Helper()
	ctx, client := t.Context(), kubernetes.NewForConfigOrDie(l.cluster.RESTConfig())
	_, err := client.CoreV1().ResourceQuotas("default").Create(ctx, &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "most"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/configmaps": resource.MustParse("60")}}}, metav1.CreateOptions{})
	must(t, err)
	rule := admissionregistrationv1.RuleWithOperations{Operations: []admissionregistrationv1.OperationType{"CREATE", "UPDATE"},
		Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}}}
	_, err = client.AdmissionregistrationV1().ValidatingAdmissionPolicies().Create(ctx, &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "even"}, Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: rule}}},
			Validations:      []admissionregistrationv1.Validation{{Expression: "object.data.n != '13'", Message: "13 is an unlucky number"}},
		}}, metav1.CreateOptions{})
	must(t, err)
	_, err = client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Create(ctx, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "even"}, Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: "even", ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}}}, metav1.CreateOptions{})
	must(t, err)
	none, patience := admissionregistrationv1.SideEffectClassNone, int32(30)
	_, err = client.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(ctx, &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "hook"}, Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "hook.example.com", SideEffects: &none, TimeoutSeconds: &patience, AdmissionReviewVersions: []string{"v1"}, Rules: []admissionregistrationv1.RuleWithOperations{rule},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{CABundle: l.cluster.CABundle(), Service: &admissionregistrationv1.ServiceReference{Namespace: "default", Name: "hook"}},
		}}}, metav1.CreateOptions{})
	must(t, err)
}

var soaked = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// write creates, changes and deletes objects of a writer's own: owners, and what they own.
func (l *load) write(t *testing.T, ctx context.Context, writer int, random *rand.Rand) {
	client := dynamic.NewForConfigOrDie(l.cluster.RESTConfig())
	owners, owned := client.Resource(cronTabs).Namespace("default"), client.Resource(soaked).Namespace("default")
	for n := 0; ctx.Err() == nil; n++ {
		name := fmt.Sprintf("w%d-%d", writer, random.IntN(10))
		data := map[string]any{"data": map[string]any{"n": strconv.Itoa(random.IntN(20))}}
		var err error
		switch random.IntN(6) {
		case 0:
			_, err = owners.Create(ctx, cronTab(name), metav1.CreateOptions{})
		case 1: // and what it owns goes with it
			err = owners.Delete(ctx, name, metav1.DeleteOptions{})
		case 2:
			var owner *unstructured.Unstructured
			if owner, err = owners.Get(ctx, name, metav1.GetOptions{}); err != nil {
				break
			}
			u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": data["data"]}}
			u.SetName(name)
			u.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "stable.example.com/v1", Kind: "CronTab", Name: name, UID: owner.GetUID()}})
			_, err = owned.Create(ctx, u, metav1.CreateOptions{})
		case 3:
			body, _ := json.Marshal(data)
			_, err = owned.Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{})
		case 4:
			u := cronTab(name)
			_ = unstructured.SetNestedField(u.Object, int64(random.IntN(9)+1), "spec", "replicas")
			_, err = owners.Apply(ctx, name, u, metav1.ApplyOptions{FieldManager: "soak", Force: true})
		default:
			_, err = owners.List(ctx, metav1.ListOptions{Limit: 10})
		}
		switch {
		case err == nil:
			l.writes.Add(1)
		case apierrors.IsNotFound(err), apierrors.IsAlreadyExists(err), apierrors.IsConflict(err), apierrors.IsForbidden(err), apierrors.IsInvalid(err):
			l.refused.Add(1)
		case apierrors.IsTimeout(err), strings.Contains(err.Error(), context.DeadlineExceeded.Error()):
			l.refused.Add(1) // on a machine that has no time for the process
		case ctx.Err() == nil:
			t.Errorf("writer %d: %v", writer, err)
			return
		}
	}
}

// watch follows a kind, and begins anew where the history has gone on without it.
func (l *load) watch(t *testing.T, ctx context.Context, watcher int) {
	r := dynamic.NewForConfigOrDie(l.cluster.RESTConfig()).Resource([]schema.GroupVersionResource{cronTabs, soaked}[watcher%2]).Namespace("default")
	last := ""
	for ctx.Err() == nil {
		w, err := r.Watch(ctx, metav1.ListOptions{ResourceVersion: last})
		if err != nil {
			if ctx.Err() == nil {
				t.Errorf("watcher %d: %v", watcher, err)
			}
			return
		}
		seen := 0
		for e := range w.ResultChan() {
			if e.Type == watch.Error {
				if err := apierrors.FromObject(e.Object); !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) && ctx.Err() == nil {
					t.Errorf("watcher %d: %v", watcher, err)
				}
				last = ""
				break
			}
			l.events.Add(1)
			object, err := meta.Accessor(e.Object)
			if err != nil {
				t.Error(err)
				return
			}
			before, _ := strconv.ParseInt(last, 10, 64)
			if now, _ := strconv.ParseInt(object.GetResourceVersion(), 10, 64); last != "" && now <= before && !(seen == 0) {
				t.Errorf("watcher %d: revision %d comes after %d", watcher, now, before)
			}
			if last != "" || e.Type != watch.Added {
				last = object.GetResourceVersion()
			}
			if seen++; seen == 500+watcher {
				break // and resume
			}
		}
		w.Stop()
		l.resets.Add(1)
	}
}

// fork makes copies, one after the other, and holds them to what they are copies of.
func (l *load) fork(t *testing.T, ctx context.Context) {
	for ctx.Err() == nil {
		f, err := l.cluster.NewFork()
		if err != nil {
			t.Errorf("fork: %v", err)
			return
		}
		r := f.Dynamic().Resource(cronTabs).Namespace("default")
		name := fmt.Sprint("fork-", l.forks.Add(1))
		if _, err = r.Create(ctx, cronTab(name), metav1.CreateOptions{}); err == nil {
			var listed *unstructured.UnstructuredList
			if listed, err = l.cluster.Dynamic().Resource(cronTabs).Namespace("default").List(ctx, metav1.ListOptions{}); err == nil &&
				slices.ContainsFunc(listed.Items, func(u unstructured.Unstructured) bool { return u.GetName() == name }) {
				t.Errorf("what was written to a fork is in the cluster")
			}
		}
		if closing := f.Close(); err == nil {
			err = closing
		}
		if err != nil && ctx.Err() == nil {
			t.Errorf("fork: %v", err)
			return
		}
	}
}
