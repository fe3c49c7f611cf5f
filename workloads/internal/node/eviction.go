package node

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	kubetypes "k8s.io/kubernetes/pkg/kubelet/types"

	"github.com/fakecluster/fakecluster/workloads/internal/files"
)

const (
	// A kubelet measures the volumes of a pod every one to two minutes, and looks at the result every ten seconds.
	earliestEviction = 10 * time.Second
	latestEviction   = 90 * time.Second
	// evictionGrace is the grace period of a pod that is evicted, in seconds.
	evictionGrace = 1
)

// eviction is how far the eviction of a pod is whose volumes are larger than their size limits.
type eviction struct {
	exceeded atomic.Bool // a write has exceeded a limit; set by containers
	noticed  time.Time   // when the kubelet finds out; zero: there is nothing to find
	reason   *reason     // the pod is evicted
}

// emptyDir returns the files of a volume of the type emptyDir. One in memory can be full; for others a pod that exceeds the limit is evicted. Volumes on
// huge pages count as others.
func (p *pod) emptyDir(v *corev1.Volume) *files.Tree {
	t, uid := p.newVolume(), p.api.UID
	switch {
	case v.EmptyDir.Medium == corev1.StorageMediumMemory:
		t.Stick() // as each new tmpfs
		t.Limit(p.sizeInMemory(v), nil)
	case v.EmptyDir.SizeLimit != nil && v.EmptyDir.SizeLimit.Sign() > 0:
		t.Limit(v.EmptyDir.SizeLimit.Value(), func() {
			p.eviction.exceeded.Store(true)
			p.node.enqueue(uid)
		})
	}
	return t
}

// sizeInMemory returns the size of a volume in memory: its limit, and at most the memory that the pod may use.
func (p *pod) sizeInMemory(v *corev1.Volume) int64 {
	allocatable, limited := p.allocatable(), true
	podutil.VisitContainers(&p.api.Spec, podutil.InitContainers|podutil.Containers, func(c *corev1.Container, _ podutil.ContainerType) bool {
		limited = limited && !c.Resources.Limits.Memory().IsZero()
		return limited
	})
	size, limits := allocatable.Memory().Value(), resourcehelper.PodLimits(p.api, resourcehelper.PodResourcesOptions{})
	if limit := limits.Memory().Value(); limited && limit > 0 {
		size = min(size, limit)
	}
	if own := v.EmptyDir.SizeLimit; own != nil && own.Sign() > 0 {
		size = min(size, own.Value())
	}
	return size
}

// evicts reports whether the pod is evicted, because one of its volumes is larger than its limit. It does not evict critical pods, as a kubelet.
func (p *pod) evicts(ctx context.Context, now time.Time) bool {
	e := &p.eviction
	if !e.exceeded.Swap(false) || kubetypes.IsCriticalPod(p.api) {
		return false
	}
	v := p.tooLarge()
	if v == nil {
		e.noticed = time.Time{}
		return false
	}
	e.exceeded.Store(true)
	if e.noticed.IsZero() {
		e.noticed = now.Add(p.jitter().between("eviction", earliestEviction, latestEviction))
	}
	if now.Before(e.noticed) {
		return false
	}
	e.reason = &reason{"Evicted", fmt.Sprintf("Usage of EmptyDir volume %q exceeds the limit %q. ", v.Name, v.EmptyDir.SizeLimit.String())}
	p.node.events.pod(ctx, p.api, corev1.EventTypeWarning, e.reason.reason, "%s", e.reason.message)
	return true
}

// tooLarge returns the first volume that is larger than its limit, and nil if there is none.
func (p *pod) tooLarge() *corev1.Volume {
	for i := range p.api.Spec.Volumes {
		v := &p.api.Spec.Volumes[i]
		if v.EmptyDir == nil || v.EmptyDir.SizeLimit == nil || v.EmptyDir.SizeLimit.Sign() <= 0 || p.volumes[v.Name] == nil {
			continue
		}
		used, err := p.volumes[v.Name].Usage()
		if err != nil {
			p.node.agent.config.Report(fmt.Errorf("the size of volume %s of pod %s: %w", v.Name, p.key(), err))
		} else if used > v.EmptyDir.SizeLimit.Value() {
			return v
		}
	}
	return nil
}
