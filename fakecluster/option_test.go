package fakecluster_test

import (
	"fmt"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/kubernetes"
	clientrest "k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// doomed is a test that is expected to fail.
type doomed struct {
	testing.TB
	helpers int
	message string
}

func (d *doomed) Helper() { d.helpers++ }

func (d *doomed) Fatalf(format string, args ...any) {
	d.message = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// fatal returns the message with which a call fails its test. It is empty if the call does not.
func fatal(t testing.TB, call func(testing.TB)) string {
	d := &doomed{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		call(d)
	}()
	<-done
	if d.message != "" && d.helpers == 0 {
		t.Error("the failure is not attributed to the caller")
	}
	return d.message
}

// refused returns the error of a New that has to fail.
func refused(t testing.TB, opts ...fakecluster.Option) string {
	t.Helper()
	c, err := fakecluster.New(opts...)
	if err == nil {
		c.Close()
		t.Error("the cluster has started")
		return ""
	}
	return err.Error()
}

func TestStartFailsTheTestWithTheReason(t *testing.T) {
	got := fatal(t, func(t testing.TB) { fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithTLS()) })
	equal(t, "message", got, "fakecluster: InProcess and WithTLS exclude each other: without a socket there is nothing to encrypt; leave one of them out")
	got = fatal(t, func(t testing.TB) { fakecluster.Start(t, fakecluster.WithCRDPaths("nowhere")) })
	equal(t, "message", got, "fakecluster: CRD path: stat nowhere: no such file or directory")
}

func TestContradictoryOrInvalidOptionsAreRefused(t *testing.T) {
	for rule, opts := range map[string][]fakecluster.Option{
		"InProcess and WithTLS exclude each other: without a socket there is nothing to encrypt; leave one of them out": {fakecluster.WithTLS(), fakecluster.InProcess()},
		"opening the store: store options: the history cannot be negative: {HistoryRevisions:-1 HistoryBytes:0}": {
			fakecluster.WithWatchHistory(-1, 0)},
		"opening the store: store options: the history cannot be negative: {HistoryRevisions:0 HistoryBytes:-1}": {
			fakecluster.WithWatchHistory(0, -1)},
		"WithSeed is given 2 times; give it once":                        {fakecluster.WithSeed(1), fakecluster.WithSeed(1)},
		"WithControllers is given 3 times; give it once":                 {fakecluster.WithControllers(), fakecluster.WithControllers(), fakecluster.WithControllers()},
		"WithAuthorization is given 2 times; give it once":               {fakecluster.WithAuthorization(fakecluster.RBAC), fakecluster.WithAuthorization(fakecluster.AlwaysAllow)},
		"WithClock: the function is nil":                                 {fakecluster.WithClock(nil)},
		"WithMiddleware: the function is nil":                            {fakecluster.WithMiddleware(nil)},
		"WithMiddleware: the function returned nil instead of a handler": {fakecluster.WithMiddleware(func(http.Handler) http.Handler { return nil })},
	} {
		equal(t, "error", refused(t, opts...), rule)
	}
}

func TestWithTLSSpeaksHTTP2AndTheDefaultHTTP1(t *testing.T) {
	for _, c := range []struct {
		name, scheme, protocol string
		options                []fakecluster.Option
	}{
		{"default", "http://127.0.0.1:", "HTTP/1.1", nil},
		{"WithTLS", "https://127.0.0.1:", "HTTP/2.0", []fakecluster.Option{fakecluster.WithTLS()}},
		{"InProcess", "http://fakecluster.invalid", "HTTP/1.1", []fakecluster.Option{fakecluster.InProcess()}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster := fakecluster.Start(t, c.options...)
			if !strings.HasPrefix(cluster.URL(), c.scheme) {
				t.Errorf("URL %s, want %s…", cluster.URL(), c.scheme)
			}
			cfg := cluster.RESTConfig()
			equal(t, "host", cfg.Host, cluster.URL())
			client, err := clientrest.HTTPClientFor(cfg)
			must(t, err)
			resp, err := client.Get(cluster.URL() + "/version")
			must(t, err)
			resp.Body.Close()
			equal(t, "answer", []any{resp.StatusCode, resp.Proto}, []any{http.StatusOK, c.protocol})
			client.CloseIdleConnections()
		})
	}
}

