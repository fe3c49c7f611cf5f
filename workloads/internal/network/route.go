package network

import (
	"cmp"
	"errors"
	"hash/fnv"
	"net/netip"
	"slices"
	"strconv"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
)

// proxyName is the label of Services that a proxy other than kube-proxy serves.
const proxyName = "service.kubernetes.io/service-proxy-name"

const tcp, udp = corev1.ProtocolTCP, corev1.ProtocolUDP

// route is the route to a TCP listener.
type route struct {
	listener *listener
	local    netip.AddrPort // the address that the server sees
	from     netip.AddrPort // the address of the server that the client sees
	err      error          // syscall.Errno
}

// route returns the route to an address, for a client on a stack.
func (n *Network) route(s *stack, to netip.AddrPort) route {
	n.mu.Lock()
	defer n.mu.Unlock()
	r := n.lead(s, to, tcp, netip.AddrPort{})
	if r.err == nil {
		if l := r.stack.listener(r.local); l != nil {
			return route{listener: l, local: r.local, from: netip.AddrPortFrom(r.from, s.freePort(s.listeners))}
		}
		r.err = syscall.ECONNREFUSED
	}
	if errors.Is(r.err, syscall.ECONNREFUSED) {
		if l := n.proxyAt(s, to); l != nil {
			return route{listener: l, local: to, from: netip.AddrPortFrom(s.source(to.Addr()), s.freePort(s.listeners))}
		}
	}
	return route{err: r.err}
}

// lead is the destination of an address.
type lead struct {
	stack *stack
	local netip.AddrPort // the address that the server sees
	from  netip.Addr     // the address of the server that the client sees
	err   error          // syscall.Errno
}

// lead returns the destination of an address, for a client on a stack. last is the former endpoint of the client for a
// Service; the zero value: none. The caller holds the lock.
func (n *Network) lead(s *stack, to netip.AddrPort, protocol corev1.Protocol, last netip.AddrPort) lead {
	if to.Addr().IsUnspecified() {
		to = netip.AddrPortFrom(loopback, to.Port())
	}
	from := s.source(to.Addr())
	if t, found := n.serviceAt(s, to, protocol); found {
		e := n.choose(t, from, last)
		if n.leadsToDNS(t, to, protocol, e) {
			return lead{stack: n.dns.stack, local: netip.AddrPortFrom(n.config.DNS, to.Port()), from: from}
		}
		if !e.IsValid() {
			return lead{err: syscall.ECONNREFUSED}
		}
		to = e
		if t.hides {
			from = t.node
		}
	} else if host, ok := n.hostPortAt(s, to, protocol); ok {
		from = s.own(to.Addr())
		to = netip.AddrPortFrom(host.host.stack.own(to.Addr()), host.port)
	}
	target := n.stacks[to.Addr()]
	switch {
	case to.Addr().IsLoopback(), s.has(to.Addr()):
		target = s
	case n.server.stack.has(to.Addr()):
		target = n.server.stack
	case n.dns.stack.has(to.Addr()):
		target = n.dns.stack
	}
	if target == nil && n.isNode(to.Addr()) {
		return lead{err: syscall.ECONNREFUSED}
	}
	if target == nil && to.Addr().IsPrivate() {
		return lead{err: syscall.EHOSTUNREACH}
	}
	if target == nil {
		return lead{err: syscall.ENETUNREACH}
	}
	return lead{stack: target, local: to, from: from}
}

// unreachable reports whether a UDP client on a stack cannot reach an address. It does not advance the choice of
// endpoints. The caller holds the lock.
func (n *Network) unreachable(s *stack, to netip.AddrPort) bool {
	if _, found := n.serviceAt(s, to, udp); found {
		return false
	}
	return errors.Is(n.lead(s, to, udp, netip.AddrPort{}).err, syscall.ENETUNREACH)
}

