package world

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/conformance/kubelet/cri"
	"github.com/fakecluster/fakecluster/conformance/kubelet/program"
	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads"
)

// ours is the node agent of package workloads.
type ours struct{}

func (ours) start(_ context.Context, c *fakecluster.Cluster, started func(namespace, pod, container string, n int)) error {
	var counter program.Counter
	run := func(ctx context.Context, c *workloads.Container) error {
		p, err := program.Parse(c.Args)
		if err != nil {
			return err
		}
		n := counter.Next(string(c.Pod.UID) + "/" + c.Name)
		start := p.Start(n)
		read := reader(c)
		for _, name := range []string{"probe", "slow", "has", "hook"} {
			c.HandleExec(name, execute(start, read))
		}
		if p.Port != 0 {
			time.AfterFunc(start.Listens, func() { serve(ctx, c, p.Port, start) })
		}
		started(c.Pod.Namespace, c.Pod.Name, c.Name, n)
		if start.Log != "" {
			fmt.Fprintln(c.Stdout, start.Log)
		}
		code := start.Run(ctx, nil)
		if message := start.End(read); message != "" {
			if err := c.WriteFile("/dev/termination-log", []byte(message), 0o644); err != nil {
				return err
			}
		}
		return workloads.Exit(code)
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: nodeName},
		Status:     corev1.NodeStatus{Capacity: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("500")}},
	}
	_, err := workloads.New(c, workloads.NodeObjects(node), workloads.WithoutScheduler(), workloads.Controllers(),
		workloads.Image(program.Image, run), workloads.Image(cri.Root, run),
		workloads.Behaviors(
			workloads.Behavior{Image: cri.Missing, PullDelay: cri.PullTime, PullError: cri.PullError.Error()},
			workloads.Behavior{Image: cri.Unstartable, PullDelay: cri.PullTime, StartDelay: cri.StartTime, StartError: cri.StartMessage},
			workloads.Behavior{Image: cri.Root, PullDelay: cri.PullTime, StartDelay: cri.StartTime},
			workloads.Behavior{Image: program.Image, PullDelay: cri.PullTime, StartDelay: cri.StartTime},
		))
	return err
}