// A client that is offered HTTP/2 and does not get it waits for ever.
func TestGODEBUGDoesNotTakeHTTP2Away(t *testing.T) {
	t.Setenv("GODEBUG", "http2server=0")
	cfg := fakecluster.Start(t, fakecluster.WithTLS()).RESTConfig()
	client, err := clientrest.HTTPClientFor(cfg)
	must(t, err)
	client.Timeout = 30 * time.Second
	resp, err := client.Get(cfg.Host + "/version")
	must(t, err)
	resp.Body.Close()
	equal(t, "protocol", resp.Proto, "HTTP/2.0")
	client.CloseIdleConnections()
}

func TestRESTConfigIsAFreshCopy(t *testing.T) {
	c := fakecluster.Start(t)
	mine := c.RESTConfig()
	mine.BearerToken, mine.Host, mine.QPS = "", "", 1
	cfg := c.RESTConfig()
	equal(t, "QPS", cfg.QPS, float32(-1))
	equal(t, "host", cfg.Host, c.URL())
	equal(t, "has a token", cfg.BearerToken != "", true)
}

func TestWithSeedRepeatsUIDsAndGeneratedNames(t *testing.T) {
	play := func(opts ...fakecluster.Option) (made []string) {
		c := defined(t, append(opts, fakecluster.InProcess())...)
		made = append(made, string(getDefinition(t, c, definition).UID))
		for range 3 {
			u := cronTab("")
			u.SetGenerateName("cron-")
			u = create(t, inDefault(c), u)
			made = append(made, string(u.GetUID()), u.GetName())
			if len(u.GetName()) != len("cron-")+5 || !strings.HasPrefix(u.GetName(), "cron-") {
				t.Errorf("generated name %q", u.GetName())
			}
		}
		return made
	}
	same := play(fakecluster.WithSeed(7))
	equal(t, "the same seed", play(fakecluster.WithSeed(7)), same)
	random := play()
	for rule, others := range map[string][]string{
		"another seed": play(fakecluster.WithSeed(8)), "seed 0": play(fakecluster.WithSeed(0)), "no seed": random,
	} {
		for i := range others {
			if others[i] == same[i] {
				t.Errorf("%s gives %q again", rule, same[i])
			}
		}
	}
	for i, again := range play() {
		if again == random[i] {
			t.Errorf("without a seed %q comes twice", again)
		}
	}
}

func TestWithoutNamespaceLifecycleNamespacesNeedNotExist(t *testing.T) {
	elsewhere := func(c *fakecluster.Cluster) error {
		u := cronTab("a")
		u.SetNamespace("nowhere")
		_, err := c.Dynamic().Resource(cronTabs).Namespace("nowhere").Create(t.Context(), u, metav1.CreateOptions{})
		return err
	}
	err := elsewhere(defined(t, fakecluster.InProcess()))
	fails(t, "by default", err, `namespaces "nowhere" not found`)
	equal(t, "it is so", apierrors.IsNotFound(err), true)

	c := defined(t, fakecluster.InProcess(), fakecluster.WithoutNamespaceLifecycle())
	must(t, elsewhere(c))
	equal(t, "objects", names(list(t, c.Dynamic().Resource(cronTabs).Namespace("nowhere"))), []string{"a"})
}

