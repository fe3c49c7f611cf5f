//go:build unix && go1.25

package benchmarks

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/remote"
	"github.com/fakecluster/fakecluster/workloads"
)

// door is a way in which a test in a bubble gets a cluster.
type door struct {
	name string
	// start makes a cluster with as many Nodes, and returns a client, the bundle of its certificates, and a function that forks it. The handler of
	// each request to the Service default/hook may be nil.
	start func(t *testing.T, nodes int, hook http.Handler) (kubernetes.Interface, []byte, func())
}

// doors are the library and module remote.
var doors = []door{
	{"in-process", func(t *testing.T, nodes int, hook http.Handler) (kubernetes.Interface, []byte, func()) {
		options := []fakecluster.Option{fakecluster.InProcess()}
		if hook != nil {
			options = append(options, fakecluster.WithService("default", "hook", 443, hook))
		}
		c := fakecluster.Start(t, options...)
		if nodes > 0 {
			workloads.Run(t, c, workloads.Nodes(nodes))
		}
		return kubernetes.NewForConfigOrDie(c.RESTConfig()), c.CABundle(), func() { c.Fork(t) }
	}},
	{"remote", func(t *testing.T, nodes int, hook http.Handler) (kubernetes.Interface, []byte, func()) {
		var options []remote.Option
		if hook != nil {
			options = append(options, remote.Service("default", "hook", 443, hook))
		}
		if nodes > 0 {
			options = append(options, remote.Workloads(fmt.Sprintf("nodes: %d", nodes)))
		}
		c := remote.Start(t, options...)
		config := &rest.Config{Host: c.URL(), BearerToken: c.Token(), Transport: c.Transport(), QPS: -1}
		return kubernetes.NewForConfigOrDie(config), c.CABundle(), func() { c.Fork(t) }
	}},
}

// BenchmarkRemote measures a test in a bubble that has its cluster in process, and one that has it by module remote. The two take turns. A figure
// is the mean of an operation, in microseconds of real time.
func BenchmarkRemote(b *testing.B) {
	for _, o := range []struct {
		name  string
		times int
		nodes int
		hook  http.Handler
		do    func(t *testing.T, c kubernetes.Interface, i int)
	}{
		{"get", 1000, 0, nil, func(t *testing.T, c kubernetes.Interface, _ int) {
			_, err := c.CoreV1().ConfigMaps("default").Get(t.Context(), "first", metav1.GetOptions{})
			check(t, err)
		}},
		{"create", 1000, 0, nil, createConfigMap},
		{"create-with-a-webhook", 1000, 0, http.HandlerFunc(allow), createConfigMap},
		{"idle-hour", 1, 3, nil, func(*testing.T, kubernetes.Interface, int) { time.Sleep(time.Hour) }},
		{"idle-day", 1, 3, nil, func(*testing.T, kubernetes.Interface, int) { time.Sleep(24 * time.Hour) }},
		{"rollout-1x3-on-3", 1, 3, nil, func(t *testing.T, c kubernetes.Interface, _ int) { living{t, nil, c}.rollOut(1, 3) }},
		{"rollout-100x10-on-20", 1, 20, nil, func(t *testing.T, c kubernetes.Interface, _ int) { living{t, nil, c}.rollOut(100, 10) }},
	} {
		b.Run(o.name, func(b *testing.B) {
			inTurns(b, o.times, func(t *testing.T, d door, measure func(func())) {
				client, bundle, _ := d.start(t, o.nodes, o.hook)
				if o.hook != nil {
					_, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), callHook(bundle), metav1.CreateOptions{})
					check(t, err)
				}
				_, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("first"), metav1.CreateOptions{})
				check(t, err)
				measure(func() {
					for i := range o.times {
						o.do(t, client, i)
					}
				})
			})
		})
	}
	b.Run("start", func(b *testing.B) {
		inTurns(b, 1, func(t *testing.T, d door, measure func(func())) { measure(func() { d.start(t, 0, nil) }) })
	})
	b.Run("fork", func(b *testing.B) {
		inTurns(b, 1, func(t *testing.T, d door, measure func(func())) {
			_, _, fork := d.start(t, 0, nil)
			measure(fork)
		})
	})
}

// inTurns runs a part of a benchmark once for each door and turn, in a bubble of its own. The part does what it measures as often as times says.
func inTurns(b *testing.B, times int, part func(t *testing.T, d door, measure func(func()))) {
	remote.Start(b) // so that the host runs
	var measured [2]stopwatch
	for b.Loop() {
		for i, d := range doors {
			inBubble(b, func(t *testing.T) { part(t, d, measured[i].measure) })
		}
	}
	for i, d := range doors {
		b.ReportMetric(float64(measured[i].real.Nanoseconds())/1000/float64(measured[i].parts*times), d.name+"-µs")
	}
	b.ReportMetric(0, "ns/op") // the sum of both says nothing
}

func createConfigMap(t *testing.T, c kubernetes.Interface, i int) {
	_, err := c.CoreV1().ConfigMaps("default").Create(t.Context(), configMap(fmt.Sprint("map-", i)), metav1.CreateOptions{})
	check(t, err)
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"key": "value"}}
}

// callHook is a webhook for creates of ConfigMaps, which is the Service default/hook.
func callHook(bundle []byte) *admissionregistrationv1.ValidatingWebhookConfiguration {
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "hook"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "hook.example.com", AdmissionReviewVersions: []string{"v1"}, SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone),
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				CABundle: bundle, Service: &admissionregistrationv1.ServiceReference{Namespace: "default", Name: "hook"},
			},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
		}},
	}
}

// allow is a webhook that allows everything.
func allow(w http.ResponseWriter, req *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	review.Request = nil
	_ = json.NewEncoder(w).Encode(review)
}

// TestBothDoorsDoWhatIsMeasured proves that the webhook is called at both doors, and that a fork has what the cluster has.
func TestBothDoorsDoWhatIsMeasured(t *testing.T) {
	for _, d := range doors {
		t.Run(d.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				called := 0
				hook := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { called++; allow(w, req) })
				client, bundle, _ := d.start(t, 1, hook)
				_, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), callHook(bundle), metav1.CreateOptions{})
				check(t, err)
				createConfigMap(t, client, 0)
				living{t, nil, client}.rollOut(1, 1)
				if called != 1 {
					t.Errorf("the webhook was called %d times, want once", called)
				}
			})
		})
	}
}
