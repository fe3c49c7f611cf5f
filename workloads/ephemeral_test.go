package workloads_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/workloads"
)

// TestAnEphemeralContainerRuns adds one to a running pod, as kubectl debug does, and reads its log.
func TestAnEphemeralContainerRuns(t *testing.T) {
	debug := func(_ context.Context, c *workloads.Container) error {
		fmt.Fprintf(c.Stdout, "debugging %s with %v\n", c.Pod.Name, c.Args)
		return nil
	}
	inBubble(t, func(w world) {
		w.createPod("web", webSpec)
		w.pass(3 * time.Second)
		pods := w.client.CoreV1().Pods("default")
		pod, err := pods.Get(w.Context(), "web", metav1.GetOptions{})
		if err != nil {
			w.Fatal(err)
		}
		pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
			Name: "debugger", Image: "debug", Args: []string{"-v"}, TerminationMessagePolicy: corev1.TerminationMessageReadFile,
		}}}
		if _, err := pods.UpdateEphemeralContainers(w.Context(), "web", pod, metav1.UpdateOptions{}); err != nil {
			w.Fatal(err)
		}
		w.pass(3 * time.Second)
		equal(w.T, "the log", w.log("web", corev1.PodLogOptions{Container: "debugger"}), "debugging web with [-v]\n")
		if pod, err = pods.Get(w.Context(), "web", metav1.GetOptions{}); err != nil {
			w.Fatal(err)
		}
		if s := pod.Status.EphemeralContainerStatuses; len(s) != 1 || s[0].State.Terminated == nil || s[0].State.Terminated.ExitCode != 0 {
			t.Errorf("the statuses are %v", s)
		}
		equal(w.T, "the pod", string(pod.Status.Phase), "Running")
	}, workloads.Nodes(1), workloads.Image("app", greet), workloads.Image("debug", debug))
}