func TestAdmissionPluginsAreTurnedOnAndOff(t *testing.T) {
	create := func(opts ...fakecluster.Option) *corev1.Pod {
		c := fakecluster.Start(t, append(opts, fakecluster.InProcess())...)
		pods := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().Pods("default")
		pod, err := pods.Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "a"},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		}, metav1.CreateOptions{})
		must(t, err)
		return pod
	}
	pod := create()
	equal(t, "tolerations by default", len(pod.Spec.Tolerations), 2)
	equal(t, "priority by default", *pod.Spec.Priority, int32(0))

	pod = create(fakecluster.WithoutAdmissionPlugins("DefaultTolerationSeconds"))
	equal(t, "tolerations without the plugin", len(pod.Spec.Tolerations), 0)
	equal(t, "priority without another plugin", *pod.Spec.Priority, int32(0))

	pod = create(fakecluster.WithAdmissionPlugins("AlwaysPullImages"))
	equal(t, "pull policy with a plugin", pod.Spec.Containers[0].ImagePullPolicy, corev1.PullAlways)
	equal(t, "priority beside another plugin", *pod.Spec.Priority, int32(0))

	_, err := fakecluster.New(fakecluster.WithAdmissionPlugins("ImagePolicyWebhook"))
	fails(t, "a plugin that needs a file", err, `starting the server: couldn't init admission plugin "ImagePolicyWebhook": no config specified`)
	_, err = fakecluster.New(fakecluster.WithAdmissionPlugins("LimitRanger"), fakecluster.WithoutAdmissionPlugins("LimitRanger"))
	fails(t, "a plugin that is on and off", err, `starting the server: [LimitRanger] in enable-admission-plugins and disable-admission-plugins overlapped`)
	_, err = fakecluster.New(fakecluster.WithoutAdmissionPlugins("Guard"))
	fails(t, "an unknown plugin", err, `starting the server: disable-admission-plugins plugin "Guard" is unknown`)
}

// The plugins of a fork look into the fork, and those of its origin into the origin.
func TestAdmissionPluginsOfAForkLookIntoTheFork(t *testing.T) {
	origin := fakecluster.Start(t, fakecluster.InProcess())
	limits := func(c *fakecluster.Cluster, name string) int {
		pod, err := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		}, metav1.CreateOptions{})
		must(t, err)
		return len(pod.Spec.Containers[0].Resources.Limits)
	}
	equal(t, "limits before", limits(origin, "before"), 0)
	fork := origin.Fork(t)
	_, err := kubernetes.NewForConfigOrDie(fork.RESTConfig()).CoreV1().LimitRanges("default").Create(t.Context(), &corev1.LimitRange{
		ObjectMeta: metav1.ObjectMeta{Name: "l"},
		Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
			Type: corev1.LimitTypeContainer, Default: corev1.ResourceList{"cpu": resource.MustParse("1")},
		}}},
	}, metav1.CreateOptions{})
	must(t, err)
	equal(t, "limits in the fork", limits(fork, "after"), 1)
	equal(t, "limits in its origin", limits(origin, "after"), 0)
}

func TestWithWatchHistoryBoundsHowFarAWatchGoesBack(t *testing.T) {
	play := func(opts ...fakecluster.Option) (r int, w watch.Interface) {
		c := defined(t, append(opts, fakecluster.InProcess())...)
		r = revision(t, list(t, inDefault(c)))
		for i := range 6 {
			create(t, inDefault(c), cronTab(fmt.Sprint("cron-", i)))
		}
		w, err := inDefault(c).Watch(t.Context(), metav1.ListOptions{ResourceVersion: strconv.Itoa(r)})
		must(t, err)
		t.Cleanup(w.Stop)
		return r, w
	}
	for rule, opts := range map[string][]fakecluster.Option{
		"by default": nil, "with enough revisions": {fakecluster.WithWatchHistory(6, 0)}, "zero is the default": {fakecluster.WithWatchHistory(0, 0)},
	} {
		r, w := play(opts...)
		events := next(t, w, 6)
		equal(t, rule, events[0], event{watch.Added, stored("cron-0", "my-awesome-cron-image", 1, r+1)})
		equal(t, rule, events[5], event{watch.Added, stored("cron-5", "my-awesome-cron-image", 1, r+6)})
	}

	r, w := play(fakecluster.WithWatchHistory(5, 0))
	e := <-w.ResultChan()
	equal(t, "with one revision too few", e, watch.Event{Type: watch.Error, Object: &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired,
		Message: fmt.Sprintf("too old resource version: %d (%d)", r, r+1),
	}})
	equal(t, "then", len(ended(t, w)), 0)

	_, w = play(fakecluster.WithWatchHistory(0, 1)) // the newest revision is always kept
	e = <-w.ResultChan()
	equal(t, "with hardly any bytes", e.Type, watch.Error)
	ended(t, w)
}

