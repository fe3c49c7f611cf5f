package volumes

import (
	"fmt"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/fakecluster/fakecluster/workloads/internal/files"
	"github.com/fakecluster/fakecluster/workloads/internal/stdio"
)

// storage measures the disk space that the containers of a pod use outside of volumes.
type storage struct {
	exceeded atomic.Bool // a write may have exceeded a limit; set by containers
	layers   map[string]layer
}

// Exceeds returns a message about the limit of ephemeral storage that the pod exceeds; empty: none. It measures only
// after a write that may exceed a limit, and as long as a limit is exceeded.
func (p *Pod) Exceeds() string {
	if !p.storage.exceeded.Swap(false) {
		return ""
	}
	message := p.excess()
	if message != "" {
		p.storage.exceeded.Store(true)
	}
	return message
}

// layer has the files of a container outside of volumes, and its logs.
type layer struct {
	tree  *files.Tree
	image int64 // size of the files of the image
	share int64 // size of the files or a log beyond which the pod is measured
	// logs are those of this start of the container and of the one before.
	logs []*stdio.Log
}

// written returns the bytes that the container has written.
func (l layer) written() (int64, error) {
	used, err := l.tree.Usage()
	for _, log := range l.logs {
		used += files.Blocks(log.FileSize())
	}
	return used - l.image, err
}

// MeasureLog adds the log of a start of a container, before the container writes to it. Logs count like files.
func (p *Pod) MeasureLog(spec *corev1.Container, log *stdio.Log) {
	has, ok := p.storage.layers[spec.Name]
	if !ok {
		return
	}
	has.logs = append(has.logs[max(len(has.logs)-1, 0):], log)
	p.storage.layers[spec.Name] = has
	log.Limit(has.share, p.exceed())
}

// Measure adds the files of a container, before it writes any. The pod is evicted if they exceed its limits of
// ephemeral-storage.
func (p *Pod) Measure(spec *corev1.Container, own *files.Tree) error {
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
	if p.storage.layers == nil {
		p.storage.layers = map[string]layer{}
	}
	p.storage.layers[spec.Name] = layer{own, used, share, p.storage.layers[spec.Name].logs}
	own.Limit(used+share, p.exceed())
	return nil
}

// exceed returns a function that makes the node measure the pod.
func (p *Pod) exceed() func() {
	return func() {
		p.storage.exceeded.Store(true)
		p.node.config.Enqueue(p.uid)
	}
}

// storageLimit returns the limit of ephemeral-storage of all containers together, and whether there is one.
func (p *Pod) storageLimit() (resource.Quantity, bool) {
	limit, limited := resourcehelper.PodLimits(p.api, resourcehelper.PodResourcesOptions{})[corev1.ResourceEphemeralStorage]
	return limit, limited
}

// sharedStorage returns the size of one container or volume beyond which all that share the limit of the pod are
// measured. If all together exceed the limit, at least one exceeds its share. Zero: there is no limit.
func (p *Pod) sharedStorage() int64 {
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

// onDisk reports whether a volume is an emptyDir that is not in memory.
func onDisk(v *corev1.Volume) bool {
	return v.EmptyDir != nil && v.EmptyDir.Medium != corev1.StorageMediumMemory
}

// emptyDir returns the files of an emptyDir. One in memory can be full. For others, including those on huge pages, a pod
// that exceeds the limit is evicted.
func (p *Pod) emptyDir(v *corev1.Volume) *files.Tree {
	t := p.newVolume()
	if v.EmptyDir.Medium == corev1.StorageMediumMemory {
		t.Stick() // as every new tmpfs is
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

// sizeInMemory returns the size of a volume in memory: the lower one of its limit and the memory that the pod may use.
func (p *Pod) sizeInMemory(v *corev1.Volume) int64 {
	allocatable, limited := p.Allocatable(), true
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

// excess returns the kubelet's message about the limit that the pod exceeds. Like a kubelet, it checks volumes first,
// then the pod and the containers. The files of init containers do not count here.
func (p *Pod) excess() string {
	whole := int64(0)
	for i := range p.api.Spec.Volumes {
		v := &p.api.Spec.Volumes[i]
		if v.EmptyDir == nil || p.volumes[v.Name] == nil {
			continue
		}
		used, err := p.volumes[v.Name].Usage()
		if err != nil {
			p.node.config.Report(fmt.Errorf("the size of volume %s of pod %s: %w", v.Name, p.key(), err))
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
		has, ok := p.storage.layers[c.Name]
		if !ok || kind == podutil.InitContainers && !podutil.IsRestartableInitContainer(c) {
			return true
		}
		used, err := has.written()
		if err != nil {
			p.node.config.Report(fmt.Errorf("the files of container %s of pod %s: %w", c.Name, p.key(), err))
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

// Allocatable returns the maximum of resources that the pod may use.
func (p *Pod) Allocatable() corev1.ResourceList {
	allocatable := p.node.config.Spec.Status.Allocatable
	if resourcehelper.IsPodLevelLimitsSet(p.api) {
		allocatable = allocatable.DeepCopy()
		for name, limit := range p.api.Spec.Resources.Limits {
			if _, has := allocatable[name]; has && resourcehelper.IsSupportedPodLevelResource(name) && !limit.IsZero() {
				allocatable[name] = limit.DeepCopy()
			}
		}
	}
	return allocatable
}
