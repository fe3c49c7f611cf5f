package fakecluster_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/faults"
)

func TestFaultsAnswerInTheWordsOfARealServer(t *testing.T) {
	c := defined(t, fakecluster.InProcess())
	create(t, inDefault(c), cronTab("a"))
	update := func() error {
		u, err := inDefault(c).Get(t.Context(), "a", metav1.GetOptions{})
		must(t, err)
		_, err = inDefault(c).Update(t.Context(), u, metav1.UpdateOptions{})
		return err
	}
	list := func() error {
		_, err := inDefault(c).List(t.Context(), metav1.ListOptions{})
		return err
	}
	for _, tt := range []struct {
		verb    string
		effect  faults.Effect
		request func() error
		text    string
		code    int32
		reason  metav1.StatusReason
	}{
		{"update", faults.Conflict(), update,
			`Operation cannot be fulfilled on crontabs.stable.example.com "a": the object has been modified; please apply your changes to the latest version and try again`, 409, metav1.StatusReasonConflict},
		{"update", faults.TooManyRequests(0), update,
			"the server has received too many requests and has asked us to try again later", 429, metav1.StatusReasonTooManyRequests},
		{"update", faults.InternalError("etcdserver: request timed out"), update,
			"Internal error occurred: etcdserver: request timed out", 500, metav1.StatusReasonInternalError},
		{"list", faults.Unavailable(), list, "apiserver is shutting down", 503, metav1.StatusReasonServiceUnavailable},
		{"update", faults.Timeout(), update,
			"Timeout: request did not complete within requested timeout - context deadline exceeded", 504, metav1.StatusReasonTimeout},
		{"list", faults.Timeout(), list,
			"the server was unable to return a response in the time allotted, but may still be processing the request", 504, metav1.StatusReasonTimeout},
		{"update", faults.RefuseAdmission("not on a Friday"), update,
			`crontabs.stable.example.com "a" is forbidden: not on a Friday`, 403, metav1.StatusReasonForbidden},
		{"list", faults.Fail(apierrors.NewResourceExpired("gone")), list, "gone", 410, metav1.StatusReasonExpired},
	} {
		t.Run(tt.verb+" "+tt.effect.String(), func(t *testing.T) {
			fault := c.Inject(faults.Fault{Verb: tt.verb, Resource: definition, Times: 1, Effect: tt.effect})
			err := tt.request()
			fails(t, "struck", err, tt.text)
			var status apierrors.APIStatus
			if errors.As(err, &status) {
				equal(t, "code and reason", []any{status.Status().Code, status.Status().Reason}, []any{tt.code, tt.reason})
			}
			must(t, tt.request())
			equal(t, "fired", fault.Fired(), 1)
		})
	}
	equal(t, "generation", get(t, inDefault(c), "a").GetGeneration(), int64(1))
}

func TestFaultsApplyToMatchingRequestsOnly(t *testing.T) {
	c := defined(t, fakecluster.InProcess())
	create(t, c.Dynamic().Resource(namespaces), newNamespace("other"))
	other := c.Dynamic().Resource(cronTabs).Namespace("other")
	inOther := func(name string) *unstructured.Unstructured {
		u := cronTab(name)
		u.SetNamespace("other")
		return u
	}
	create(t, inDefault(c), cronTab("a"))
	create(t, other, inOther("a"))
	create(t, inDefault(c), cronTab("b"))
	kubectl := c.RESTConfig()
	kubectl.UserAgent = "kubectl/v1.37 (linux)"
	jane := c.ConfigFor("jane", "system:masters")
	patch := func(r dynamic.ResourceInterface, name string) error {
		_, err := r.Patch(t.Context(), name, types.MergePatchType, []byte(`{"spec":{}}`), metav1.PatchOptions{})
		return err
	}
	requests := map[string]func() error{
		"a":       func() error { return patch(inDefault(c), "a") },
		"b":       func() error { return patch(inDefault(c), "b") },
		"other a": func() error { return patch(other, "a") },
		"by jane": func() error {
			return patch(dynamic.NewForConfigOrDie(jane).Resource(cronTabs).Namespace("default"), "a")
		},
		"by kubectl": func() error {
			return patch(dynamic.NewForConfigOrDie(kubectl).Resource(cronTabs).Namespace("default"), "a")
		},
		"with audit ID": func() error {
			return patch(dynamic.NewForConfigOrDie(audited(c.RESTConfig(), "run-17")).Resource(cronTabs).Namespace("default"), "a")
		},
		"a namespace": func() error { return patch(c.Dynamic().Resource(namespaces), "other") },
		"get a":       func() error { _, err := inDefault(c).Get(t.Context(), "a", metav1.GetOptions{}); return err },
		"create c":    func() error { return dryRunCreate(t, inDefault(c), cronTab("c")) },
		"create d":    func() error { return dryRunCreate(t, inDefault(c), cronTab("d")) },
		"finalize": func() error {
			_, err := c.Dynamic().Resource(namespaces).Get(t.Context(), "other", metav1.GetOptions{}, "status")
			return err
		},
	}
	for rule, tt := range map[string]struct {
		fault  faults.Fault
		struck []string
	}{
		"by verb":        {faults.Fault{Verb: "get"}, []string{"get a"}},
		"by resource":    {faults.Fault{Verb: "patch", Resource: definition}, []string{"a", "b", "other a", "by jane", "by kubectl", "with audit ID"}},
		"core group":     {faults.Fault{Resource: "namespaces"}, []string{"a namespace"}},
		"by namespace":   {faults.Fault{Resource: definition, Namespace: "other"}, []string{"other a"}},
		"by name":        {faults.Fault{Verb: "patch", Name: "b"}, []string{"b"}},
		"a name in body": {faults.Fault{Verb: "create", Name: "c"}, []string{"create c"}},
		"by user":        {faults.Fault{User: "jane"}, []string{"by jane"}},
		"by user agent":  {faults.Fault{UserAgent: "kubectl/"}, []string{"by kubectl"}},
		"by audit ID":    {faults.Fault{AuditID: "run-17"}, []string{"with audit ID"}},
		"part of an ID":  {faults.Fault{AuditID: "run-1", Optional: true}, nil},
		"subresource":    {faults.Fault{Subresource: "status"}, []string{"finalize"}},
		"with the object": {faults.Fault{Verb: "get", Subresource: faults.AnySubresource},
			[]string{"finalize", "get a"}},
	} {
		t.Run(rule, func(t *testing.T) {
			tt.fault.Effect = faults.InternalError("struck")
			fault := c.Inject(tt.fault)
			defer fault.Stop()
			struck := map[string]bool{}
			for name, request := range requests {
				if err := request(); err != nil {
					fails(t, name, err, "Internal error occurred: struck")
					struck[name] = true
				}
			}
			want := map[string]bool{}
			for _, name := range tt.struck {
				want[name] = true
			}
			equal(t, "struck", struck, want)
			equal(t, "fired", fault.Fired(), len(tt.struck))
		})
	}
	for name, request := range requests {
		fails(t, name, request(), "<nil>")
	}
}

