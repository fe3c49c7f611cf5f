package builtin

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	apiservice "k8s.io/kubernetes/pkg/api/service"
	api "k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/registry/core/service/ipallocator"
	"k8s.io/kubernetes/pkg/registry/core/service/portallocator"
	servicestorage "k8s.io/kubernetes/pkg/registry/core/service/storage"
	netutils "k8s.io/utils/net"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// serviceClaims allocates the cluster IPs and node ports of services, in the cluster of the context. Upstream's storage
// of services determines what a service needs, and the errors.
var serviceClaims = &resource.Allocator{Allocate: takeForService, Release: releaseOfService}

func takeForService(ctx context.Context, obj, current runtime.Object, dryRun bool) (func(committed bool), error) {
	c, err := ClusterFrom(ctx)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	ports, err := c.NodePorts().allocatorOf(c)
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("reading the node ports of services: %w", err))
	}
	service := obj.(*api.Service)
	storage, err := c.NodePorts().storage(c.ServiceRanges())
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	defer c.NodePorts().putBack(storage)
	*storage.allocation = allocation{cluster: c, service: service, ports: ports}
	var options []string
	if dryRun {
		options = []string{metav1.DryRunAll}
	}
	// The functions that these return are not called: they end upstream's transaction and log each address. What to free
	// follows from the two states of the service.
	former := holdings{}
	if current == nil {
		_, err = storage.BeginCreate(ctx, service, &metav1.CreateOptions{DryRun: options})
	} else {
		old := current.(*api.Service).DeepCopy() // upstream alters it
		former = held(old)
		_, err = storage.BeginUpdate(ctx, service, old, &metav1.UpdateOptions{DryRun: options})
	}
	taken := storage.allocation.holdings
	if err != nil {
		taken.release(c, ports)
		return nil, err
	}
	storage.Decorator(service) // drops fields that services of this type do not have
	return func(committed bool) {
		switch {
		case dryRun:
		case committed:
			former.without(held(service)).release(c, ports)
		default:
			taken.release(c, ports)
		}
	}, nil
}

func releaseOfService(ctx context.Context, obj runtime.Object) {
	c, err := ClusterFrom(ctx)
	if err == nil {
		var ports portallocator.Interface
		if ports, err = c.NodePorts().allocatorOf(c); err == nil {
			held(obj.(*api.Service)).release(c, ports)
		}
	}
	if err != nil {
		klog.ErrorS(err, "The addresses of a deleted service cannot be released", "service", klog.KObj(obj.(*api.Service)))
	}
}

// allocation has the addresses and ports that a write of a service has allocated so far.
type allocation struct {
	cluster Cluster
	service *api.Service
	ports   portallocator.Interface
	holdings
}

// serviceStorage is upstream's storage of services, for one write at a time, whose allocations are in allocation.
type serviceStorage struct {
	*servicestorage.REST
	allocation *allocation
}

// newServiceStorage returns a storage for a cluster whose services have addresses of the ranges. The first one is for
// services that do not request a family.
func newServiceStorage(ranges []netip.Prefix) (*serviceStorage, error) {
	a := &allocation{}
	allocators := map[api.IPFamily]ipallocator.Interface{}
	for _, r := range ranges {
		allocators[familyOf(r.Addr())] = addresses{a, familyOf(r.Addr())}
	}
	storage, _, _, err := servicestorage.NewREST(overCluster{}, familyOf(ranges[0].Addr()), allocators, nodePorts{a}, nil, nil, nil)
	return &serviceStorage{storage, a}, err
}

// holdings are addresses and node ports.
type holdings struct {
	ips   []string
	ports []int
}

// held returns the holdings of a stored service.
func held(s *api.Service) holdings {
	var h holdings
	if s.Spec.Type != api.ServiceTypeExternalName {
		for _, ip := range s.Spec.ClusterIPs {
			if ip != api.ClusterIPNone && ip != "" {
				h.ips = append(h.ips, ip)
			}
		}
	}
	for _, p := range s.Spec.Ports {
		if p.NodePort != 0 {
			h.ports = append(h.ports, int(p.NodePort))
		}
	}
	if apiservice.NeedsHealthCheck(s) && s.Spec.HealthCheckNodePort != 0 {
		h.ports = append(h.ports, int(s.Spec.HealthCheckNodePort))
	}
	return h
}

// without returns the holdings that are not in others.
func (h holdings) without(others holdings) holdings {
	return holdings{
		ips:   slices.DeleteFunc(slices.Clone(h.ips), func(ip string) bool { return slices.Contains(others.ips, ip) }),
		ports: slices.DeleteFunc(slices.Clone(h.ports), func(p int) bool { return slices.Contains(others.ports, p) }),
	}
}

// release frees the holdings. It ignores those that are free.
func (h holdings) release(c Cluster, ports portallocator.Interface) {
	for _, port := range h.ports {
		_ = ports.Release(port) // does not fail in memory
	}
	for _, ip := range h.ips {
		err := c.Delete(ipAddresses, "", netutils.ParseIPSloppy(ip).String())
		if err != nil && !apierrors.IsNotFound(err) {
			klog.ErrorS(err, "The IP address of a service cannot be released", "ip", ip)
		}
	}
}

// nodePorts allocates node ports of the cluster for a write, and records them in its allocation.
type nodePorts struct{ *allocation }

var _ portallocator.Interface = nodePorts{}

// Allocate implements portallocator.Interface.
func (p nodePorts) Allocate(port int) error {
	err := p.ports.Allocate(port)
	if err == nil {
		p.holdings.ports = append(p.holdings.ports, port)
	}
	return err
}

// AllocateNext implements portallocator.Interface.
func (p nodePorts) AllocateNext() (int, error) {
	port, err := p.ports.AllocateNext()
	if err == nil {
		p.holdings.ports = append(p.holdings.ports, port)
	}
	return port, err
}

// Release implements portallocator.Interface. It does nothing: takeForService frees ports.
func (p nodePorts) Release(int) error { return nil }

// Has implements portallocator.Interface.
func (p nodePorts) Has(port int) bool { return p.ports.Has(port) }

// ForEach implements portallocator.Interface.
func (p nodePorts) ForEach(f func(int)) { p.ports.ForEach(f) }

// Destroy implements portallocator.Interface.
func (p nodePorts) Destroy() {}

// EnableMetrics implements portallocator.Interface.
func (p nodePorts) EnableMetrics() {}

// record records an address that the write has allocated.
func (a *allocation) record(ip net.IP) { a.holdings.ips = append(a.holdings.ips, ip.String()) }
