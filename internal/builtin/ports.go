package builtin

import (
	"fmt"
	"net/netip"
	"sync"

	api "k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/registry/core/service/allocator"
	"k8s.io/kubernetes/pkg/registry/core/service/portallocator"
)

// NodePorts has the node ports that services of a cluster and writes in progress have allocated. It is not stored: when
// it is first needed, it reads the services. The zero value is ready for use. It is safe for concurrent use.
type NodePorts struct {
	mu    sync.Mutex
	ports *portallocator.PortAllocator // nil: services have not been read

	storages sync.Pool // of *serviceStorage, which are slow to create
}

// storage returns a storage of services with addresses of the ranges. The caller must return it with putBack.
func (n *NodePorts) storage(ranges []netip.Prefix) (*serviceStorage, error) {
	if s, ok := n.storages.Get().(*serviceStorage); ok {
		return s, nil
	}
	return newServiceStorage(ranges)
}

func (n *NodePorts) putBack(s *serviceStorage) {
	*s.allocation = allocation{}
	n.storages.Put(s)
}

// allocatorOf returns the allocator of the cluster's node ports.
func (n *NodePorts) allocatorOf(c Cluster) (*portallocator.PortAllocator, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ports != nil {
		return n.ports, nil
	}
	services, err := c.Objects(api.Resource("services"), "")
	if err != nil {
		return nil, err
	}
	ports, err := portallocator.New(c.NodePortRange(), func(size int, _ string, reserved int) (allocator.Interface, error) {
		return &offsetAllocator{random: c.Random, size: size, reserved: reserved, taken: map[int]bool{}}, nil
	})
	if err != nil {
		return nil, err
	}
	for _, s := range services {
		for _, port := range held(s.(*api.Service)).ports {
			_ = ports.Allocate(port) // several services may have a port, for different protocols
		}
	}
	n.ports = ports
	return ports, nil
}

// offsetAllocator allocates numbers from 0 to size-1. Upstream's implementation draws numbers with a seed from the clock.
type offsetAllocator struct {
	random func(bound int) int
	size   int
	// reserved is the number of first offsets that AllocateNext uses last, so that they stay free for requests of
	// specific offsets.
	reserved int

	mu    sync.Mutex
	taken map[int]bool
}

var _ allocator.Interface = &offsetAllocator{}

// Allocate implements allocator.Interface.
func (a *offsetAllocator) Allocate(offset int) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if offset < 0 || offset >= a.size {
		return false, fmt.Errorf("offset %d is not one of %d", offset, a.size)
	}
	if a.taken[offset] {
		return false, nil
	}
	a.taken[offset] = true
	return true, nil
}

// AllocateNext implements allocator.Interface.
func (a *offsetAllocator) AllocateNext() (int, bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, part := range [...]struct{ from, size int }{{a.reserved, a.size - a.reserved}, {0, a.reserved}} {
		if part.size == 0 {
			continue
		}
		start := a.random(part.size)
		for i := range part.size {
			if offset := part.from + (start+i)%part.size; !a.taken[offset] {
				a.taken[offset] = true
				return offset, true, nil
			}
		}
	}
	return 0, false, nil
}

// Release implements allocator.Interface.
func (a *offsetAllocator) Release(offset int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.taken, offset)
	return nil
}

// ForEach implements allocator.Interface.
func (a *offsetAllocator) ForEach(f func(int)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for offset := range a.size {
		if a.taken[offset] {
			f(offset)
		}
	}
}

// Has implements allocator.Interface.
func (a *offsetAllocator) Has(offset int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.taken[offset]
}

// Free implements allocator.Interface.
func (a *offsetAllocator) Free() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.size - len(a.taken)
}

// Destroy implements allocator.Interface.
func (a *offsetAllocator) Destroy() {}
