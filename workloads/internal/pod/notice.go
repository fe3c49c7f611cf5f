package pod

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/fakecluster/fakecluster/workloads/internal/cri"
)

// notice reports once for each image that its program is not run, if that makes a difference.
func (p *Pod) notice(ctx context.Context, spec *corev1.Container) {
	programs := p.node.config.Programs
	sentence := programs.NotRun(p.api, spec, cri.KindOf(p.api, spec.Name), p.latest(spec.Name).process)
	if sentence == "" {
		return
	}
	p.node.config.Events.Container(ctx, p.api, spec, corev1.EventTypeNormal, "ProgramNotRun", "fakecluster: %s", sentence)
	programs.Notice(fmt.Sprintf("container %s of pod %s: %s", spec.Name, p.key(), sentence))
}
