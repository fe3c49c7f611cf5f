package workloads_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fakecluster/fakecluster/workloads"
)

func TestTheScheduler(t *testing.T) {
	second := filepath.Join(t.TempDir(), "scheduler.yaml")
	const config = `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{schedulerName: default-scheduler}, {schedulerName: packing, pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}}]}]
`
	if err := os.WriteFile(second, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	const large = "containers: [{name: c, image: nginx, resources: {requests: {cpu: '5'}}}]"
	for _, c := range []struct {
		name string
		opts []workloads.Option
		test func(w world)
	}{
		{"a Pod waits for a Node, and an Event says so", nil, func(w world) {
			w.create(pod("web", ""))
			w.isLogged("web", "FailedScheduling: no nodes available to schedule pods")
			w.create(node("n1"))
			w.pass(10 * time.Second)
			if got := field(w.object("pods", "web"), "spec.nodeName"); got != "n1" {
				w.Errorf("the Pod is on %q", got)
			}
			w.isLogged("web", "Scheduled: Successfully assigned default/web to n1")
		}},
		{"a Pod goes to the Node that its affinity names", nil, func(w world) {
			w.create(node("n1") + "---\n" + node("n2") + "---\n" + pod("web", "nodeSelector: {kubernetes.io/hostname: n2}"))
			if got := field(w.object("pods", "web"), "spec.nodeName"); got != "n2" {
				w.Errorf("the Pod is on %q", got)
			}
		}},
		{"a Pod with a gate waits until the gate is gone", nil, func(w world) {
			w.create(node("n1") + "---\n" + pod("web", "schedulingGates: [{name: example.com/gate}]"))
			if got := condition(w.object("pods", "web"), "PodScheduled"); got != "False SchedulingGated" {
				w.Errorf("the condition is %q", got)
			}
			w.patch("pods", "web", `{"spec":{"schedulingGates":[]}}`)
			if got := field(w.object("pods", "web"), "spec.nodeName"); got != "n1" {
				w.Errorf("the Pod is on %q", got)
			}
		}},
		{"a Pod of a higher priority takes the place of another", nil, func(w world) {
			w.create("{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1000}\n---\n" + node("n1") + "---\n" +
				strings.Replace(pod("low", ""), "containers: [{name: c, image: nginx}]", large, 1))
			w.create(strings.Replace(pod("high", "priorityClassName: high"), "containers: [{name: c, image: nginx}]", large, 1))
			w.pass(5 * time.Second)
			if low := w.find("pods", "low"); low != nil && low.GetDeletionTimestamp() == nil {
				w.Error("the Pod of the lower priority is not deleted")
			}
			if got := field(w.object("pods", "high"), "status.nominatedNodeName"); got != "n1" {
				w.Errorf("the nominated Node is %q", got)
			}
		}},
		{"each profile has its own way", []workloads.Option{workloads.SchedulerConfig(second)}, func(w world) {
			requests := "containers: [{name: c, image: nginx, resources: {requests: {cpu: '1'}}}]"
			w.create(node("n1") + "---\n" + node("n2"))
			var on []string
			for _, name := range []string{"a", "b", "c"} {
				w.create(strings.Replace(pod(name, "schedulerName: packing"), "containers: [{name: c, image: nginx}]", requests, 1))
				on = append(on, field(w.object("pods", name), "spec.nodeName"))
			}
			if on[0] == "" || on[0] != on[1] || on[1] != on[2] {
				w.Errorf("the Pods are on %q, and not packed", on)
			}
		}},
		{"without a scheduler a Pod stays as it is", []workloads.Option{workloads.WithoutScheduler()}, func(w world) {
			w.create(node("n1") + "---\n" + pod("web", ""))
			if got := condition(w.object("pods", "web"), "PodScheduled"); got != "" {
				w.Errorf("the condition is %q", got)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, c.test, c.opts...)
		})
	}
}