// audited returns the configuration of a client whose requests have an audit ID.
func audited(config *rest.Config, id string) *rest.Config {
	config.Wrap(func(to http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			req = req.Clone(req.Context())
			req.Header.Set("Audit-ID", id)
			return to.RoundTrip(req)
		})
	})
	return config
}

func dryRunCreate(t *testing.T, r dynamic.ResourceInterface, u *unstructured.Unstructured) error {
	_, err := r.Create(t.Context(), u, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// The body of a create is read for its name, in every form.
func TestAFaultMatchesTheNameInTheBodyOfACreate(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	fault := c.Inject(faults.Fault{Verb: "create", Resource: "configmaps", Name: "a", Effect: faults.InternalError("struck")})
	for _, contentType := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
		config := c.RESTConfig()
		config.ContentType = contentType
		maps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default")
		_, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
		fails(t, contentType, err, "Internal error occurred: struck")
		b, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Data: map[string]string{"k": "v"}}, metav1.CreateOptions{})
		must(t, err)
		equal(t, "what another create stored", b.Data, map[string]string{"k": "v"})
		must(t, maps.Delete(t.Context(), "b", metav1.DeleteOptions{}))
		_, err = maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "a"}}, metav1.CreateOptions{})
		must(t, err)
	}
	equal(t, "fired", fault.Fired(), 2)
	wire := newWire(t, c)
	status, body, err := wire.Send(t.Context(), "POST", "/api/v1/namespaces/default/configmaps", "application/yaml", "kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\n")
	must(t, err)
	equal(t, "YAML", status, 500)
	if !strings.Contains(body, "struck") {
		t.Error(body)
	}
}

func TestAFaultAppliesTimesAfterRequests(t *testing.T) {
	c := defined(t, fakecluster.InProcess())
	get := func() error { _, err := inDefault(c).List(t.Context(), metav1.ListOptions{}); return err }
	fault := c.Inject(faults.Fault{Verb: "list", After: 2, Times: 3, Effect: faults.InternalError("x")})
	var struck []bool
	for range 8 {
		struck = append(struck, get() != nil)
	}
	equal(t, "struck", struck, []bool{false, false, true, true, true, false, false, false})
	equal(t, "fired", fault.Fired(), 3)
	always := c.Inject(faults.Fault{Verb: "list", Effect: faults.InternalError("always")})
	fails(t, "in force", get(), "Internal error occurred: always")
	always.Stop()
	always.Stop()
	must(t, get())
	equal(t, "fired", always.Fired(), 1)
}

// struckBy plays fifty reads on a cluster with a seed, and returns those with the fault.
func struckBy(t *testing.T, seed uint64) string {
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithSeed(seed))
	c.Inject(faults.Fault{Verb: "get", Probability: 0.3, Effect: faults.InternalError("x")})
	var b strings.Builder
	for range 50 {
		_, err := c.Dynamic().Resource(namespaces).Get(t.Context(), "default", metav1.GetOptions{})
		fmt.Fprint(&b, map[bool]int{true: 1}[err != nil])
	}
	return b.String()
}

func TestTheSeedSelectsTheRequestsOfAFault(t *testing.T) {
	first := struckBy(t, 7)
	equal(t, "the same seed", struckBy(t, 7), first)
	if other := struckBy(t, 8); other == first {
		t.Errorf("another seed strikes the same: %s", other)
	}
	if n := strings.Count(first, "1"); n < 5 || n > 28 {
		t.Errorf("%d of 50 requests struck, with the probability 0.3", n)
	}
}

func TestLatencyUsesTheTimeOfTheBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := defined(t, fakecluster.InProcess())
		slow := c.Inject(faults.Fault{Verb: "list", Latency: 20 * time.Second})
		failed := c.Inject(faults.Fault{Verb: "list", Times: 1, Latency: 5 * time.Second, Effect: faults.Unavailable()})
		began := time.Now()
		_, err := inDefault(c).List(t.Context(), metav1.ListOptions{})
		fails(t, "slow and failed", err, "apiserver is shutting down")
		equal(t, "time", time.Since(began), 25*time.Second)
		equal(t, "both fired", []int{slow.Fired(), failed.Fired()}, []int{1, 1})

		began = time.Now()
		seconds := int64(3)
		err = c.Discovery().RESTClient().Get().AbsPath("/apis/stable.example.com/v1/crontabs").Param("timeout", "3s").Do(t.Context()).Error()
		fails(t, "beyond the time that the client waits", err,
			"the server was unable to return a response in the time allotted, but may still be processing the request")
		equal(t, "time", time.Since(began), time.Duration(seconds)*time.Second)
		slow.Stop()
	})
}

func TestAConnectionIsCutBeforeOrAfterTheCommit(t *testing.T) {
	eachWay(t, func(t *testing.T, way ...fakecluster.Option) {
		c := defined(t, way...)
		before := c.Inject(faults.Fault{Verb: "create", Resource: definition, Times: 1, Effect: faults.CutBeforeCommit()})
		_, err := inDefault(c).Create(t.Context(), cronTab("a"), metav1.CreateOptions{})
		cut(t, err)
		equal(t, "after the first cut", names(list(t, inDefault(c))), []string{})

		after := c.Inject(faults.Fault{Verb: "create", Resource: definition, Times: 1, Effect: faults.CutAfterCommit()})
		bad := cronTab("bad")
		bad.Object["spec"] = object{"cronSpec": 5}
		_, err = inDefault(c).Create(t.Context(), bad, metav1.CreateOptions{})
		if !apierrors.IsInvalid(err) {
			t.Errorf("a create that is refused is not cut: %v", err)
		}
		must(t, dryRunCreate(t, inDefault(c), cronTab("a")))
		equal(t, "fired", []int{before.Fired(), after.Fired()}, []int{1, 0})
		_, err = inDefault(c).Create(t.Context(), cronTab("a"), metav1.CreateOptions{})
		cut(t, err)
		equal(t, "fired", after.Fired(), 1)
		equal(t, "after the second cut", names(list(t, inDefault(c))), []string{"a"})
		_, err = inDefault(c).Create(t.Context(), cronTab("a"), metav1.CreateOptions{})
		fails(t, "once more", err, `crontabs.stable.example.com "a" already exists`)
	})
}

// A dry run commits nothing, and so its connection is not cut: not one whose options stand in the body of
// a delete or of an eviction, in any form. Options in the body of a delete count instead of the query's.
func TestDryRunsAreNotCut(t *testing.T) {
	for _, contentType := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
		c := fakecluster.Start(t, fakecluster.InProcess())
		config := c.RESTConfig()
		config.ContentType = contentType
		client := kubernetes.NewForConfigOrDie(config).CoreV1()
		for _, name := range []string{"a", "b", "c"} {
			_, err := client.Pods("default").Create(t.Context(), &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
			}, metav1.CreateOptions{})
			must(t, err)
		}
		dry := metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}
		evict := func(options *metav1.DeleteOptions) error {
			return client.Pods("default").EvictV1(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "c"}, DeleteOptions: options})
		}
		inQuery := func() error {
			// The body is not empty, and it is not a dry run.
			return client.RESTClient().Delete().Namespace("default").Resource("pods").Name("b").Param("dryRun", "All").
				Body(&metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}).Do(t.Context()).Error()
		}
		left := func() int {
			listed, err := client.Pods("default").List(t.Context(), metav1.ListOptions{})
			must(t, err)
			return len(listed.Items)
		}
		for _, tt := range []struct {
			effect faults.Effect
			left   []int // after each cut
		}{{faults.CutBeforeCommit(), []int{3, 3, 3}}, {faults.CutAfterCommit(), []int{2, 1, 0}}} {
			fault := c.Inject(faults.Fault{Resource: "pods", Subresource: faults.AnySubresource, Effect: tt.effect})
			must(t, client.Pods("default").Delete(t.Context(), "a", dry))
			must(t, client.Pods("default").DeleteCollection(t.Context(), dry, metav1.ListOptions{}))
			must(t, evict(&dry))
			equal(t, "dry runs that are cut", fault.Fired(), 0)
			for i, write := range []func() error{
				func() error { return client.Pods("default").Delete(t.Context(), "a", metav1.DeleteOptions{}) },
				inQuery,
				func() error { return evict(nil) },
			} {
				cut(t, write())
				equal(t, fmt.Sprint(tt.effect, ": pods after write ", i), left(), tt.left[i])
			}
			equal(t, "cut", fault.Fired(), 3)
			fault.Stop()
		}
	}
}

// cut checks that an error is that of a connection that has ended without an answer.
func cut(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !strings.Contains(fmt.Sprint(err), "INTERNAL_ERROR") {
		t.Errorf("the connection is not cut: %v", err)
	}
}

