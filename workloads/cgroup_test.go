package workloads_test

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fakecluster/fakecluster/workloads"
)

// TestAContainerSeesItsLimits proves what /sys/fs/cgroup shows to a function, and to a program of kubectl exec in a container without one,
// before and after a resize in place.
func TestAContainerSeesItsLimits(t *testing.T) {
	var function *workloads.Container
	inBubble(t, func(w world) {
		w.createPod("web", `
terminationGracePeriodSeconds: 1
containers:
- {name: function, image: function, resources: {requests: {cpu: 250m, memory: 64Mi}, limits: {cpu: 1500m, memory: 128Mi}}}
- {name: app, image: other, resources: {limits: {cpu: 1}}}
- {name: unlimited, image: function}
`)
		w.pass(3 * time.Second)
		const names = "cpu.max cpu.weight memory.max memory.high"
		read := func() string {
			var lines []string
			for _, name := range strings.Fields(names) {
				data, err := function.ReadFile("/sys/fs/cgroup/" + name)
				if err != nil {
					t.Error(err)
				}
				lines = append(lines, string(data))
			}
			return strings.Join(lines, "")
		}
		equal(t, "the function", read(), "150000 100000\n35\n134217728\nmax\n")
		equal(t, "its cgroup", w.exec(nil, "cat", "/proc/self/cgroup"), "0::/\n")
		equal(t, "its processors", w.exec(nil, "cat", "/proc/self/status"), "Cpus_allowed_list:\t0-7\nMems_allowed_list:\t0\n")
		equal(t, "another image", w.exec(nil, "sh", "-c", "cd /sys/fs/cgroup && cat "+names), "100000 100000\n100\nmax\nmax\n")
		equal(t, "a write", w.exec(nil, "sh", "-c", "echo max > /sys/fs/cgroup/cpu.max"), "stderr: sh: can't create /sys/fs/cgroup/cpu.max: Read-only file system\nerror: command terminated with exit code 1")

		patch := `{"spec":{"containers":[
			{"name":"function","resources":{"requests":{"cpu":"1","memory":"64Mi"},"limits":{"cpu":"2","memory":"256Mi"}}},
			{"name":"app","resources":{"requests":{"cpu":"2"},"limits":{"cpu":"2"}}}]}}`
		if _, err := w.client.CoreV1().Pods("default").Patch(w.Context(), "web", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "resize"); err != nil {
			t.Fatal(err)
		}
		w.pass(2 * time.Second)
		equal(t, "the function after the resize", read(), "200000 100000\n100\n268435456\nmax\n")
		equal(t, "another image after the resize", w.exec(nil, "sh", "-c", "cat /sys/fs/cgroup/cpu.max /sys/fs/cgroup/cpu.weight"), "200000 100000\n174\n")
	}, workloads.Nodes(1), workloads.Image("function", func(ctx context.Context, c *workloads.Container) error {
		if c.Name == "function" {
			function = c
		}
		<-ctx.Done()
		return nil
	}))
}
