package pod_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/fakecluster/fakecluster/controllerruntime/pod"
	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads"
)

// run runs a Pod whose function is given, and lets it start.
func run(t *testing.T, function func(context.Context, *workloads.Container) error) *workloads.Workloads {
	t.Helper()
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithObjects(
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "app"},
			Spec: corev1.ServiceSpec{ClusterIP: "None", Selector: map[string]string{"app": "app"}, PublishNotReadyAddresses: true}}))
	w := workloads.Run(t, c, workloads.Nodes(1), workloads.Image("app", function))
	_, err := c.Clientset().CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "app", Labels: map[string]string{"app": "app"}},
		Spec:       corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "app", Image: "app"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(5 * time.Second)
	return w
}

// TestAManagerServesInItsPod: health probes and metrics, plain and by TLS, as the options say.
func TestAManagerServesInItsPod(t *testing.T) {
	for _, test := range []struct {
		name    string
		metrics metricsserver.Options
		url     string
	}{
		{"at the default port", metricsserver.Options{}, "http://app:8080"},
		{"with a certificate that nobody has given it", metricsserver.Options{BindAddress: ":8443", SecureServing: true}, "https://app:8443"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := run(t, func(ctx context.Context, p *workloads.Container) error {
					mgr, err := pod.NewManager(p, ctrl.Options{Metrics: test.metrics, HealthProbeBindAddress: ":8081"})
					if err != nil {
						return err
					}
					hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
					if err := errors.Join(
						mgr.AddHealthzCheck("ping", healthz.Ping),
						mgr.AddReadyzCheck("never", func(*http.Request) error { return errors.New("not today") }),
						mgr.AddMetricsServerExtraHandler("/hello", hello)); err != nil {
						return err
					}
					return mgr.Start(ctx)
				})
				client := w.HTTPClient()
				client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
				for _, request := range []struct{ url, want string }{
					{"http://app:8081/healthz", "200 OK: ok"},
					{"http://app:8081/healthz/ping", "200 OK: ok"},
					{"http://app:8081/readyz", "500 Internal Server Error: [-]never failed: reason withheld"},
					{test.url + "/hello", "200 OK: hello"},
					{test.url + "/metrics", "200 OK: # HELP "},
				} {
					response, err := client.Get(request.url)
					if err != nil {
						t.Errorf("%s: %v", request.url, err)
						continue
					}
					body, err := io.ReadAll(response.Body)
					if err := errors.Join(err, response.Body.Close()); err != nil {
						t.Error(err)
					}
					if got := response.Status + ": " + string(body); !strings.HasPrefix(got, request.want) {
						t.Errorf("%s: got %s, want %s", request.url, got, request.want)
					}
				}
			})
		})
	}
}

// TestErrorsOfOptions: what a manager cannot have in a Pod is an error, and so is what it cannot have anywhere.
func TestErrorsOfOptions(t *testing.T) {
	type otherServer struct{ webhook.Server }
	for _, test := range []struct {
		name    string
		options ctrl.Options
		want    string
	}{
		{"a profile", ctrl.Options{PprofBindAddress: ":6060"}, "PprofBindAddress: a profile would be that of the whole test; leave it empty in tests"},
		{"a webhook server of another type", ctrl.Options{WebhookServer: otherServer{}}, "WebhookServer is a pod_test.otherServer; make it with webhook.NewServer"},
		{"leader election without a name", ctrl.Options{LeaderElection: true}, "LeaderElectionID must be configured"},
		{"two servers at one port", ctrl.Options{HealthProbeBindAddress: ":8080"}, "the metrics: listen tcp :8080: bind: address already in use"},
		{"no certificate", ctrl.Options{Metrics: metricsserver.Options{BindAddress: "0"}}, "open /tmp/k8s-webhook-server/serving-certs/tls.crt: file does not exist"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got error
				run(t, func(ctx context.Context, p *workloads.Container) error {
					mgr, err := pod.NewManager(p, test.options)
					if err == nil {
						mgr.GetWebhookServer().Register("/hook", http.NotFoundHandler())
						err = mgr.Start(ctx)
					}
					got = err
					return nil
				})
				if got == nil || got.Error() != test.want {
					t.Errorf("the error is %v, want %s", got, test.want)
				}
			})
		})
	}
}
