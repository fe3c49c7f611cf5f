package pod

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	kubetypes "k8s.io/kubernetes/pkg/kubelet/types"
)

const (
	// A kubelet measures the volumes of a pod every one to two minutes, and looks at the result every ten seconds.
	earliestEviction = 10 * time.Second
	latestEviction   = 90 * time.Second
	// evictionGrace is the grace period of a pod that is evicted, in seconds.
	evictionGrace = 1
)

// eviction is the state of the eviction of a pod that exceeds its limits of disk space.
type eviction struct {
	noticed time.Time // when the kubelet finds out; zero: there is nothing to find
	reason  *reason   // the pod is evicted
}

// evicts reports whether the pod is evicted because it exceeds its limits of disk space. Like a kubelet, it does not
// evict critical pods.
func (p *Pod) evicts(ctx context.Context, now time.Time) bool {
	e := &p.termination.eviction
	if kubetypes.IsCriticalPod(p.api) {
		return false
	}
	message := p.volumes.Exceeds()
	if message == "" {
		e.noticed = time.Time{}
		return false
	}
	if e.noticed.IsZero() {
		e.noticed = now.Add(p.jitter().Between("eviction", earliestEviction, latestEviction))
	}
	if now.Before(e.noticed) {
		return false
	}
	e.reason = &reason{"Evicted", message}
	p.node.config.Events.Pod(ctx, p.api, corev1.EventTypeWarning, e.reason.reason, "%s", e.reason.message)
	return true
}
