package pod

import (
	"encoding/binary"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
)

// Subnets divides 10.244.0.0/14 among the nodes. Each gets as many addresses as its pods need, and at least 256.
type Subnets struct {
	bits int // of a subnet's prefix
}

// podNetwork is the beginning of the pod network, as in kind.
var podNetwork = netip.MustParseAddr("10.244.0.0")

// NewSubnets returns subnets for nodes.
func NewSubnets(specs []*corev1.Node) Subnets {
	pods := int64(0)
	for _, spec := range specs {
		pods = max(pods, spec.Status.Capacity.Pods().Value())
	}
	bits := 24
	for bits > 14 && pods+2 > 1<<(32-bits) {
		bits--
	}
	return Subnets{bits: bits}
}

// Subnet has the addresses of the pods of a node.
type Subnet struct {
	prefix netip.Prefix
	last   uint32 // the last given address, counted from the start
}

// Subnet returns the addresses of the i-th node.
func (n Subnets) Subnet(i int) Subnet {
	return Subnet{prefix: netip.PrefixFrom(add(podNetwork, uint32(i)<<(32-n.bits)), n.bits)}
}

func add(a netip.Addr, n uint32) netip.Addr {
	bytes := a.As4()
	binary.BigEndian.PutUint32(bytes[:], binary.BigEndian.Uint32(bytes[:])+n)
	return netip.AddrFrom4(bytes)
}

// allocate returns an address for a pod. Addresses are given in turn, so that one is not used again soon.
func (n *Node) allocate(p *Pod) string {
	size := uint32(1) << (32 - n.addresses.prefix.Bits())
	for range size {
		n.addresses.last = n.addresses.last%(size-2) + 1
		ip := add(n.addresses.prefix.Addr(), n.addresses.last).String()
		if _, taken := n.taken[ip]; !taken {
			n.taken[ip] = p.uid
			return ip
		}
	}
	// There are more addresses than pods on a node. Pods of the host's network need none.
	return add(n.addresses.prefix.Addr(), size-1).String()
}

// release gives the addresses of a pod back. Its status keeps them.
func (n *Node) release(p *Pod) {
	for _, ip := range p.ips {
		if n.taken[ip] == p.uid {
			delete(n.taken, ip)
		}
	}
	n.retryResizes()
}