// leadsToDNS reports whether the built-in DNS answers for the Service with its address, because nothing listens at the
// endpoint of the Service, such as a CoreDNS pod without code. The caller holds the lock.
func (n *Network) leadsToDNS(t target, to netip.AddrPort, protocol corev1.Protocol, endpoint netip.AddrPort) bool {
	if to.Addr() != n.config.DNS || to.Port() != dnsPort || t.missing {
		return false
	}
	s := n.stacks[endpoint.Addr()]
	switch {
	case s == nil:
		return true
	case protocol == udp:
		return s.receiver(endpoint, netip.AddrPort{}) == nil
	}
	return s.listener(endpoint) == nil
}

// hostPortAt returns the host port at an address, for a client on a stack. The caller holds the lock.
func (n *Network) hostPortAt(s *stack, to netip.AddrPort, protocol corev1.Protocol) (hostPort, bool) {
	key := nodeAddress{protocol: protocol, address: to}
	if to.Addr().IsLoopback() {
		key.node = s
	}
	port, ok := n.ports[key]
	return port, ok
}

// isNode reports whether an address is that of a Node.
func (n *Network) isNode(ip netip.Addr) bool { return n.nodeAt(ip) != nil }

// nodeAt returns the Node with an address; nil: there is none.
func (n *Network) nodeAt(ip netip.Addr) *corev1.Node {
	nodes, _ := n.nodes.List(labels.Everything())
	for _, node := range nodes {
		for _, a := range node.Status.Addresses {
			if a.Address == ip.String() {
				return node
			}
		}
	}
	return nil
}

// target is the port of a Service to which a client connects.
type target struct {
	service *corev1.Service
	port    *corev1.ServicePort
	proxy   string     // the node whose kube-proxy routes the client; empty: it is outside of the cluster
	local   *string    // only endpoints on this node answer; nil: all do
	hides   bool       // the endpoint sees the address of a node instead of the client's
	node    netip.Addr // that address
	family  corev1.IPFamily
	missing bool // the Service does not have the port
}

// serviceAt returns the Service at an address, for a client on a stack.
func (n *Network) serviceAt(s *stack, to netip.AddrPort, protocol corev1.Protocol) (t target, found bool) {
	t.family, t.proxy = corev1.IPv4Protocol, s.node
	if to.Addr().Is6() {
		t.family = corev1.IPv6Protocol
	}
	for _, service := range n.servicesBy(to.Addr().String()) {
		t.service = service
		internal := slices.Contains(service.Spec.ClusterIPs, to.Addr().String()) || service.Spec.ClusterIP == to.Addr().String()
		for i := range service.Spec.Ports {
			if p := &service.Spec.Ports[i]; cmp.Or(p.Protocol, tcp) == protocol && p.Port == int32(to.Port()) {
				t.port = p
				if internal && ptr.Deref(service.Spec.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster) == corev1.ServiceInternalTrafficPolicyLocal {
					t.local = &s.node
				}
				return t, true
			}
		}
		if internal {
			t.missing = true
			return t, true
		}
	}
	services := n.servicesBy(nodePort(int32(to.Port())))
	if len(services) == 0 {
		return t, false
	}
	node := n.nodeAt(to.Addr())
	if node == nil {
		return t, false
	}
	for _, service := range services {
		for i := range service.Spec.Ports {
			if p := &service.Spec.Ports[i]; cmp.Or(p.Protocol, tcp) == protocol && p.NodePort == int32(to.Port()) {
				t.service, t.port, t.hides, t.node, t.proxy = service, p, true, to.Addr(), node.Name
				// Traffic from the node itself and its pods goes to all endpoints.
				if service.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal && s.node != node.Name {
					t.local, t.hides = &node.Name, false
				}
				return t, true
			}
		}
	}
	return t, false
}

// byAddress is the name of the index of Services by their addresses, their node ports, and the ports of their health
// checks.
const byAddress = "fakecluster.io/address"

func nodePort(port int32) string { return "node port " + strconv.Itoa(int(port)) }

