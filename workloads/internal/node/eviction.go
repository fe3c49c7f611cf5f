package node

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	kubetypes "k8s.io/kubernetes/pkg/kubelet/types"

	"github.com/fakecluster/fakecluster/workloads/internal/files"
	"github.com/fakecluster/fakecluster/workloads/internal/stdio"
)

const (
	// A kubelet measures the volumes of a pod every one to two minutes, and looks at the result every ten seconds.
	earliestEviction = 10 * time.Second
	latestEviction   = 90 * time.Second
	// evictionGrace is the grace period of a pod that is evicted, in seconds.
	evictionGrace = 1
)

// eviction is how far the eviction of a pod is that uses more of the disk than its limits allow.
type eviction struct {
	exceeded atomic.Bool // a write may have exceeded a limit; set by containers
	noticed  time.Time   // when the kubelet finds out; zero: there is nothing to find
	reason   *reason     // the pod is evicted
	layers   map[string]layer
}

// layer has the files that a container writes outside of volumes, and its logs.
type layer struct {
	tree  *files.Tree
	image int64 // what the files of the image use
	share int64 // how much the files or the log may use before the pod is measured
	// logs are those of this start of the container and of the one before.
	logs []*stdio.Log
}

// written returns what the container uses.
func (l layer) written() (int64, error) {
	used, err := l.tree.Usage()
	for _, log := range l.logs {
		used += files.Blocks(log.FileSize())
	}
	return used - l.image, err
}

// measureLog notes the log of a start of a container, before the container writes to it. It counts as its files do.
func (p *pod) measureLog(spec *corev1.Container, log *stdio.Log) {
	has, ok := p.eviction.layers[spec.Name]
	if !ok {
		return
	}
	has.logs = append(has.logs[max(len(has.logs)-1, 0):], log)
	p.eviction.layers[spec.Name] = has
	log.Limit(has.share, p.exceed())
}

// measure notes the files of a container, before it writes any, so that the pod is evicted if it writes more than its limits of ephemeral-storage.
func (p *pod) measure(spec *corev1.Container, own *files.Tree) error {
	limit := spec.Resources.Limits.StorageEphemeral().Value()
	if whole := p.sharedStorage(); limit == 0 || whole > 0 && whole < limit {
		limit = whole
	}
	if limit == 0 {
		return nil
	}
	share := max(limit/3, 1) // its files, its log and the one before
	used, err := own.Usage()
	if err != nil {
		return err
	}
	if p.eviction.layers == nil {
		p.eviction.layers = map[string]layer{}
	}
	p.eviction.layers[spec.Name] = layer{own, used, share, p.eviction.layers[spec.Name].logs}
	own.Limit(used+share, p.exceed())
	return nil
}

// exceed returns a function that has the node measure the pod.
func (p *pod) exceed() func() {
	uid := p.api.UID
	return func() {
		p.eviction.exceeded.Store(true)
		p.node.enqueue(uid)
	}
}

// storageLimit returns the ephemeral-storage that the containers may use together, and whether there is a limit.
func (p *pod) storageLimit() (resource.Quantity, bool) {
	limit, limited := resourcehelper.PodLimits(p.api, resourcehelper.PodResourcesOptions{})[corev1.ResourceEphemeralStorage]
	return limit, limited
}

// sharedStorage returns how much one container or volume may use before all that share the limit of the pod are measured. If all together exceed the limit, at least one
// exceeds its share. Zero: there is no limit.
func (p *pod) sharedStorage() int64 {
	limit, limited := p.storageLimit()
	if !limited {
		return 0
	}
	sharing := len(p.api.Spec.InitContainers) + len(p.api.Spec.Containers)
	for i := range p.api.Spec.Volumes {
		if onDisk(&p.api.Spec.Volumes[i]) {
			sharing++
		}
	}
	return max(limit.Value()/int64(sharing), 1)
}

// onDisk reports whether a volume is of the type emptyDir and not in memory.
func onDisk(v *corev1.Volume) bool {
	return v.EmptyDir != nil && v.EmptyDir.Medium != corev1.StorageMediumMemory
}

// emptyDir returns the files of a volume of the type emptyDir. One in memory can be full; for others a pod that exceeds the limit is evicted. Volumes on
// huge pages count as others.
func (p *pod) emptyDir(v *corev1.Volume) *files.Tree {
	t := p.newVolume()
	if v.EmptyDir.Medium == corev1.StorageMediumMemory {
		t.Stick() // as each new tmpfs
		t.Limit(p.sizeInMemory(v), nil)
		return t
	}
	limit := p.sharedStorage()
	if own := v.EmptyDir.SizeLimit; own != nil && own.Sign() > 0 && (limit == 0 || own.Value() < limit) {
		limit = own.Value()
	}
	if limit > 0 {
		t.Limit(limit, p.exceed())
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

// evicts reports whether the pod is evicted, because it uses more of the disk than its limits allow. It does not evict critical pods, as a kubelet.
func (p *pod) evicts(ctx context.Context, now time.Time) bool {
	e := &p.eviction
	if !e.exceeded.Swap(false) || kubetypes.IsCriticalPod(p.api) {
		return false
	}
	message := p.excess()
	if message == "" {
		e.noticed = time.Time{}
		return false
	}
	e.exceeded.Store(true)
	if e.noticed.IsZero() {
		e.noticed = now.Add(p.jitter().Between("eviction", earliestEviction, latestEviction))
	}
	if now.Before(e.noticed) {
		return false
	}
	e.reason = &reason{"Evicted", message}
	p.node.events.Pod(ctx, p.api, corev1.EventTypeWarning, e.reason.reason, "%s", e.reason.message)
	return true
}

// excess returns the limit that the pod exceeds, in the order and the words of a kubelet: of a volume, of the pod, of a container. The files of
// init containers do not count here.
func (p *pod) excess() string {
	whole := int64(0)
	for i := range p.api.Spec.Volumes {
		v := &p.api.Spec.Volumes[i]
		if v.EmptyDir == nil || p.volumes[v.Name] == nil {
			continue
		}
		used, err := p.volumes[v.Name].Usage()
		if err != nil {
			p.node.agent.config.Report(fmt.Errorf("the size of volume %s of pod %s: %w", v.Name, p.key(), err))
			continue
		}
		if limit := v.EmptyDir.SizeLimit; limit != nil && limit.Sign() > 0 && used > limit.Value() {
			return fmt.Sprintf("Usage of EmptyDir volume %q exceeds the limit %q. ", v.Name, limit.String())
		}
		if onDisk(v) {
			whole += used
		}
	}
	tooMuch := ""
	podutil.VisitContainers(&p.api.Spec, podutil.InitContainers|podutil.Containers, func(c *corev1.Container, kind podutil.ContainerType) bool {
		has, ok := p.eviction.layers[c.Name]
		if !ok || kind == podutil.InitContainers && !podutil.IsRestartableInitContainer(c) {
			return true
		}
		used, err := has.written()
		if err != nil {
			p.node.agent.config.Report(fmt.Errorf("the files of container %s of pod %s: %w", c.Name, p.key(), err))
			return true
		}
		whole += used
		if limit := c.Resources.Limits.StorageEphemeral(); tooMuch == "" && limit.Sign() > 0 && used > limit.Value() {
			tooMuch = fmt.Sprintf("Container %s exceeded its local ephemeral storage limit %q. ", c.Name, limit.String())
		}
		return true
	})
	if limit, limited := p.storageLimit(); limited && whole > limit.Value() {
		return fmt.Sprintf("Pod ephemeral local storage usage exceeds the total limit of containers %s. ", limit.String())
	}
	return tooMuch
}
