package builtin

import (
	"errors"
	"math"
	"net"
	"net/netip"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/api/servicecidr"
	api "k8s.io/kubernetes/pkg/apis/core"
	networkingapi "k8s.io/kubernetes/pkg/apis/networking"
	"k8s.io/kubernetes/pkg/registry/core/service/ipallocator"
	netutils "k8s.io/utils/net"
)

var (
	ipAddresses  = networkingapi.Resource("ipaddresses")
	serviceCIDRs = networkingapi.Resource("servicecidrs")
)

// defaultServiceCIDR is the range of the ServiceCIDR "kubernetes", which a server creates from its
// --service-cluster-ip-range, and recreates if it is deleted.
const (
	defaultServiceCIDR     = "10.0.0.0/24"
	defaultServiceCIDRName = "kubernetes"
)

// addresses allocates addresses of a family from the cluster's ServiceCIDRs. An address is allocated if an IPAddress
// with its name exists. Creating that object allocates the address, so that only one of two services can get it.
//
// It takes the place of upstream's MetaAllocator, which reads ServiceCIDRs from informers and a queue, and draws
// addresses with a seed from the clock.
type addresses struct {
	*allocation
	family api.IPFamily
}

var _ ipallocator.Interface = addresses{}

// serviceRange is the range of a ServiceCIDR. New addresses come only from ready ones.
type serviceRange struct {
	prefix netip.Prefix
	ready  bool
}

// ranges returns the ranges of the family in the ServiceCIDRs, in the order of their names.
func (a addresses) ranges() ([]serviceRange, error) {
	objects, err := a.cluster.Objects(serviceCIDRs, "")
	if err != nil {
		return nil, err
	}
	var ranges []serviceRange
	missing := true
	for _, obj := range objects {
		cidr := obj.(*networkingapi.ServiceCIDR)
		missing = missing && cidr.Name != defaultServiceCIDRName
		for _, text := range cidr.Spec.CIDRs {
			if prefix, err := netip.ParsePrefix(text); err == nil && familyOf(prefix.Addr()) == a.family {
				ranges = append(ranges, serviceRange{prefix.Masked(), isReady(cidr)})
			}
		}
	}
	if missing {
		for _, prefix := range a.cluster.ServiceRanges() {
			if familyOf(prefix.Addr()) == a.family {
				ranges = append(ranges, serviceRange{prefix, true})
			}
		}
	}
	return ranges, nil
}

// familyOf returns the family of an address.
func familyOf(a netip.Addr) api.IPFamily {
	if a.Is4() {
		return api.IPv4Protocol
	}
	return api.IPv6Protocol
}

// isReady reports whether addresses of a ServiceCIDR may be allocated. Without the condition Ready, they may.
func isReady(cidr *networkingapi.ServiceCIDR) bool {
	if cidr.DeletionTimestamp != nil {
		return false
	}
	for _, c := range cidr.Status.Conditions {
		if c.Type == networkingv1.ServiceCIDRConditionReady {
			return c.Status == metav1.ConditionTrue
		}
	}
	return true
}

// Allocate implements ipallocator.Interface.
func (a addresses) Allocate(ip net.IP) error {
	ranges, err := a.ranges()
	if err != nil {
		return err
	}
	address := servicecidr.IPToAddr(ip)
	for _, r := range ranges {
		if r.ready && servicecidr.PrefixContainsIP(r.prefix, address) {
			return a.take(address)
		}
	}
	return ipallocator.ErrMismatchedNetwork
}

// AllocateNext implements ipallocator.Interface.
func (a addresses) AllocateNext() (net.IP, error) {
	ranges, err := a.ranges()
	if err != nil {
		return nil, err
	}
	for _, r := range ranges {
		if !r.ready {
			continue
		}
		for _, part := range r.parts() {
			ip, err := a.takeOneOf(part)
			if err == nil {
				return ip, nil
			}
			if !errors.Is(err, ipallocator.ErrFull) {
				return nil, err
			}
		}
	}
	return nil, ipallocator.ErrFull
}

// addressRange is a range of size consecutive addresses.
type addressRange struct {
	first netip.Addr
	size  int
}

// parts returns the addresses of a range in the order of allocation: first the upper part, then the lower one, which
// stays free for requests of specific addresses.
func (r serviceRange) parts() []addressRange {
	const most, least, share = 256, 16, 16
	limit := math.MaxInt
	if bits := r.prefix.Addr().BitLen() - r.prefix.Bits(); bits < 62 {
		limit = 1 << bits
	}
	size := limit - 1 // without the network address
	if r.prefix.Addr().Is4() {
		size-- // and of the broadcast
	}
	lower := 0
	if limit > least {
		lower = min(max(least, limit/share), most)
	}
	first := r.prefix.Addr().Next()
	return []addressRange{{plus(first, lower), size - lower}, {first, lower}}
}

