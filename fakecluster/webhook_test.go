package fakecluster_test

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// hook is a webhook of version v1, with what it was sent.
type hook struct {
	answer func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse

	mu    sync.Mutex
	calls []*admissionv1.AdmissionRequest
}

func (h *hook) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	h.mu.Lock()
	h.calls = append(h.calls, review.Request)
	h.mu.Unlock()
	review.Response = h.answer(review.Request)
	review.Response.UID = review.Request.UID
	review.Request = nil
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

func allow(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	return &admissionv1.AdmissionResponse{Allowed: true}
}

// patch is the answer of a webhook that changes the object.
func patch(operations string) func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	return func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		kind := admissionv1.PatchTypeJSONPatch
		return &admissionv1.AdmissionResponse{Allowed: true, Patch: []byte(operations), PatchType: &kind}
	}
}

// withHook is a cluster that reaches a webhook as the service hook in the
// namespace default.
func withHook(t testing.TB, h http.Handler, opts ...fakecluster.Option) *fakecluster.Cluster {
	t.Helper()
	return defined(t, append(opts, fakecluster.WithService("default", "hook", 443, h))...)
}

// hookConfiguration returns a configuration of one of the two kinds. It has one webhook, which is
// called for every write of CronTabs.
func hookConfiguration(t testing.TB, c *fakecluster.Cluster, kind, name string, change func(*admissionregistrationv1.MutatingWebhook)) *unstructured.Unstructured {
	t.Helper()
	none := admissionregistrationv1.SideEffectClassNone
	w := admissionregistrationv1.MutatingWebhook{
		Name: name + ".example.com",
		ClientConfig: admissionregistrationv1.WebhookClientConfig{
			CABundle: c.CABundle(),
			Service:  &admissionregistrationv1.ServiceReference{Namespace: "default", Name: "hook"},
		},
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{"*"},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"crontabs", "crontabs/*"}},
		}},
		SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
	}
	if change != nil {
		change(&w)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Webhooks: []admissionregistrationv1.MutatingWebhook{w},
	})
	must(t, err)
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(admissionregistrationv1.SchemeGroupVersion.WithKind(kind))
	return u
}

const (
	mutating   = "MutatingWebhookConfiguration"
	validating = "ValidatingWebhookConfiguration"
)

// configure stores a configuration.
func configure(t testing.TB, c *fakecluster.Cluster, u *unstructured.Unstructured) {
	t.Helper()
	plural := map[string]string{mutating: "mutatingwebhookconfigurations", validating: "validatingwebhookconfigurations"}[u.GetKind()]
	_, err := c.Dynamic().Resource(admissionregistrationv1.SchemeGroupVersion.WithResource(plural)).Create(t.Context(), u, metav1.CreateOptions{})
	must(t, err)
}

func TestWebhooksWorkInABubbleAndAHangingOneEndsAtItsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hook{answer: patch(`[{"op":"add","path":"/metadata/labels","value":{"a":"b"}}]`)}
		var hang atomic.Bool
		c := withHook(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if hang.Load() {
				<-req.Context().Done()
				return
			}
			h.ServeHTTP(w, req)
		}), fakecluster.InProcess())
		seconds := int32(3)
		configure(t, c, hookConfiguration(t, c, mutating, "m", func(w *admissionregistrationv1.MutatingWebhook) { w.TimeoutSeconds = &seconds }))
		equal(t, "labels", create(t, inDefault(c), cronTab("a")).GetLabels(), map[string]string{"a": "b"})
		hang.Store(true)
		before := time.Now()
		_, err := inDefault(c).Create(t.Context(), cronTab("b"), metav1.CreateOptions{})
		fails(t, "create", err, `Internal error occurred: failed calling webhook "m.example.com": failed to call webhook: `+
			`Post "https://hook.default.svc:443/?timeout=3s": context deadline exceeded`)
		equal(t, "time it took", time.Since(before), 3*time.Second)
		equal(t, "objects", names(list(t, inDefault(c))), []string{"a"})
		hang.Store(false)
		fork := c.Fork(t)
		equal(t, "labels in a fork", create(t, inDefault(fork), cronTab("c")).GetLabels(), map[string]string{"a": "b"})
	})
}

func TestARequestEndsDespiteHangingIgnoredWebhooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := withHook(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { <-req.Context().Done() }), fakecluster.InProcess())
		ignore := admissionregistrationv1.Ignore
		for _, name := range []string{"a", "b", "c", "d"} {
			configure(t, c, hookConfiguration(t, c, mutating, name, func(w *admissionregistrationv1.MutatingWebhook) { w.FailurePolicy = &ignore }))
		}
		began := time.Now()
		_, err := inDefault(c).Create(t.Context(), cronTab("a"), metav1.CreateOptions{})
		fails(t, "create", err, "Timeout: request did not complete within requested timeout - context deadline exceeded")
		equal(t, "it is so", apierrors.IsTimeout(err), true)
		equal(t, "time it took", time.Since(began), 34*time.Second)

		began = time.Now()
		body, err := cronTab("b").MarshalJSON()
		must(t, err)
		err = c.Discovery().RESTClient().Post().AbsPath("/apis/stable.example.com/v1/namespaces/default/crontabs").
			Param("timeout", "3s").SetHeader("Content-Type", "application/json").Body(body).Do(t.Context()).Error()
		fails(t, "create with a timeout", err, "the server was unable to return a response in the time allotted, but may still be processing the request")
		equal(t, "it is so", apierrors.IsTimeout(err), true)
		equal(t, "time it took", time.Since(began), 3*time.Second)
		equal(t, "objects", len(list(t, inDefault(c)).Items), 0)
	})
}

