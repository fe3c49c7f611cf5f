package network

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// domain is the domain of the cluster.
const domain = "cluster.local"

// maxAliases is how many ExternalNames in a row are followed.
const maxAliases = 8

// resolver looks names up as a pod does: in its hosts file, and in the DNS of the cluster.
type resolver struct {
	network  *Network
	hosts    map[string][]netip.Addr
	searches []string // domains that a relative name is tried in; without one for cluster.local the cluster's names do not resolve
	alone    bool     // the pod does not use the DNS of the cluster
}

// searches returns the search list of a pod.
func searches(namespace string, config *corev1.PodDNSConfig) []string {
	all := []string{namespace + ".svc." + domain, "svc." + domain, domain}
	if config != nil {
		for _, s := range config.Searches {
			all = append(all, strings.TrimSuffix(s, "."))
		}
	}
	return all
}

// resolverOf returns the resolver of a pod, by its dnsPolicy.
func (n *Network) resolverOf(pod *corev1.Pod, ip netip.Addr) resolver {
	r := resolver{network: n, hosts: map[string][]netip.Addr{}, searches: searches(pod.Namespace, pod.Spec.DNSConfig)}
	switch policy := pod.Spec.DNSPolicy; {
	case policy == corev1.DNSDefault, policy == corev1.DNSClusterFirst && pod.Spec.HostNetwork:
		r.alone = true
	case policy == corev1.DNSNone:
		r.searches = searches("", pod.Spec.DNSConfig)[3:]
	}
	hostname := strings.ToLower(pod.Name)
	if pod.Spec.Hostname != "" {
		hostname = pod.Spec.Hostname
	}
	r.hosts[hostname] = []netip.Addr{ip}
	if pod.Spec.Subdomain != "" {
		r.hosts[hostname+"."+pod.Spec.Subdomain+"."+pod.Namespace+".svc."+domain] = []netip.Addr{ip}
	}
	for _, alias := range pod.Spec.HostAliases {
		ip, err := netip.ParseAddr(alias.IP)
		if err != nil {
			continue
		}
		for _, name := range alias.Hostnames {
			r.hosts[strings.ToLower(name)] = append(r.hosts[strings.ToLower(name)], ip)
		}
	}
	return r
}

// addresses returns the addresses of a host, which may be an address. The error is a *net.DNSError.
func (r resolver) addresses(host string) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip.Unmap()}, nil
	}
	name := strings.ToLower(host)
	if name == "" || name == "localhost" || name == "localhost." {
		return []netip.Addr{loopback}, nil
	}
	if ips := r.hosts[strings.TrimSuffix(name, ".")]; len(ips) > 0 {
		return ips, nil
	}
	for _, full := range r.tries(name) {
		if ips := r.network.addressesOf(full, maxAliases); len(ips) > 0 {
			return ips, nil
		}
	}
	return nil, r.noSuchHost(host)
}

// tries returns the full names that a name may stand for, in the order in which a pod tries them: the option ndots of
// a pod is 5.
func (r resolver) tries(name string) []string {
	if r.alone {
		return nil
	}
	if full, ok := strings.CutSuffix(name, "."); ok {
		return []string{full}
	}
	all := make([]string, 0, len(r.searches)+1)
	for _, s := range r.searches {
		all = append(all, name+"."+s)
	}
	if strings.Count(name, ".") >= 5 {
		return append([]string{name}, all...)
	}
	return append(all, name)
}

func (r resolver) noSuchHost(name string) *net.DNSError {
	return &net.DNSError{Err: "no such host", Name: name, Server: r.network.dnsServer(), IsNotFound: true}
}

// dnsServer returns the address of the DNS that pods have in their resolv.conf: the tenth one of the range of Services. Errors
// name it. Nothing listens there.
func (n *Network) dnsServer() string {
	service := n.service(corev1.NamespaceDefault, "kubernetes")
	if service == nil {
		return ""
	}
	ip, err := netip.ParseAddr(service.Spec.ClusterIP)
	if err != nil {
		return ""
	}
	for range 9 {
		ip = ip.Next()
	}
	return netip.AddrPortFrom(ip, 53).String()
}

func (n *Network) service(namespace, name string) *corev1.Service {
	object, ok, _ := n.services.GetByKey(namespace + "/" + name)
	if !ok {
		return nil
	}
	return object.(*corev1.Service)
}

// addressesOf returns the addresses of a full name in the DNS of the cluster.
func (n *Network) addressesOf(full string, aliases int) []netip.Addr {
	parts, kind := split(full)
	switch {
	case kind == "pod" && len(parts) == 2:
		text := strings.ReplaceAll(parts[0], "-", ".")
		if strings.Count(text, ".") != 3 {
			text = strings.ReplaceAll(parts[0], "-", ":")
		}
		if ip, err := netip.ParseAddr(text); err == nil {
			return []netip.Addr{ip}
		}
	case kind == "svc" && len(parts) == 2:
		service := n.service(parts[1], parts[0])
		switch {
		case service == nil:
		case service.Spec.Type == corev1.ServiceTypeExternalName:
			if aliases > 0 {
				return n.addressesOf(strings.ToLower(strings.TrimSuffix(service.Spec.ExternalName, ".")), aliases-1)
			}
		case service.Spec.ClusterIP == corev1.ClusterIPNone:
			return ips(n.named(service))
		default:
			return clusterIPs(service)
		}
	case kind == "svc" && len(parts) == 3:
		if service := n.service(parts[2], parts[1]); service != nil {
			return ips(slices.DeleteFunc(n.named(service), func(e named) bool { return e.name != parts[0] }))
		}
	}
	return nil
}

