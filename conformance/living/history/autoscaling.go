package history

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// autoscaling are histories of HorizontalPodAutoscalers, which look at what Pods use every 15 seconds. What a Pod uses counts
// when it has been ready for 15 seconds. The container of a Pod with the label load uses 150m and 150Mi, and otherwise 20m and 20Mi.
func autoscaling() []History {
	return []History{
		{Name: "an autoscaler follows the load of CPUs", Steps: []Step{
			worker(2), autoscaler("web", 2, 4, onCPU).until(scaled("web", 2, "averageValue", "20m")),
			load("web", "high").until(scaled("web", 4, "averageValue", "85m")), load("web", "").until(scaled("web", 2, "averageValue", "20m")),
		}},
		{Name: "an autoscaler follows the load of memory", Steps: []Step{
			worker(2), load("web", "high"), autoscaler("web", 1, 3, "[{type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 100Mi}}}]").until(scaled("web", 3, "averageValue", "111848106666m")),
		}},
		{Name: "an autoscaler follows the load of a container", Steps: []Step{
			worker(2), autoscaler("web", 1, 3, "[{type: ContainerResource, containerResource: {name: cpu, container: c, target: {type: Utilization, averageUtilization: 50}}}]").until(scaled("web", 1, "averageValue", "20m")),
		}},
		{Name: "an autoscaler of a StatefulSet", Steps: []Step{
			worker(1, func(o map[string]any) { o["kind"] = "StatefulSet" }, set("web", "spec", "serviceName")), load("web", "high"),
			autoscaler("web", 1, 2, onCPU, set("{apiVersion: apps/v1, kind: StatefulSet, name: web}", "spec", "scaleTargetRef")).until(scaled("web", 2, "averageValue", "85m")),
		}},
		{Name: "an autoscaler that may not scale down", Steps: []Step{
			worker(3), autoscaler("web", 1, 5, onCPU, set("{selectPolicy: Disabled}", "spec", "behavior", "scaleDown")).until(scaled("web", 3, "averageValue", "20m")),
		}},
		{Name: "an autoscaler waits before it scales down", Steps: []Step{
			worker(3), autoscaler("web", 1, 5, onCPU, set("{stabilizationWindowSeconds: 3600}", "spec", "behavior", "scaleDown")).until(scaled("web", 3, "averageValue", "20m")),
		}},
		{Name: "the limits of an autoscaler change", Steps: []Step{
			worker(2), autoscaler("web", 1, 3, onCPU).until(scaled("web", 1, "averageValue", "20m")),
			patch("HorizontalPodAutoscaler", "web", "{spec: {minReplicas: 3}}").until(scaled("web", 3, "averageValue", "20m")),
			patch("HorizontalPodAutoscaler", "web", "{spec: {minReplicas: 1, maxReplicas: 1}}").until(scaled("web", 1, "averageValue", "20m")),
		}},
		{Name: "an autoscaler is turned off by zero replicas", Steps: []Step{
			worker(0), autoscaler("web", 1, 3, onCPU).until(condition("HorizontalPodAutoscaler", "web", "ScalingActive", "False")),
		}},
		{Name: "an autoscaler of Pods without requests", Steps: []Step{
			worker(1, inPod("[{name: c, image: worker}]", "containers")), autoscaler("web", 1, 3, onCPU).until(condition("HorizontalPodAutoscaler", "web", "ScalingActive", "False")),
		}},
		{Name: "an autoscaler without a target", Steps: []Step{
			autoscaler("web", 1, 3, onCPU).until(condition("HorizontalPodAutoscaler", "web", "AbleToScale", "False")),
		}},
		{Name: "two autoscalers of a Deployment", Steps: []Step{
			worker(1), autoscaler("web", 1, 3, onCPU).until(scaled("web", 1, "averageValue", "20m")),
			autoscaler("other", 1, 3, onCPU).until(condition("HorizontalPodAutoscaler", "other", "ScalingActive", "False")),
		}},
		{Name: "an autoscaler by metrics that nobody serves", Steps: []Step{
			worker(2), autoscaler("web", 1, 3, `[
				{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}},
				{type: External, external: {metric: {name: queue}, target: {type: Value, value: 10}}},
				{type: Pods, pods: {metric: {name: requests}, target: {type: AverageValue, averageValue: 10}}},
				{type: Object, object: {metric: {name: requests}, describedObject: {apiVersion: v1, kind: Service, name: web}, target: {type: Value, value: 10}}}]`).until(
				condition("HorizontalPodAutoscaler", "web", "AbleToScale", "True")),
		}},
		{Name: "an autoscaler while a Node has failed", Steps: []Step{
			worker(3, spread("web")), autoscaler("web", 1, 4, onCPU, set("{selectPolicy: Disabled}", "spec", "behavior", "scaleDown")).until(scaled("web", 3, "averageValue", "20m")),
			stop("n1").until(notReady("n1", "web")),
		}},
	}
}

// onCPU is a target of half of what the containers request.
const onCPU = "[{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]"

// worker returns a Deployment whose Pods request 100m and 100Mi.
func worker(replicas int, changes ...change) Step {
	made := []change{inPod("[{name: c, image: worker, resources: {requests: {cpu: 100m, memory: 100Mi}}, readinessProbe: {httpGet: {port: 80}, periodSeconds: 1}}]", "containers")}
	return deployment("web", "worker", replicas, append(made, changes...)...)
}

// autoscaler returns a HorizontalPodAutoscaler for the Deployment web. It scales down at once.
func autoscaler(name string, least, most int, metrics string, changes ...change) Step {
	made := []change{set(metrics, "spec", "metrics")}
	return create(fmt.Sprintf("create HorizontalPodAutoscaler %s of %d to %d", name, least, most), manifest(fmt.Sprintf(`
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: %s}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: %d
  maxReplicas: %d
  behavior: {scaleDown: {stabilizationWindowSeconds: 0}}
`, name, least, most), append(made, changes...)))
}

// load sets the label load of the Pods of an app, or removes it.
func load(app, value string) Step {
	patch := "{metadata: {labels: {load: " + value + "}}}"
	if value == "" {
		patch = "{metadata: {labels: {load: null}}}"
	}
	return Step{What: fmt.Sprintf("set the load of %s to %q", app, value), Do: func(ctx context.Context, w World) error {
		for _, name := range podsOf(w, app) {
			if err := w.Patch(ctx, "Pod", name, patch); err != nil {
				return err
			}
		}
		return nil
	}}
}

// scaled reports whether an autoscaler has a number of replicas, wants no other, and sees a value of its first metric.
func scaled(name string, replicas int64, field, value string) func(World) bool {
	return func(w World) bool {
		object := w.Get("HorizontalPodAutoscaler", name)
		if !status(object, replicas, "currentReplicas", "desiredReplicas") || !condition("HorizontalPodAutoscaler", name, "ScalingActive", "True")(w) {
			return false
		}
		metrics, _, _ := unstructured.NestedSlice(object.Object, "status", "currentMetrics")
		if len(metrics) == 0 {
			return false
		}
		first, _ := metrics[0].(map[string]any)
		for _, source := range []string{"resource", "containerResource"} {
			if current, _, _ := unstructured.NestedString(first, source, "current", field); current == value {
				return true
			}
		}
		return false
	}
}