func TestHostileWebhooksLeaveNothingBehind(t *testing.T) {
	var answer atomic.Value
	answer.Store(allow)
	c := withHook(t, &hook{answer: func(r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		return answer.Load().(func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse)(r)
	}}, fakecluster.InProcess())
	configure(t, c, hookConfiguration(t, c, mutating, "m", nil))
	mine := create(t, inDefault(c), cronTab("mine"))
	large := strings.Repeat("x", 1600<<10)
	deep := strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000)
	for rule, one := range map[string]struct {
		answer  func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse
		message string
	}{
		"an object above the limit": {patch(`[{"op":"add","path":"/spec/image","value":"` + large + `"}]`), "etcdserver: request is too large"},
		"a deep object":             {patch(`[{"op":"add","path":"/spec/image","value":` + deep + `}]`), ""},
		"a patch that copies without end": {patch(`[{"op":"add","path":"/spec/image","value":"` + strings.Repeat("x", 1<<20) + `"}` +
			strings.Repeat(`,{"op":"copy","from":"/spec/image","path":"/spec/cronSpec"}`, 100) + `]`), ""},
		"metadata of another type": {patch(`[{"op":"replace","path":"/metadata","value":7}]`), ""},
		"another kind":             {patch(`[{"op":"replace","path":"/kind","value":"Other"}]`), ""},
		"another namespace": {patch(`[{"op":"replace","path":"/metadata/namespace","value":"kube-system"}]`),
			"the namespace of the provided object does not match the namespace sent on the request"},
		"another uid, version and name": {patch(`[{"op":"add","path":"/metadata/uid","value":"1"},{"op":"add","path":"/metadata/resourceVersion","value":"1"},` +
			`{"op":"replace","path":"/metadata/name","value":"renamed"}]`), ""},
		"no object at all": {patch(`[{"op":"replace","path":"","value":null}]`), ""},
	} {
		answer.Store(one.answer)
		for operation, err := range map[string]error{
			"create": func() error {
				_, err := inDefault(c).Create(t.Context(), cronTab("other"), metav1.CreateOptions{})
				return err
			}(),
			"update": func() error {
				_, err := inDefault(c).Update(t.Context(), mine, metav1.UpdateOptions{})
				return err
			}(),
		} {
			var status *apierrors.StatusError
			if !errors.As(err, &status) || status.ErrStatus.Code < 400 {
				t.Errorf("%s: %s: %v", rule, operation, err)
			}
			if one.message != "" {
				fails(t, rule, err, one.message)
			}
		}
		answer.Store(allow)
		equal(t, rule, list(t, c.Dynamic().Resource(cronTabs)).Items, []unstructured.Unstructured{*mine})
	}
}

func TestConnectionsToWebhooksEndWithTheCluster(t *testing.T) {
	closed := make(chan struct{})
	server := httptest.NewUnstartedServer(&hook{answer: allow})
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			close(closed)
		}
	}
	server.StartTLS()
	defer server.Close()
	c := defined(t)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	configure(t, c, hookConfiguration(t, c, validating, "v", func(w *admissionregistrationv1.MutatingWebhook) {
		w.ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: &server.URL, CABundle: ca}
	}))
	create(t, inDefault(c), cronTab("a"))
	create(t, inDefault(c), cronTab("b")) // by the same connection, or it would be closed twice
	must(t, c.Close())
	<-closed
}

func TestConfigurationsAreAppliedByAForkWithoutBeingStoredAgain(t *testing.T) {
	c := withHook(t, &hook{answer: func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		return &admissionv1.AdmissionResponse{}
	}}, fakecluster.InProcess())
	configure(t, c, hookConfiguration(t, c, validating, "v", nil))
	const refusal = `admission webhook "v.example.com" denied the request without explanation`
	fork := c.Fork(t)
	configurations := admissionregistrationv1.SchemeGroupVersion.WithResource("validatingwebhookconfigurations")
	must(t, fork.Dynamic().Resource(configurations).Delete(t.Context(), "v", metav1.DeleteOptions{}))
	create(t, inDefault(fork), cronTab("a"))
	_, err := inDefault(c).Create(t.Context(), cronTab("a"), metav1.CreateOptions{})
	fails(t, "create where it still stands", err, refusal)
	again := c.Fork(t)
	must(t, c.Close())
	_, err = inDefault(again).Create(t.Context(), cronTab("a"), metav1.CreateOptions{})
	fails(t, "create in a fork that outlives its cluster", err, refusal)
}