func TestReadsAreStale(t *testing.T) {
	c := defined(t, fakecluster.InProcess())
	crontabs := inDefault(c)
	a := create(t, crontabs, cronTab("a"))
	create(t, crontabs, cronTab("b"))
	now := change(t, crontabs, a, "new")
	remove(t, crontabs, "b")
	image := func(u *unstructured.Unstructured) string {
		text, _, _ := unstructured.NestedString(u.Object, "spec", "image")
		return text
	}
	for _, tt := range []struct {
		lag    int
		exists map[string]string
	}{
		{1, map[string]string{"a": "new", "b": "my-awesome-cron-image"}},
		{2, map[string]string{"a": "my-awesome-cron-image", "b": "my-awesome-cron-image"}},
		{3, map[string]string{"a": "my-awesome-cron-image"}},
		{4, map[string]string{}},
		{1000, map[string]string{}},
	} {
		fault := c.Inject(faults.Fault{Resource: definition, Effect: faults.StaleRead(tt.lag)})
		for _, version := range []string{"", "0"} {
			l, err := crontabs.List(t.Context(), metav1.ListOptions{ResourceVersion: version, Limit: 1})
			must(t, err)
			if l.GetContinue() != "" { // "0" ignores the limit, as a cache does
				rest, err := crontabs.List(t.Context(), metav1.ListOptions{Continue: l.GetContinue(), Limit: 10})
				must(t, err)
				equal(t, "resourceVersion of the second page", rest.GetResourceVersion(), l.GetResourceVersion())
				l.Items = append(l.Items, rest.Items...)
			}
			got := map[string]string{}
			for _, u := range l.Items {
				got[u.GetName()] = image(&u)
			}
			equal(t, fmt.Sprintf("list %d revisions ago at %q", tt.lag, version), got, tt.exists)
		}
		got := map[string]string{}
		for _, name := range []string{"a", "b"} {
			u, err := crontabs.Get(t.Context(), name, metav1.GetOptions{})
			if err == nil {
				got[name] = image(u)
			} else {
				fails(t, "get", err, fmt.Sprintf("crontabs.stable.example.com %q not found", name))
			}
		}
		equal(t, fmt.Sprintf("get %d revisions ago", tt.lag), got, tt.exists)

		// A read of a revision gets it.
		u, err := crontabs.Get(t.Context(), "a", metav1.GetOptions{ResourceVersion: now.GetResourceVersion()})
		must(t, err)
		equal(t, "not older than", image(u), "new")
		fault.Stop()
	}
	equal(t, "without a fault", names(list(t, crontabs)), []string{"a"})

	// A watch from a stale list misses nothing.
	fault := c.Inject(faults.Fault{Verb: "list", Times: 1, Effect: faults.StaleRead(2)})
	l := list(t, crontabs)
	equal(t, "stale", names(l), []string{"a", "b"})
	equal(t, "fired", fault.Fired(), 1)
	w, err := crontabs.Watch(t.Context(), metav1.ListOptions{ResourceVersion: l.GetResourceVersion()})
	must(t, err)
	defer w.Stop()
	for _, want := range []string{"MODIFIED a", "DELETED b"} {
		e := <-w.ResultChan()
		equal(t, "event", fmt.Sprint(e.Type, " ", e.Object.(*unstructured.Unstructured).GetName()), want)
	}
}

func TestFailWebhookAffectsTheNamedWebhookOnly(t *testing.T) {
	h := &hook{answer: allow}
	c := withHook(t, h, fakecluster.InProcess())
	ignore := admissionregistrationv1.Ignore
	configure(t, c, hookConfiguration(t, c, validating, "strict", nil))
	configure(t, c, hookConfiguration(t, c, validating, "lenient", func(w *admissionregistrationv1.MutatingWebhook) { w.FailurePolicy = &ignore }))
	for _, tt := range []struct {
		name, text string
		calls      int
	}{
		{"strict.example.com", `Internal error occurred: failed calling webhook "strict.example.com": failed to call webhook: ` +
			`Post "https://hook.default.svc:443/?timeout=10s": dial tcp hook.default.svc:443: connect: connection refused`, 1},
		{"lenient.example.com", "<nil>", 1},
		{"none.example.com", "<nil>", 2},
	} {
		h.mu.Lock()
		h.calls = nil
		h.mu.Unlock()
		fault := c.Inject(faults.Fault{Verb: "create", Resource: definition, Name: "a", Optional: true, Effect: faults.FailWebhook(tt.name)})
		fails(t, tt.name, dryRunCreate(t, inDefault(c), cronTab("a")), tt.text)
		h.mu.Lock()
		equal(t, tt.name+": calls", len(h.calls), tt.calls)
		h.mu.Unlock()
		fails(t, "another object", dryRunCreate(t, inDefault(c), cronTab("b")), "<nil>")
		fault.Stop()
		fails(t, "without the fault", dryRunCreate(t, inDefault(c), cronTab("a")), "<nil>")
	}
}

