package history

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fakecluster/fakecluster/workloads"
)

// images are what containers do, by their images. Without tags, images are pulled for each container, so that it makes no
// difference which Pod comes first to a Node.
var images = []workloads.Behavior{
	image("web"),
	image("web2"),
	image("web3"),
	image("slow", func(b *workloads.Behavior) { b.ReadyDelay = time.Second }),
	image("unready", func(b *workloads.Behavior) { b.NeverReady = true }),
	image("missing", func(b *workloads.Behavior) { b.PullError = "rpc error: code = NotFound desc = not found" }),
	image("broken", func(b *workloads.Behavior) { b.StartError = "exec: not found" }),
	image("stubborn", func(b *workloads.Behavior) { b.TerminationDelay = 2 * time.Second }),
	image("crash", func(b *workloads.Behavior) { b.ExitCode = new(int32(1)) }),
	image("heals", func(b *workloads.Behavior) { b.ExitCode, b.Failures = new(int32(1)), 1 }),
	image("hungry", func(b *workloads.Behavior) { b.OOMKilled = true }),
	image("sick", func(b *workloads.Behavior) { b.UnhealthyAfter, b.Failures = time.Second, 1 }),
	image("task"),
	image("fail", func(b *workloads.Behavior) { b.ExitCode = new(int32(1)) }),
	image("reject", func(b *workloads.Behavior) { b.ExitCode, b.Message = new(int32(42)), "bad input" }),
	image("worker", func(b *workloads.Behavior) {
		b.Labels, b.ReadyDelay, b.Usage = map[string]string{"load": "high"}, 3*time.Second, usage("150m", "150Mi")
	}),
	image("worker", func(b *workloads.Behavior) { b.ReadyDelay, b.Usage = 3*time.Second, usage("20m", "20Mi") }),
	image("long", func(b *workloads.Behavior) { b.Forever = true }),
}

// image returns a behavior with fixed delays, unless change says otherwise.
func image(name string, change ...func(*workloads.Behavior)) workloads.Behavior {
	b := workloads.Behavior{Image: name, PullDelay: 100 * time.Millisecond, StartDelay: 50 * time.Millisecond, TerminationDelay: 20 * time.Millisecond}
	for _, f := range change {
		f(&b)
	}
	if b.ExitCode != nil || b.OOMKilled || name == "task" {
		b.RunTime = 300 * time.Millisecond
	}
	return b
}

func usage(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
}

// AllBehaviors are those of all images.
func AllBehaviors() []workloads.Behavior { return images }
