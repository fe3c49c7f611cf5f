package images_test

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/fakecluster/fakecluster/conformance/e2e/images"
	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads"
)

// TestSpecsBreakAndRestoreAReadinessProbe does what specs of StatefulSets do: they move the file away that a readiness probe
// asks for, and back.
func TestSpecsBreakAndRestoreAReadinessProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess())
		w := workloads.Run(t, c, append(images.Options(), workloads.Nodes(1), workloads.OnlyKnownImages())...)
		client := kubernetes.NewForConfigOrDie(c.RESTConfig())
		pods := client.CoreV1().Pods("default")
		if _, err := pods.Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "web"},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name: "webserver", Image: "registry.k8s.io/e2e-test-images/agnhost:2.1", Args: []string{"test-webserver"},
				ReadinessProbe: &corev1.Probe{
					ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/localhost.crt", Port: intstr.FromInt32(80)}},
					PeriodSeconds: 1, SuccessThreshold: 1, FailureThreshold: 1,
				},
			}}},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		exec := func(command string) string {
			t.Helper()
			url := client.CoreV1().RESTClient().Post().Resource("pods").Namespace("default").Name("web").SubResource("exec").
				VersionedParams(&corev1.PodExecOptions{Command: []string{"/bin/sh", "-x", "-c", command}, Stdout: true, Stderr: true}, scheme.ParameterCodec).URL()
			executor, err := w.NewSPDYExecutor(c.RESTConfig(), "POST", url)
			if err != nil {
				t.Fatal(err)
			}
			var out, errs bytes.Buffer
			if err := executor.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdout: &out, Stderr: &errs}); err != nil {
				t.Fatalf("%s: %v: %s", command, err, &errs)
			}
			return out.String()
		}
		ready := func(when string, want bool) {
			t.Helper()
			time.Sleep(5 * time.Second)
			pod, err := pods.Get(t.Context(), "web", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got := podutil.IsPodReady(pod); got != want {
				t.Errorf("%s the pod is ready: %t, want %t", when, got, want)
			}
		}
		ready("at first", true)
		if got, want := exec("mv -v /localhost.crt /tmp/ || true"), "'/localhost.crt' -> '/tmp/localhost.crt'\n"; got != want {
			t.Errorf("mv prints %q, want %q", got, want)
		}
		ready("without the file", false)
		if got, want := exec("mv -v /tmp/localhost.crt / || true"), "'/tmp/localhost.crt' -> '/localhost.crt'\n"; got != want {
			t.Errorf("mv prints %q, want %q", got, want)
		}
		ready("with the file again", true)
	})
}