// split splits a full name of the cluster into the labels before its kind, svc or pod, and the kind.
func split(full string) (parts []string, kind string) {
	rest, ok := strings.CutSuffix(full, "."+domain)
	if !ok {
		return nil, ""
	}
	parts = strings.Split(rest, ".")
	return parts[:len(parts)-1], parts[len(parts)-1]
}

func clusterIPs(service *corev1.Service) (all []netip.Addr) {
	texts := service.Spec.ClusterIPs
	if len(texts) == 0 {
		texts = []string{service.Spec.ClusterIP}
	}
	for _, text := range texts {
		if ip, err := netip.ParseAddr(text); err == nil {
			all = append(all, ip)
		}
	}
	return all
}

// named is a port of an endpoint that is ready, with the name of the endpoint in the DNS.
type named struct {
	name     string
	ip       netip.Addr
	port     uint16
	portName string
	protocol corev1.Protocol
}

// named returns the endpoints of a Service that are ready, in the order of their addresses, once for each port.
func (n *Network) named(service *corev1.Service) (all []named) {
	for _, slice := range n.slicesOf(service.Namespace, service.Name) {
		for _, e := range slice.Endpoints {
			if !isReady(&e) {
				continue
			}
			for _, address := range e.Addresses {
				ip, err := netip.ParseAddr(address)
				if err != nil {
					continue
				}
				one := named{name: strings.NewReplacer(".", "-", ":", "-").Replace(address), ip: ip}
				if e.Hostname != nil && *e.Hostname != "" {
					one.name = *e.Hostname
				}
				if len(slice.Ports) == 0 {
					all = append(all, one)
				}
				for _, p := range slice.Ports {
					one.port, one.portName, one.protocol = uint16(ptr.Deref(p.Port, 0)), ptr.Deref(p.Name, ""), ptr.Deref(p.Protocol, corev1.ProtocolTCP)
					all = append(all, one)
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b named) int { return a.ip.Compare(b.ip) })
	return all
}

func ips(endpoints []named) (all []netip.Addr) {
	for _, e := range endpoints {
		if !slices.Contains(all, e.ip) {
			all = append(all, e.ip)
		}
	}
	return all
}

// LookupHost returns the addresses of a name, as [net.Resolver.LookupHost] in a container of the pod.
func (p *Process) LookupHost(_ context.Context, host string) ([]string, error) {
	found, err := p.names.addresses(host)
	if err != nil {
		return nil, err
	}
	all := make([]string, 0, len(found))
	for _, ip := range found {
		all = append(all, ip.String())
	}
	return all, nil
}

// LookupSRV returns the ports of a Service with a name, as [net.Resolver.LookupSRV], such as those of
// _grpc._tcp.web.default.svc.cluster.local. The endpoints of a headless Service have names of their own. The records are in the order of their
// addresses.
func (p *Process) LookupSRV(_ context.Context, service, proto, name string) (cname string, records []*net.SRV, err error) {
	query := name
	if service != "" || proto != "" {
		query = "_" + service + "._" + proto + "." + name
	}
	for _, full := range p.names.tries(strings.ToLower(query)) {
		if records = p.network.records(full); len(records) > 0 {
			return full + ".", records, nil
		}
	}
	return "", nil, p.names.noSuchHost(query)
}

// records returns the SRV records of a full name.
func (n *Network) records(full string) (all []*net.SRV) {
	parts, kind := split(full)
	if kind != "svc" || len(parts) != 4 || !strings.HasPrefix(parts[0], "_") || !strings.HasPrefix(parts[1], "_") {
		return nil
	}
	service := n.service(parts[3], parts[2])
	if service == nil || service.Spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	host := parts[2] + "." + parts[3] + ".svc." + domain + "."
	matches := func(name string, protocol corev1.Protocol) bool {
		return "_"+strings.ToLower(name) == parts[0] && "_"+strings.ToLower(cmp.Or(string(protocol), "tcp")) == parts[1]
	}
	if service.Spec.ClusterIP != corev1.ClusterIPNone {
		for _, p := range service.Spec.Ports {
			if matches(p.Name, p.Protocol) {
				all = append(all, &net.SRV{Target: host, Port: uint16(p.Port)})
			}
		}
	} else {
		for _, e := range n.named(service) {
			if matches(e.portName, e.protocol) {
				all = append(all, &net.SRV{Target: e.name + "." + host, Port: e.port})
			}
		}
	}
	for _, r := range all {
		r.Weight = uint16(100 / len(all)) // as CoreDNS
	}
	return all
}
