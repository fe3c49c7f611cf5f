package controlplane

import (
	"context"
	"fmt"
	"net/netip"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/utils/ptr"
)

// addressRanges are the addresses of load balancers: those reserved for documentation. The first and the last of each
// range are left out.
var addressRanges = map[corev1.IPFamily][]netip.Prefix{
	corev1.IPv4Protocol: {netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24")},
	corev1.IPv6Protocol: {netip.MustParsePrefix("2001:db8::/118")},
}

// cloud is a cloud provider that only has load balancers. A load balancer is an address for each family of the Service:
// the first free one, or spec.loadBalancerIP.
type cloud struct {
	cloudprovider.Interface

	mu        sync.Mutex
	addresses map[types.UID][]string // of Services
	owners    map[string]types.UID   // of addresses
}

// newCloud returns a cloud in which the Services of a lister keep the addresses in their statuses, for forks.
func newCloud(services corelisters.ServiceLister) *cloud {
	c := &cloud{addresses: map[types.UID][]string{}, owners: map[string]types.UID{}}
	listed, _ := services.List(labels.Everything()) // a lister returns no error
	for _, s := range listed {
		if !hasBalancer(s) {
			continue
		}
		for _, i := range s.Status.LoadBalancer.Ingress {
			if _, taken := c.owners[i.IP]; i.IP != "" && !taken {
				c.take(s, i.IP)
			}
		}
	}
	return c
}

// LoadBalancer implements cloudprovider.Interface.
func (c *cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return c, true }

// ProviderName implements cloudprovider.Interface.
func (c *cloud) ProviderName() string { return "fakecluster" }

// GetLoadBalancer implements cloudprovider.LoadBalancer.
func (c *cloud) GetLoadBalancer(_ context.Context, _ string, s *corev1.Service) (*corev1.LoadBalancerStatus, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	addresses := c.addresses[s.UID]
	return statusOf(addresses), len(addresses) > 0, nil
}

// GetLoadBalancerName implements cloudprovider.LoadBalancer.
func (c *cloud) GetLoadBalancerName(_ context.Context, _ string, s *corev1.Service) string {
	return cloudprovider.DefaultLoadBalancerName(s)
}

// EnsureLoadBalancer implements cloudprovider.LoadBalancer. A Service keeps its addresses, as far as they fit its spec.
func (c *cloud) EnsureLoadBalancer(_ context.Context, _ string, s *corev1.Service, _ []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	has := c.addresses[s.UID]
	c.release(s)
	for _, family := range s.Spec.IPFamilies {
		address, err := c.choose(s, family, has)
		if err != nil {
			c.release(s)
			for _, a := range has {
				c.take(s, a)
			}
			return nil, err
		}
		c.take(s, address)
	}
	return statusOf(c.addresses[s.UID]), nil
}

// UpdateLoadBalancer implements cloudprovider.LoadBalancer.
func (c *cloud) UpdateLoadBalancer(context.Context, string, *corev1.Service, []*corev1.Node) error {
	return nil
}

// EnsureLoadBalancerDeleted implements cloudprovider.LoadBalancer.
func (c *cloud) EnsureLoadBalancerDeleted(_ context.Context, _ string, s *corev1.Service) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.release(s)
	return nil
}

func (c *cloud) take(s *corev1.Service, address string) {
	c.addresses[s.UID] = append(c.addresses[s.UID], address)
	c.owners[address] = s.UID
}

func (c *cloud) release(s *corev1.Service) {
	for _, a := range c.addresses[s.UID] {
		delete(c.owners, a)
	}
	delete(c.addresses, s.UID)
}

// choose returns the address of a Service in a family: that of its spec, one of has, or the first free one.
func (c *cloud) choose(s *corev1.Service, family corev1.IPFamily, has []string) (string, error) {
	if wanted, err := netip.ParseAddr(s.Spec.LoadBalancerIP); err == nil && familyOf(wanted) == family {
		if _, taken := c.owners[wanted.String()]; taken {
			return "", fmt.Errorf("another Service has the address %s of spec.loadBalancerIP", wanted)
		}
		return wanted.String(), nil
	}
	for _, a := range has {
		if address, err := netip.ParseAddr(a); err == nil && familyOf(address) == family {
			return a, nil
		}
	}
	for _, in := range addressRanges[family] {
		for a := in.Addr().Next(); in.Contains(a.Next()); a = a.Next() {
			if _, taken := c.owners[a.String()]; !taken {
				return a.String(), nil
			}
		}
	}
	return "", fmt.Errorf("all addresses of the family %s are taken: %v", family, addressRanges[family])
}

func familyOf(address netip.Addr) corev1.IPFamily {
	if address.Is4() {
		return corev1.IPv4Protocol
	}
	return corev1.IPv6Protocol
}

func statusOf(addresses []string) *corev1.LoadBalancerStatus {
	status := &corev1.LoadBalancerStatus{}
	for _, a := range addresses {
		status.Ingress = append(status.Ingress, corev1.LoadBalancerIngress{IP: a, IPMode: ptr.To(corev1.LoadBalancerIPModeVIP)})
	}
	return status
}
