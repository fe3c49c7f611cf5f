package workloads_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fakecluster/fakecluster/workloads"
)

// TestAJobThatReplacesOnlyFailedPods proves that a Job with podReplacementPolicy Failed shows a Pod that is slow to end as terminating, and creates
// the next one only after it has failed.
func TestAJobThatReplacesOnlyFailedPods(t *testing.T) {
	inBubble(t, func(w world) {
		w.post(`
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  podReplacementPolicy: Failed
  backoffLimit: 1
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: c
        image: busybox
        command:
        - /bin/sh
        - -c
        - |
          _term(){
            sleep 5
            exit 143
          }
          trap _term SIGTERM
          while true; do
            sleep 1
          done
`)
		status := func() string {
			var counts []string
			for _, name := range []string{"active", "terminating", "failed"} {
				counts = append(counts, name+" "+field(w.object("jobs", "train"), "status."+name))
			}
			return strings.Join(counts, ", ")
		}
		w.pass(10 * time.Second)
		equal(w.T, "a Pod runs", status(), "active 1, terminating 0, failed ")
		w.end(w.list("pods")[0].GetName())
		w.pass(4 * time.Second)
		equal(w.T, "the Pod ends", status(), "active , terminating 1, failed ")
		w.pass(4 * time.Second)
		equal(w.T, "the Pod has ended", status(), "active , terminating 0, failed 1")
		w.pass(15 * time.Second)
		equal(w.T, "after the back-off", status(), "active 1, terminating 0, failed 1")
	}, workloads.Nodes(1))
}

// TestReadinessOfASidecarWhileItsPodEnds proves that the Pod of a sidecar is not ready as soon as its probe fails between SIGTERM and its end, and
// that a liveness probe which fails then has no effect.
func TestReadinessOfASidecarWhileItsPodEnds(t *testing.T) {
	inBubble(t, func(w world) {
		w.createPod("app", `
terminationGracePeriodSeconds: 30
initContainers:
- name: sidecar
  image: busybox
  restartPolicy: Always
  command: [/bin/sh]
  args:
  - -c
  - |
    _term() {
      rm -f /tmp/ready
      rm -f /tmp/liveness
      sleep 20
      exit 0
    }
    trap _term SIGTERM

    touch /tmp/ready
    touch /tmp/liveness

    while true; do
      echo "hello"
      sleep 10
    done
  readinessProbe: {exec: {command: [cat, /tmp/ready]}, failureThreshold: 1, initialDelaySeconds: 5, periodSeconds: 2}
  livenessProbe: {exec: {command: [cat, /tmp/liveness]}, failureThreshold: 1, initialDelaySeconds: 5, periodSeconds: 1}
containers: [{name: main, image: web}]
`)
		w.pass(15 * time.Second)
		equal(w.T, "Ready before the end", condition(w.object("pods", "app"), "Ready"), "True")
		w.end("app")
		// The script handles SIGTERM after the sleep of the moment, which takes up to ten seconds.
		w.pass(13 * time.Second)
		pod := w.object("pods", "app")
		equal(w.T, "Ready while the sidecar ends", condition(pod, "Ready"), "False ContainersNotReady")
		statuses, _, _ := unstructured.NestedSlice(pod.Object, "status", "initContainerStatuses")
		sidecar := &unstructured.Unstructured{Object: statuses[0].(map[string]any)}
		equal(w.T, "the status of the sidecar", field(sidecar, "ready")+" "+field(sidecar, "state"), "false running:\n  startedAt: \"2000-01-01T00:00:00Z\"")
		w.pass(30 * time.Second)
		if w.find("pods", "app") != nil {
			w.Error("the Pod is there after its grace period")
		}
		w.isLogged("app", "Unhealthy: Readiness probe failed: cat: /tmp/ready: No such file or directory\n")
		// A kubelet probes liveness once more, and does nothing about it.
		w.isLogged("app", "Unhealthy: Liveness probe failed: cat: /tmp/liveness: No such file or directory\n")
		for _, event := range w.events("app") {
			if strings.Contains(event, "failed liveness probe") {
				w.Error(event)
			}
		}
	}, workloads.Nodes(1))
}
