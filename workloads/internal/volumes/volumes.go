package volumes

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/events"

	"github.com/fakecluster/fakecluster/workloads/internal/files"
	"github.com/fakecluster/fakecluster/workloads/internal/timing"
)

// Mounted reports whether all volumes are mounted.
func (p *Pod) Mounted() bool { return p.mounted }

// Mount mounts the volumes of the pod, and reports whether all are mounted. It does nothing if they are, or during the
// delay after a failure; the delays are those of the kubelet's volume manager. With contents the volumes get contents at
// once; otherwise Mount only checks that everything exists, and [Pod.Fill] gives them contents.
func (p *Pod) Mount(ctx context.Context, contents bool, now time.Time) bool {
	if p.mounted {
		return true
	}
	if now.Before(p.mount.Time) {
		return false
	}
	p.contents = contents
	if err := p.checkClaims(ctx); err != nil {
		p.node.config.Events.Pod(ctx, p.api, corev1.EventTypeWarning, events.FailedMountVolume, "Unable to attach or mount volumes: %v", err)
		p.mount.Time = now.Add(timing.RetryPeriod)
		return false
	}
	failed, unattached := false, false
	mounts, devices := p.usedVolumes()
	for i := range p.api.Spec.Volumes {
		v := &p.api.Spec.Volumes[i]
		used := mounts.Has(v.Name) || devices.Has(v.Name)
		if (v.HostPath != nil || v.CSI != nil) && !used {
			continue
		}
		waits, err := p.checkPersistentVolume(ctx, v, now)
		if unattached = unattached || waits; waits {
			continue
		}
		if err == nil {
			if err = p.mountVolume(ctx, v, now); err != nil {
				err = &mountError{"MountVolume.SetUp", v.Name, err}
			}
		}
		if err != nil && used { // a kubelet ignores volumes that no container uses
			failed = true
			p.node.config.Events.Pod(ctx, p.api, corev1.EventTypeWarning, events.FailedMountVolume, "%v", err)
		}
	}
	if failed {
		p.mount.Failed(now, 500*time.Millisecond, 2*time.Minute+2*time.Second)
	}
	if unattached && !failed {
		p.mount.Time = p.nextAttach(now)
	}
	if failed || unattached {
		return false
	}
	p.mounted, p.mount = true, timing.Retry{}
	if p.contents {
		p.followSources()
	}
	return true
}

// followSources makes changes of the sources update the volumes.
func (p *Pod) followSources() {
	if keys := sources(p.api); len(keys) > 0 {
		p.node.Sources.follow(p.uid, p.api.Namespace, keys)
	}
}

// RefreshBy schedules an update of the volumes at a time or earlier.
func (p *Pod) RefreshBy(due time.Time) {
	if p.refresh.IsZero() || due.Before(p.refresh) {
		p.refresh = due
	}
}

// Refresh updates volumes whose sources have changed. A volume whose update fails stays as it is.
func (p *Pod) Refresh(ctx context.Context, dirty bool, now time.Time) {
	if p.refresh.IsZero() || now.Before(p.refresh) && !(p.stale && dirty) || !p.mounted {
		return
	}
	p.refresh, p.stale = time.Time{}, false
	for i := range p.api.Spec.Volumes {
		v := &p.api.Spec.Volumes[i]
		if p.payloads[v.Name] == nil {
			continue
		}
		if err := p.mountVolume(ctx, v, now); err != nil {
			p.node.config.Events.Pod(ctx, p.api, corev1.EventTypeWarning, events.FailedMountVolume,
				"MountVolume.SetUp failed for volume %q : %v", v.Name, err)
			p.RefreshBy(now.Add(timing.ResyncPeriod))
		}
	}
}

// newTree returns a tree that ends with the pod.
func (p *Pod) newTree() *files.Tree {
	t := files.NewTree()
	p.trees = append(p.trees, t)
	return t
}

// Unmount removes the folders of the volumes that end with the pod.
func (p *Pod) Unmount() {
	p.refresh = time.Time{}
	for _, tree := range p.trees {
		if err := tree.Close(); err != nil {
			p.node.config.Report(fmt.Errorf("the volumes of pod %s: %w", p.key(), err))
		}
	}
	p.trees = nil
}

// Remount mounts the volumes that could not be mounted, without the delay after an attempt.
func (p *Pod) Remount(ctx context.Context, contents bool, now time.Time) {
	p.mount.Time = time.Time{}
	p.Mount(ctx, contents, now)
}

// HasAPIFiles reports whether a volume has files that come from the API. Those of the downward API follow changes of the pod.
func (p *Pod) HasAPIFiles() bool { return len(p.payloads) > 0 }

// AddTree adds a tree that is not a volume and ends with the pod: [Pod.Unmount] closes it.
func (p *Pod) AddTree(tree *files.Tree) { p.trees = append(p.trees, tree) }

// Outdate makes the next sync of the pod update the volumes, because their sources have changed. It comes at the latest
// a minute after the last one.
func (p *Pod) Outdate(now time.Time) {
	p.stale = true
	p.RefreshBy(now.Add(timing.ResyncPeriod - now.Sub(p.synced)%timing.ResyncPeriod))
}

// Fill gives the volumes their contents. A volume with unknown contents, such as that of a server outside of the
// cluster, is empty.
func (p *Pod) Fill(ctx context.Context, now time.Time) {
	p.contents = true
	for i := range p.api.Spec.Volumes {
		v := &p.api.Spec.Volumes[i]
		if err := p.mountVolume(ctx, v, now); err != nil {
			p.node.config.Logger.V(2).Info("A volume is empty", "pod", p.key(), "volume", v.Name, "err", err)
		}
		if p.volumes[v.Name] == nil {
			p.volumes[v.Name] = p.newTree()
		}
	}
	p.followSources()
}
