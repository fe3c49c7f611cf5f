package workloads_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fakecluster/fakecluster/workloads"
)

const autoscaled = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: nginx, resources: {requests: {cpu: 100m, memory: 100Mi}}}]}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 2
`

// TestAutoscalingByCPU proves that replicas follow what Pods use: up at once, and down when nothing else has been recommended for five
// minutes.
func TestAutoscalingByCPU(t *testing.T) {
	inBubble(t, func(w world) {
		w.create(autoscaled + "  maxReplicas: 8\n  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]\n")
		check := func(replicas, when string) {
			w.Helper()
			if got := field(w.object("deployments.apps", "web"), "spec.replicas"); got != replicas {
				w.Errorf("%s there are %s replicas instead of %s", when, got, replicas)
			}
		}
		autoscaler := func(kind string) string {
			return condition(w.object("horizontalpodautoscalers.autoscaling", "web"), kind)
		}
		w.pass(6 * time.Minute) // until then the autoscaler remembers that there have been two
		check("2", "at rest")
		for kind, want := range map[string]string{"ScalingActive": "True ValidMetricFound", "ScalingLimited": "True TooFewReplicas", "AbleToScale": "True ReadyForNewScale"} {
			if got := autoscaler(kind); got != want {
				w.Errorf("at rest the condition %s is %q instead of %q", kind, got, want)
			}
		}

		w.load("high")
		w.pass(16 * time.Second)
		check("4", "after the load has begun")
		w.isLogged("web", "SuccessfulRescale: New size: 4; reason: cpu resource utilization (percentage of request) above target")
		w.pass(time.Minute)
		check("5", "a minute after the load has begun") // of which two use 100m and three use 20m: 52 %
		if got := autoscaler("ScalingLimited"); got != "False DesiredWithinRange" {
			w.Errorf("under load the condition ScalingLimited is %q", got)
		}

		w.load("")
		w.pass(4 * time.Minute)
		check("5", "four minutes after the load has ended")
		if got := autoscaler("AbleToScale"); got != "True ScaleDownStabilized" {
			w.Errorf("after the load the condition AbleToScale is %q", got)
		}
		w.pass(2 * time.Minute)
		check("2", "six minutes after the load has ended")
		w.isLogged("web", "SuccessfulRescale: New size: 2; reason: All metrics below target")
	}, workloads.Nodes(2), workloads.Behaviors(
		using(map[string]string{"load": "high"}, "100m", "64Mi"),
		using(map[string]string{"app": "web"}, "20m", "64Mi"),
	))
}

// load sets or removes the label load of all Pods.
func (w world) load(value string) {
	w.Helper()
	patch := `{"metadata":{"labels":{"load":null}}}`
	if value != "" {
		patch = `{"metadata":{"labels":{"load":"` + value + `"}}}`
	}
	for _, p := range w.list("pods") {
		if _, err := w.client.CoreV1().Pods(p.GetNamespace()).Patch(w.Context(), p.GetName(), types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			w.Fatal(err)
		}
	}
}

func TestAutoscalingByMemory(t *testing.T) {
	inBubble(t, func(w world) {
		w.create(autoscaled + "  maxReplicas: 5\n  metrics: [{type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 100Mi}}}]\n")
		w.pass(2 * time.Minute)
		if got := field(w.object("deployments.apps", "web"), "status.readyReplicas"); got != "5" {
			w.Errorf("%s replicas are ready", got)
		}
		if got := condition(w.object("horizontalpodautoscalers.autoscaling", "web"), "ScalingLimited"); got != "True TooManyReplicas" {
			w.Errorf("the condition ScalingLimited is %q", got)
		}
		w.isLogged("web", "SuccessfulRescale: New size: 5; reason: memory resource above target")
	}, workloads.Nodes(2), workloads.Behaviors(using(nil, "0", "250Mi")))
}