// plus returns the address n addresses after a.
func plus(a netip.Addr, n int) netip.Addr {
	b := a.AsSlice()
	for i, carry := len(b)-1, uint64(n); i >= 0 && carry > 0; i-- {
		carry += uint64(b[i])
		b[i] = byte(carry)
		carry >>= 8
	}
	sum, _ := netip.AddrFromSlice(b)
	return sum
}

// takeOneOf allocates a free address, or fails with ipallocator.ErrFull.
func (a addresses) takeOneOf(r addressRange) (net.IP, error) {
	if r.size <= 0 {
		return nil, ipallocator.ErrFull
	}
	start := a.cluster.Random(r.size)
	for i := range r.size {
		address := plus(r.first, int((uint64(start)+uint64(i))%uint64(r.size)))
		if a.Has(address.AsSlice()) {
			continue
		}
		err := a.take(address)
		if err == nil {
			return address.AsSlice(), nil
		}
		if !errors.Is(err, ipallocator.ErrAllocated) { // allocated by another write meanwhile
			return nil, err
		}
	}
	return nil, ipallocator.ErrFull
}

// take creates the IPAddress of an address.
func (a addresses) take(address netip.Addr) error {
	err := a.cluster.Create(ipAddresses, "", &networkingapi.IPAddress{
		ObjectMeta: metav1.ObjectMeta{Name: address.String(), Labels: map[string]string{
			networkingv1.LabelIPAddressFamily: string(a.IPFamily()),
			networkingv1.LabelManagedBy:       ipallocator.ControllerName,
		}},
		Spec: networkingapi.IPAddressSpec{ParentRef: &networkingapi.ParentReference{
			Resource: "services", Namespace: a.service.Namespace, Name: a.service.Name,
		}},
	})
	if apierrors.IsAlreadyExists(err) {
		return ipallocator.ErrAllocated
	}
	if err == nil {
		a.record(address.AsSlice())
	}
	return err
}

// Has implements ipallocator.Interface.
func (a addresses) Has(ip net.IP) bool {
	_, err := a.cluster.Object(ipAddresses, "", ip.String())
	return err == nil
}

// Release implements ipallocator.Interface. It does nothing: takeForService frees everything that a failed write has
// allocated.
func (a addresses) Release(net.IP) error { return nil }

// ForEach implements ipallocator.Interface.
func (a addresses) ForEach(f func(net.IP)) {
	objects, err := a.cluster.Objects(ipAddresses, "")
	if err != nil {
		return
	}
	for _, obj := range objects {
		ip := obj.(*networkingapi.IPAddress)
		if ip.Labels[networkingv1.LabelIPAddressFamily] == string(a.IPFamily()) && ip.Labels[networkingv1.LabelManagedBy] == ipallocator.ControllerName {
			f(netutils.ParseIPSloppy(ip.Name))
		}
	}
}

// CIDR implements ipallocator.Interface. It returns nothing, because there may be several ranges.
func (a addresses) CIDR() net.IPNet { return net.IPNet{} }

// IPFamily implements ipallocator.Interface.
func (a addresses) IPFamily() api.IPFamily { return a.family }

// Destroy implements ipallocator.Interface.
func (a addresses) Destroy() {}

// EnableMetrics implements ipallocator.Interface.
func (a addresses) EnableMetrics() {}

// DryRun implements ipallocator.Interface.
func (a addresses) DryRun() ipallocator.Interface { return triedAddresses{a} }

// triedAddresses is addresses for a dry run, which allocates nothing. As upstream does, it uses only one range, and does
// not check whether an address is free.
type triedAddresses struct{ addresses }

// Allocate implements ipallocator.Interface.
func (t triedAddresses) Allocate(ip net.IP) error {
	ranges, err := t.ranges()
	if err != nil {
		return err
	}
	if len(ranges) == 0 {
		return ipallocator.ErrMismatchedNetwork
	}
	if r := ranges[0]; !servicecidr.PrefixContainsIP(r.prefix, servicecidr.IPToAddr(ip)) {
		return &ipallocator.ErrNotInRange{IP: ip, ValidRange: r.prefix.String()}
	}
	return nil
}

// AllocateNext implements ipallocator.Interface. It returns the network address, which no service can have.
func (t triedAddresses) AllocateNext() (net.IP, error) {
	ranges, err := t.ranges()
	if err != nil {
		return nil, err
	}
	if len(ranges) == 0 {
		return nil, ipallocator.ErrFull
	}
	return ranges[0].prefix.Addr().AsSlice(), nil
}

// DryRun implements ipallocator.Interface.
func (t triedAddresses) DryRun() ipallocator.Interface { return t }