// tenant is a kind of an operator's own API.
type tenant struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Replicas int64 `json:"replicas"`
	} `json:"spec"`
}

func (t *tenant) DeepCopyObject() k8sruntime.Object { c := *t; return &c }

func TestWithSchemeHasTheKindsOfTypedObjects(t *testing.T) {
	widget := &tenant{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	widget.Spec.Replicas = 3
	scheme := k8sruntime.NewScheme()
	scheme.AddKnownTypeWithName(cronTab("a").GroupVersionKind(), &tenant{})
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithScheme(scheme),
		fakecluster.WithObjects(cronTabDefinition(), widget, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "b"}}))
	got, err := inDefault(c).Get(t.Context(), "a", metav1.GetOptions{})
	must(t, err)
	replicas, _, err := unstructured.NestedInt64(got.Object, "spec", "replicas")
	must(t, err)
	equal(t, "replicas", replicas, int64(3))
	equal(t, "the object of the test has no kind still", widget.Kind, "")

	if got := refused(t, fakecluster.WithObjects(cronTabDefinition(), widget)); !strings.Contains(got, "object 1: the kind of *fakecluster_test.tenant is unknown: no kind is registered for the type") {
		t.Errorf("without the scheme: %s", got)
	}
}

func TestWithClockStampsWithTheTestsTime(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithClock(func() time.Time { return now }), fakecluster.WithAudit(auditv1.LevelMetadata))
	fork := c.Fork(t)
	client := kubernetes.NewForConfigOrDie(fork.RESTConfig())
	made, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"a": "b"}}, metav1.CreateOptions{})
	must(t, err)
	equal(t, "created", made.CreationTimestamp.UTC(), now)
	equal(t, "managed", made.ManagedFields[0].Time.UTC(), now)
	events := fork.Audit()
	equal(t, "events", len(events), 1)
	equal(t, "event", events[0].StageTimestamp.UTC(), now)
	namespace, err := client.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{})
	must(t, err)
	equal(t, "what there is from the start", namespace.CreationTimestamp.UTC(), now)
}

// Times that objects cannot have are refused at the start and later, and those that they can have are stored and read.
func TestAClockReturnsTimesThatObjectsCanHave(t *testing.T) {
	year := func(y int) time.Time { return time.Date(y, 12, 31, 23, 59, 59, 0, time.UTC) }
	const outside = " is outside of the years 0 to 9999, which the times of objects have to be in"
	wrong := map[time.Time]string{
		year(10000): "10000-12-31T23:59:59Z" + outside, year(-1): "-0001-12-31T23:59:59Z" + outside, year(292277022399): "292277022399-12-31T23:59:59Z" + outside,
		time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("west", -7200)): "10000-01-01T01:00:00Z" + outside,
		time.Time{}.Add(time.Millisecond):                                   "the zero time.Time cannot be the time of objects: it means that no time is set",
	}
	now := year(2030)
	var mu sync.Mutex
	set := func(to time.Time) { mu.Lock(); now = to; mu.Unlock() }
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithClock(clock), fakecluster.WithAudit(auditv1.LevelMetadata))
	for _, c := range []*fakecluster.Cluster{c, c.Fork(t)} {
		configMaps := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().ConfigMaps("default")
		for now, want := range wrong {
			equal(t, "start", refused(t, fakecluster.WithClock(func() time.Time { return now })), "WithClock: "+want)
			set(now)
			_, err := configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
			if !apierrors.IsInternalError(err) || err.Error() != "Internal error occurred: the clock of the cluster: "+want {
				t.Errorf("%s: %v", now, err)
			}
		}
		for _, y := range []int{0, 1, 9999} {
			set(year(y))
			_, err := configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("of-", y)}}, metav1.CreateOptions{})
			must(t, err)
			got, err := configMaps.Get(t.Context(), fmt.Sprint("of-", y), metav1.GetOptions{})
			must(t, err)
			equal(t, "created", got.CreationTimestamp.UTC(), year(y))
		}
	}
}