func TestAConversionFails(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithCRDPaths(withWebhook),
		fakecluster.WithConversion("crontabs.example.com", fakecluster.ConversionFunc(parts)))
	a := create(t, cronTabsIn(c, "v1beta1"), &unstructured.Unstructured{Object: object{
		"apiVersion": "example.com/v1beta1", "kind": "CronTab", "metadata": object{"name": "a"}, "hostPort": "localhost:1234",
	}})
	fault := c.Inject(faults.Fault{Resource: "crontabs.example.com", Times: 1, Effect: faults.FailConversion()})
	_, err := cronTabsIn(c, "v1beta1").Get(t.Context(), "a", metav1.GetOptions{})
	must(t, err)
	equal(t, "no conversion", fault.Fired(), 0)
	_, err = cronTabsIn(c, "v1").Get(t.Context(), "a", metav1.GetOptions{})
	want := corrupt(a) + `conversion webhook for example.com/v1beta1, Kind=CronTab failed: Post "https://fakecluster-conversion-crontabs.default.svc:443/crdconvert?timeout=30s": dial tcp `
	if text := fmt.Sprint(err); !strings.Contains(text, "conversion webhook for example.com/v1beta1, Kind=CronTab failed: Post ") || !strings.HasSuffix(text, ": connect: connection refused") {
		t.Errorf("got %s\nwant %s", text, want)
	}
	equal(t, "fired", fault.Fired(), 1)
	_, err = cronTabsIn(c, "v1").Get(t.Context(), "a", metav1.GetOptions{})
	must(t, err)
}