// isNotForProxy reports whether kube-proxy ignores a Service or an EndpointSlice by its labels, because it is for
// another proxy or headless.
func isNotForProxy(labels map[string]string) bool {
	_, elsewhere := labels[proxyName]
	_, headless := labels[corev1.IsHeadlessService]
	return elsewhere || headless
}

// addressesOf returns the addresses and ports of a Service for the index byAddress; none if kube-proxy ignores the
// Service.
func addressesOf(object any) ([]string, error) {
	service, ok := object.(*corev1.Service)
	if !ok {
		return nil, nil
	}
	if isNotForProxy(service.Labels) {
		return nil, nil
	}
	addresses := slices.Concat(service.Spec.ClusterIPs, service.Spec.ExternalIPs, []string{service.Spec.ClusterIP})
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		addresses = append(addresses, ingress.IP)
	}
	for _, p := range service.Spec.Ports {
		if p.NodePort != 0 {
			addresses = append(addresses, nodePort(p.NodePort))
		}
	}
	if service.Spec.HealthCheckNodePort != 0 && service.Spec.Type == corev1.ServiceTypeLoadBalancer && service.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal {
		addresses = append(addresses, healthPort(service.Spec.HealthCheckNodePort))
	}
	slices.Sort(addresses)
	return slices.DeleteFunc(slices.Compact(addresses), func(a string) bool { return a == "" || a == corev1.ClusterIPNone }), nil
}

// servicesBy returns the Services at an address, in the order of their namespaces and names.
func (n *Network) servicesBy(address string) []*corev1.Service {
	objects, _ := n.services.ByIndex(byAddress, address)
	services := make([]*corev1.Service, 0, len(objects))
	for _, o := range objects {
		services = append(services, o.(*corev1.Service))
	}
	slices.SortFunc(services, func(a, b *corev1.Service) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return services
}

// balancer distributes the connections to a port of a Service.
type balancer struct {
	next    int
	clients map[netip.Addr]affinity // with session affinity
}

// affinity is the endpoint that a client had last.
type affinity struct {
	to   netip.AddrPort
	last time.Time
}

// choose returns the endpoint for a client: its last one if that is still usable; the zero value: there is none. The
// caller holds the lock.
func (n *Network) choose(t target, client netip.Addr, last netip.AddrPort) netip.AddrPort {
	if t.missing {
		return netip.AddrPort{}
	}
	key := t.service.Namespace + "/" + t.service.Name + ":" + t.port.Name
	if key == "default/kubernetes:https" && len(n.server.stack.listeners) > 0 {
		return netip.AddrPortFrom(serverAddress, serverPort)
	}
	usable := n.usable(t)
	if len(usable) == 0 {
		return netip.AddrPort{}
	}
	if slices.Contains(usable, last) {
		return last
	}
	b := n.balance[key]
	if b == nil {
		hash := fnv.New32a()
		_, _ = hash.Write([]byte(key + strconv.FormatUint(n.config.Seed, 10)))
		b = &balancer{next: int(hash.Sum32() >> 1), clients: map[netip.Addr]affinity{}}
		n.balance[key] = b
	}
	now := time.Now()
	sticky := t.service.Spec.SessionAffinity == corev1.ServiceAffinityClientIP
	if sticky {
		timeout := time.Duration(corev1.DefaultClientIPServiceAffinitySeconds) * time.Second
		if c := t.service.Spec.SessionAffinityConfig; c != nil && c.ClientIP != nil && c.ClientIP.TimeoutSeconds != nil {
			timeout = time.Duration(*c.ClientIP.TimeoutSeconds) * time.Second
		}
		if a, ok := b.clients[client]; ok && now.Sub(a.last) < timeout && slices.Contains(usable, a.to) {
			b.clients[client] = affinity{a.to, now}
			return a.to
		}
	}
	to := usable[b.next%len(usable)]
	b.next++
	if sticky {
		b.clients[client] = affinity{to, now}
	}
	return to
}
