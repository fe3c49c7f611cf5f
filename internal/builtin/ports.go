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
	*s.taking = taking{}
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
		return &places{random: c.Random, size: size, reserved: reserved, taken: map[int]bool{}}, nil
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

// places allocates numbers from 0 to size-1. Upstream's implementation draws numbers with a seed from the clock.
type places struct {
	random func(bound int) int
	size   int
	// reserved is the number of first places that AllocateNext uses last, so that they stay free for requests of
	// specific places.
	reserved int

	mu    sync.Mutex
	taken map[int]bool
}

var _ allocator.Interface = &places{}

// Allocate implements allocator.Interface.
func (p *places) Allocate(place int) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if place < 0 || place >= p.size {
		return false, fmt.Errorf("place %d is not one of %d", place, p.size)
	}
	if p.taken[place] {
		return false, nil
	}
	p.taken[place] = true
	return true, nil
}

// AllocateNext implements allocator.Interface.
func (p *places) AllocateNext() (int, bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, part := range [...]struct{ from, size int }{{p.reserved, p.size - p.reserved}, {0, p.reserved}} {
		if part.size == 0 {
			continue
		}
		start := p.random(part.size)
		for i := range part.size {
			if place := part.from + (start+i)%part.size; !p.taken[place] {
				p.taken[place] = true
				return place, true, nil
			}
		}
	}
	return 0, false, nil
}

// Release implements allocator.Interface.
func (p *places) Release(place int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.taken, place)
	return nil
}

// ForEach implements allocator.Interface.
func (p *places) ForEach(f func(int)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for place := range p.size {
		if p.taken[place] {
			f(place)
		}
	}
}

// Has implements allocator.Interface.
func (p *places) Has(place int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken[place]
}

// Free implements allocator.Interface.
func (p *places) Free() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.size - len(p.taken)
}

// Destroy implements allocator.Interface.
func (p *places) Destroy() {}