func TestARequestWhoseConversionFailsNamesTheFault(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithCRDPaths(withWebhook),
		fakecluster.WithConversion("crontabs.example.com", fakecluster.ConversionFunc(parts)))
	create(t, cronTabsIn(c, "v1beta1"), &unstructured.Unstructured{Object: object{
		"apiVersion": "example.com/v1beta1", "kind": "CronTab", "metadata": object{"name": "a"}, "hostPort": "localhost:1234",
	}})
	v1 := cronTabsIn(c, "v1")
	for _, tt := range []struct {
		verb string
		send func() error
	}{
		{"get", func() error { _, err := v1.Get(t.Context(), "a", metav1.GetOptions{}); return err }},
		{"list", func() error { _, err := v1.List(t.Context(), metav1.ListOptions{}); return err }},
		{"watch", func() error {
			w, err := v1.Watch(t.Context(), metav1.ListOptions{})
			if err != nil {
				return err
			}
			defer w.Stop()
			if e, ok := <-w.ResultChan(); ok {
				return fmt.Errorf("the watch has a %s event", e.Type)
			}
			return errors.New("the watch has ended")
		}},
		{"create", func() error {
			_, err := v1.Create(t.Context(), &unstructured.Unstructured{Object: object{
				"apiVersion": "example.com/v1", "kind": "CronTab", "metadata": object{"name": "b"}, "host": "localhost", "port": "1234",
			}}, metav1.CreateOptions{})
			return err
		}},
		{"patch", func() error {
			_, err := v1.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"host":"other"}`), metav1.PatchOptions{})
			return err
		}},
		{"delete", func() error { return v1.Delete(t.Context(), "a", metav1.DeleteOptions{}) }},
	} {
		t.Run(tt.verb, func(t *testing.T) {
			fault := c.Inject(faults.Fault{Resource: "crontabs.example.com", Effect: faults.FailConversion()})
			defer fault.Stop()
			if err := tt.send(); err == nil {
				t.Error("the request succeeds")
			}
			requests := c.Requests()
			if last := requests[len(requests)-1]; last.Verb != tt.verb || last.Fault != "FailConversion" {
				t.Errorf("the last request is %s with the fault %q: %s", last.Verb, last.Fault, last)
			}
		})
	}
}

// hostPort returns a CronTab in the version that is stored.
func hostPort(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: object{
		"apiVersion": "example.com/v1beta1", "kind": "CronTab", "metadata": object{"name": name}, "hostPort": "localhost:1234",
	}}
}

func TestAControllersWriteWhoseConversionFailsNamesTheFault(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithCRDPaths(withWebhook), fakecluster.WithObjects(newNamespace("team")),
		fakecluster.WithConversion("crontabs.example.com", fakecluster.ConversionFunc(parts)))
	create(t, c.Dynamic().Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1beta1", Resource: "crontabs"}).Namespace("team"), hostPort("a"))
	c.Inject(faults.Fault{Resource: "crontabs.example.com", Effect: faults.FailConversion()})
	must(t, kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().Namespaces().Delete(t.Context(), "team", metav1.DeleteOptions{}))
	var struck []string
	for _, r := range c.Requests() {
		if r.Fault != "" {
			struck = append(struck, fmt.Sprint(strings.HasSuffix(r.UserAgent, "namespace-controller"), " ", r.Verb, " ", r.Namespace, "/", r.Name, ": ", r.Code, " ", r.Fault))
		}
	}
	equal(t, "the requests that a fault has struck", struck, []string{"true delete team/a: 500 FailConversion"})
}

// Admission shows an object to a policy or a webhook in the version of its rules, and takes it back in
// the version of the request. Of an error of either conversion the answer says as much as a real
// server's; of one that is ignored it says nothing.
func TestARequestWhoseAdmissionMeetsAFailedConversionNamesTheFault(t *testing.T) {
	inV1 := admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{"CREATE"},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{"example.com"}, APIVersions: []string{"v1"}, Resources: []string{"crontabs"}},
	}
	match := &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: inV1}}}
	ignore, none := admissionregistrationv1.Ignore, admissionregistrationv1.SideEffectClassNone
	shown := []runtime.Object{
		&admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "hosts"}, Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: &ignore, MatchConstraints: match, Validations: []admissionregistrationv1.Validation{{Expression: "has(object.host)"}},
		}},
		policyBinding("hosts", admissionregistrationv1.Deny),
	}
	changed := []runtime.Object{
		&admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "ports"}, Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			MatchConstraints: match, ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy, Mutations: []admissionregistrationv1.Mutation{{
				PatchType: admissionregistrationv1.PatchTypeJSONPatch,
				JSONPatch: &admissionregistrationv1.JSONPatch{Expression: `[JSONPatch{op: "replace", path: "/port", value: "80"}]`},
			}},
		}},
		&admissionregistrationv1.MutatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "ports"},
			Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: "ports"}},
	}
	webhook := []runtime.Object{&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "checks"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "checks.example.com", SideEffects: &none, AdmissionReviewVersions: []string{"v1"}, Rules: []admissionregistrationv1.RuleWithOperations{inV1},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: "default", Name: "hook"}},
		}}}}
	for name, tt := range map[string]struct {
		objects []runtime.Object
		after   int // so many conversions succeed
		code    int
	}{
		"to a policy that ignores failures":  {shown, 0, 201},
		"to a webhook":                       {webhook, 0, 500},
		"back from a policy that changed it": {changed, 1, 500},
	} {
		t.Run(name, func(t *testing.T) {
			c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithCRDPaths(withWebhook), fakecluster.WithObjects(tt.objects...),
				fakecluster.WithService("default", "hook", 443, http.HandlerFunc(allowing)),
				fakecluster.WithConversion("crontabs.example.com", fakecluster.ConversionFunc(parts)))
			fault := faults.Fault{Resource: "crontabs.example.com", After: tt.after, Effect: faults.FailConversion()}
			first := c.Inject(fault)
			explanation, err := c.Explain(fakecluster.Write{Verb: "create", Object: hostPort("a")})
			must(t, err)
			equal(t, "the fault of the explanation", explanation.Fault, "FailConversion")
			first.Stop()
			c.Inject(fault)
			_, _ = cronTabsIn(c, "v1beta1").Create(t.Context(), hostPort("a"), metav1.CreateOptions{})
			requests := c.Requests()
			last := requests[len(requests)-1]
			equal(t, last.String(), fmt.Sprint(last.Code, last.Fault), fmt.Sprint(tt.code, "FailConversion"))
		})
	}
}

func TestFaultsThatContradictThemselvesAreRefused(t *testing.T) {
	c := defined(t, fakecluster.InProcess())
	for text, fault := range map[string]faults.Fault{
		"the fault has neither an Effect nor a Latency: set one":                                                                                             {Verb: "get"},
		`there is no verb "read"; there are get, list, watch, create, update, patch, delete, deletecollection`:                                               {Verb: "read", Effect: faults.Unavailable()},
		"CutAfterCommit cannot strike the verb get; it strikes create, update, patch, delete, deletecollection":                                              {Verb: "get", Effect: faults.CutAfterCommit()},
		"StaleRead(3) cannot strike the verb create; it strikes get, list":                                                                                   {Verb: "create", Effect: faults.StaleRead(3)},
		"DropWatch(0) cannot strike the verb list; it strikes watch":                                                                                         {Verb: "list", Effect: faults.DropWatch(0)},
		"Conflict cannot strike the verb watch; it strikes create, update, patch, delete, deletecollection":                                                  {Verb: "watch", Effect: faults.Conflict()},
		"a fault with DelayWatch(1s) cannot have a Latency, which delays requests":                                                                           {Latency: 1, Effect: faults.DelayWatch(time.Second)},
		"a fault with DropWatch(0) cannot have a Subresource: subresources cannot be watched":                                                                {Subresource: "status", Effect: faults.DropWatch(0)},
		"a fault with the verb deletecollection cannot have a Name: the request does not name an object":                                                     {Verb: "deletecollection", Name: "a", Effect: faults.Conflict()},
		"FailConversion strikes all conversions of a Resource, for any request: leave Verb, Subresource, Namespace, Name, User, UserAgent and AuditID empty": {Verb: "get", Effect: faults.FailConversion()},
		"StaleRead(0): the number of revisions must be at least 1":                                                                                           {Effect: faults.StaleRead(0)},
		"DelayWatch(0s): the delay must be positive":                                                                                                         {Effect: faults.DelayWatch(0)},
		"DropWatch(-1): the number of events must not be negative":                                                                                           {Effect: faults.DropWatch(-1)},
		"RefuseAdmission: the message must not be empty":                                                                                                     {Effect: faults.RefuseAdmission("")},
		"TooManyRequests: Retry-After must be whole seconds, not 1.5s":                                                                                       {Effect: faults.TooManyRequests(1500 * time.Millisecond)},
		"Fail: the error boom has no Status: create it with k8s.io/apimachinery/pkg/api/errors":                                                              {Effect: faults.Fail(errors.New("boom"))},
		"Fail: the error <nil> has no Status: create it with k8s.io/apimachinery/pkg/api/errors":                                                             {Effect: faults.Fail(nil)},
		"Latency is -1ns: it must not be negative":                                                                                                           {Latency: -1},
		"After is -1: it must not be negative":                                                                                                               {After: -1, Latency: 1},
		"Times is -1: it must not be negative":                                                                                                               {Times: -1, Latency: 1},
		"Probability is 1.5: it must be between 0 and 1":                                                                                                     {Probability: 1.5, Latency: 1},
		`there is no resource "crontabs"; write "crontabs.stable.example.com"`:                                                                               {Resource: "crontabs", Latency: 1},
		`there is no resource "CronTab"; write "crontabs.stable.example.com"`:                                                                                {Resource: "CronTab", Latency: 1},
		`there is no resource "statefulset"; write "statefulsets.apps"`:                                                                                      {Resource: "statefulset", Latency: 1},
		`there is no resource "event"; write "events" or "events.events.k8s.io"`:                                                                             {Resource: "event", Latency: 1},
		`there is no resource "hats"`:                                                                                                                        {Resource: "hats", Latency: 1},
		`crontabs.stable.example.com has no subresource "status"`:                                                                                            {Resource: definition, Subresource: "status", Latency: 1},
		`no resource has the subresource "statsu"`:                                                                                                           {Subresource: "statsu", Latency: 1},
		`no resource has the subresource "log" with the verb "patch"`:                                                                                        {Subresource: "log", Verb: "patch", Latency: 1},
		`bindings has no verb "get"; it has create`:                                                                                                          {Resource: "bindings", Verb: "get", Latency: 1},
		`namespaces/status has no verb "delete"; it has get, patch, update`:                                                                                  {Resource: "namespaces", Subresource: "status", Verb: "delete", Latency: 1},
	} {
		var injected faults.Injection
		message := fatal(t, func(t testing.TB) {
			c := c.Fork(t)
			injected = c.Inject(fault)
		})
		equal(t, fmt.Sprintf("%+v", fault), message, "fakecluster: the fault cannot be injected: "+text)
		if injected != nil {
			t.Errorf("%s: the test goes on", text)
		}
	}
}

func TestAFaultThatNeverFiresFailsTheTest(t *testing.T) {
	c := defined(t, fakecluster.InProcess())
	create(t, inDefault(c), cronTab("a"))
	for _, tt := range []struct {
		rule  string
		fault faults.Fault
		text  string
	}{
		{"it fired", faults.Fault{Verb: "get", Effect: faults.Unavailable()}, ""},
		{"it need not", faults.Fault{Verb: "delete", Optional: true, Effect: faults.Unavailable()}, ""},
		{"nothing matched", faults.Fault{Verb: "delete", Resource: "namespaces", Effect: faults.Unavailable()},
			"fakecluster: the fault never fired: delete namespaces: Unavailable; no request matched"},
		{"another verb", faults.Fault{Verb: "update", Resource: definition, Namespace: "default", Name: "a", Effect: faults.Conflict()},
			"fakecluster: the fault never fired: update crontabs.stable.example.com in namespace default of a: Conflict; " +
				`no request matched; 1 request differs in one field only: the last has the Verb "get"`},
		{"too late", faults.Fault{Verb: "get", After: 3, Times: 2, Effect: faults.Unavailable()},
			"fakecluster: the fault never fired: get any resource: Unavailable (after 3 requests, at most 2 times); requests that matched: 1"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			v := &verdict{TB: t}
			t.Cleanup(func() { equal(t, "verdict", v.text, tt.text) }) // after the cluster has ended
			f := c.Fork(v)
			f.Inject(tt.fault)
			_, _ = inDefault(f).Get(t.Context(), "a", metav1.GetOptions{})
		})
	}
}

func TestFaultsOfAClusterWithoutATestAreErrors(t *testing.T) {
	c, err := fakecluster.New(fakecluster.InProcess())
	must(t, err)
	fails(t, "an unknown resource", c.Inject(faults.Fault{Resource: "pots", Latency: 1}).Err(),
		`the fault cannot be injected: there is no resource "pots"`)
	unfired := c.Inject(faults.Fault{Resource: "pods", Latency: time.Second})
	must(t, unfired.Err())
	unfired.Stop()
	fails(t, "close", c.Close(), `the fault cannot be injected: there is no resource "pots"`+"\n"+
		"the fault never fired: any verb of pods: latency of 1s; no request matched")
	fails(t, "close again", c.Close(), "<nil>")
}

func TestTheHistoryShowsFaults(t *testing.T) {
	c := defined(t, fakecluster.InProcess())
	before := len(c.Requests())
	c.Inject(faults.Fault{Verb: "create", Times: 1, Effect: faults.CutAfterCommit()})
	c.Inject(faults.Fault{Verb: "create", Times: 1, Effect: faults.Conflict()})
	slow := c.Inject(faults.Fault{Verb: "list", Latency: time.Millisecond})
	_, _ = inDefault(c).Create(t.Context(), cronTab("a"), metav1.CreateOptions{})
	revision := get(t, inDefault(c), "a").GetResourceVersion()
	_, _ = inDefault(c).Create(t.Context(), cronTab("b"), metav1.CreateOptions{})
	list(t, inDefault(c))
	slow.Stop()
	list(t, inDefault(c))
	var got []string
	for _, r := range c.Requests()[before:] {
		got = append(got, r.String())
	}
	equal(t, "requests", got, []string{
		"fakecluster.test create crontabs.stable.example.com in default: no answer, revision " + revision + " (fault: CutAfterCommit)",
		"fakecluster.test get crontabs.stable.example.com default/a: 200",
		"fakecluster.test create crontabs.stable.example.com in default: 409 Conflict: Operation cannot be fulfilled on crontabs.stable.example.com \"b\": " +
			"the object has been modified; please apply your changes to the latest version and try again (fault: Conflict)",
		"fakecluster.test list crontabs.stable.example.com in default: 200 (fault: latency of 1ms)",
		"fakecluster.test list crontabs.stable.example.com in default: 200",
	})
}

// A fault of a watch, or of a call of a webhook, is part of the request's history as well.
func TestTheHistoryNamesFaultsOfWatchesAndWebhooks(t *testing.T) {
	c := withHook(t, &hook{answer: allow}, fakecluster.InProcess())
	configure(t, c, hookConfiguration(t, c, validating, "strict", nil))
	var before int
	faultsOf := func(what string, want ...string) {
		t.Helper()
		var got []string
		for _, r := range c.Requests()[before:] {
			got = append(got, r.Fault)
		}
		equal(t, what, got, want)
		before = len(c.Requests())
	}
	before = len(c.Requests())
	for _, tt := range []struct {
		effect faults.Effect
		ends   bool
	}{{faults.DropWatch(0), true}, {faults.ExpireWatch(), true}, {faults.DelayWatch(time.Hour), false}} {
		w := watchFrom(t, c, "")
		fault := c.Inject(faults.Fault{Times: 1, Effect: tt.effect})
		if tt.ends {
			ended(t, w)
		}
		faultsOf("a watch", tt.effect.String())
		fault.Stop()
		w.Stop()
	}
	c.Inject(faults.Fault{Verb: "create", Times: 1, Latency: time.Millisecond})
	c.Inject(faults.Fault{Verb: "create", Times: 1, Effect: faults.FailWebhook("")})
	if err := dryRunCreate(t, inDefault(c), cronTab("a")); err == nil {
		t.Error("the webhook does not fail")
	}
	must(t, dryRunCreate(t, inDefault(c), cronTab("a")))
	faultsOf("creates", `latency of 1ms, FailWebhook("")`, "")
}

func TestAForkDoesNotInheritFaults(t *testing.T) {
	c := defined(t, fakecluster.InProcess())
	c.Inject(faults.Fault{Verb: "list", Effect: faults.Unavailable()})
	f := c.Fork(t)
	equal(t, "in the fork", names(list(t, inDefault(f))), []string{})
	f.Inject(faults.Fault{Verb: "list", Effect: faults.InternalError("of the fork")})
	_, err := inDefault(f).List(t.Context(), metav1.ListOptions{})
	fails(t, "in the fork", err, "Internal error occurred: of the fork")
	_, err = inDefault(c).List(t.Context(), metav1.ListOptions{})
	fails(t, "in the origin", err, "apiserver is shutting down")
}

func TestAFaultComesBeforeAuthorization(t *testing.T) {
	c := defined(t, fakecluster.InProcess())
	c.Inject(faults.Fault{User: "nobody", Times: 1, Effect: faults.Unavailable()})
	crontabs := dynamic.NewForConfigOrDie(c.ConfigFor("nobody")).Resource(cronTabs).Namespace("default")
	_, err := crontabs.List(t.Context(), metav1.ListOptions{})
	fails(t, "struck", err, "apiserver is shutting down")
	_, err = crontabs.List(t.Context(), metav1.ListOptions{})
	fails(t, "not struck", err, `crontabs.stable.example.com is forbidden: User "nobody" cannot list resource "crontabs" in API group "stable.example.com" in the namespace "default"`)
}

// client-go repeats what is answered with Retry-After; in a bubble that takes no real time.
func TestTooManyRequestsSayWhenToComeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := defined(t, fakecluster.InProcess())
		fault := c.Inject(faults.Fault{Verb: "list", Times: 3, Effect: faults.TooManyRequests(7 * time.Second)})
		began := time.Now()
		list(t, inDefault(c))
		equal(t, "time and requests", []any{time.Since(began), fault.Fired()}, []any{21 * time.Second, 3})
	})
}

// A read that is answered from the present has not been struck: the fault waits for one that is not.
func TestAFaultDoesNotApplyToAReadThatCannotBeStale(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	maps := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().ConfigMaps("default")
	if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	stale := c.Inject(faults.Fault{Resource: "configmaps", Times: 1, Effect: faults.StaleRead(1)})
	list, err := maps.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 0 {
		t.Fatalf("a stale list: %v, %v", list, err)
	}
	stale.Stop()
	stale = c.Inject(faults.Fault{Resource: "configmaps", Times: 1, Optional: true, Effect: faults.StaleRead(1)})
	if err := c.Compact(); err != nil {
		t.Fatal(err)
	}
	if list, err = maps.List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 1 || stale.Fired() != 0 {
		t.Errorf("after the history: %v, %v, fired %d", list.Items, err, stale.Fired())
	}
	if _, err := maps.List(t.Context(), metav1.ListOptions{ResourceVersion: "-1"}); err == nil || !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) {
		t.Errorf("a resourceVersion that is none: %v", err)
	}
}

// A fault answers a watch whose timeout cannot be read, too.
func TestAWatchWithoutAReadableTimeoutTimesOut(t *testing.T) {
	c := fakecluster.Start(t)
	c.Inject(faults.Fault{Verb: "watch", Resource: "configmaps", Effect: faults.Timeout()})
	err := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().RESTClient().Get().AbsPath("/api/v1/configmaps").
		Param("watch", "1").Param("timeout", "abc").Do(t.Context()).Error()
	if !apierrors.IsTimeout(err) {
		t.Errorf("%v", err)
	}
}
