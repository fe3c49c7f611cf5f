package network

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Config configures New.
type Config struct {
	// Informers are shared with other programs of the cluster. The caller starts them after New has returned.
	Informers informers.SharedInformerFactory
	// DNS is the address of the cluster's DNS. Default: 10.0.0.10.
	DNS netip.Addr
	// Seed determines which endpoint of a Service gets the first connection.
	Seed uint64
}

// Network connects the pods of a cluster. Its methods are safe for concurrent use.
type Network struct {
	config     Config
	services   cache.Indexer
	slices     cache.Indexer
	nodes      corelisters.NodeLister
	namespaces corelisters.NamespaceLister
	test       *Process // of Dial
	server     *Process // the API server
	dns        *Process
	proxy      *Process       // has the connections to kube-proxy
	serving    sync.WaitGroup // connections to the DNS and to kube-proxy

	mu         sync.Mutex
	stacks     map[netip.Addr]*stack
	nodeStacks map[string]*stack
	ports      map[nodeAddress]hostPort
	flows      map[ends]*flow       // of UDP
	balance    map[string]*balancer // by the key of a Service and the name of a port
	hosts      map[*Host]struct{}
	kubelets   map[string]*Process // by the name of the node
	tunnels    []*Process          // of ListenKubelet
	ended      bool
}

// nodeAddress is an address of a node, at which a container has a host port.
type nodeAddress struct {
	node     *stack // nil for all addresses but that of loopback, which each node has
	protocol corev1.Protocol
	address  netip.AddrPort
}

// hostPort is the port of a container to which a port of its node leads.
type hostPort struct {
	host *Host
	port uint16
}

// stack is a network namespace: the addresses of a pod or a node, and the sockets at their ports. The lock of the
// network guards it.
type stack struct {
	network   *Network
	ips       []netip.Addr
	node      string // the name; empty: it is outside of the cluster
	listeners ports  // of TCP
	packets   ports  // of UDP
	given     int    // ports given to clients
}

var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// The addresses of the API server and of the test. They are reserved for documentation.
var (
	serverAddress = netip.AddrFrom4([4]byte{192, 0, 2, 1})
	testAddress   = netip.AddrFrom4([4]byte{198, 51, 100, 1})
)

// New returns a network without hosts.
func New(config Config) (*Network, error) {
	if !config.DNS.IsValid() {
		config.DNS = netip.AddrFrom4([4]byte{10, 0, 0, 10})
	}
	core, discovery := config.Informers.Core().V1(), config.Informers.Discovery().V1()
	n := &Network{
		config: config, services: core.Services().Informer().GetIndexer(), slices: discovery.EndpointSlices().Informer().GetIndexer(),
		nodes: core.Nodes().Lister(), namespaces: core.Namespaces().Lister(),
		stacks: map[netip.Addr]*stack{}, ports: map[nodeAddress]hostPort{}, flows: map[ends]*flow{}, balance: map[string]*balancer{}, hosts: map[*Host]struct{}{}, kubelets: map[string]*Process{}, nodeStacks: map[string]*stack{},
	}
	if err := core.Services().Informer().AddIndexers(cache.Indexers{byAddress: addressesOf}); err != nil {
		return nil, fmt.Errorf("index Services: %w", err)
	}
	if err := discovery.EndpointSlices().Informer().AddIndexers(cache.Indexers{byService: serviceOf, byEndpoint: endpointsOf}); err != nil {
		return nil, fmt.Errorf("index EndpointSlices: %w", err)
	}
	n.server = n.newProcess(n.newStack("", serverAddress), resolver{network: n})
	n.proxy = n.newProcess(n.newStack(""), resolver{network: n})
	n.test = n.newProcess(n.newStack("", testAddress), n.resolverOf(Names{DNS: &runtimeapi.DNSConfig{
		Servers: []string{config.DNS.String()}, Options: []string{"ndots:5"}, Searches: []string{"default.svc." + domain, "svc." + domain, domain},
	}}))
	if err := n.listenDNS(); err != nil {
		return nil, fmt.Errorf("the DNS: %w", err)
	}
	return n, nil
}

func (n *Network) newStack(node string, ips ...netip.Addr) *stack {
	return &stack{network: n, ips: ips, node: node, listeners: ports{}, packets: ports{}}
}

func (s *stack) has(ip netip.Addr) bool { return slices.Contains(s.ips, ip) }

// source returns the address from which a connection to another one comes.
func (s *stack) source(to netip.Addr) netip.Addr {
	if to.IsLoopback() {
		return to
	}
	return s.own(to)
}

// own returns an address of the stack, if possible of the family of another address.
func (s *stack) own(to netip.Addr) netip.Addr {
	for _, ip := range s.ips {
		if ip.Is4() == to.Is4() {
			return ip
		}
	}
	return s.ips[0]
}

// Dial connects the test to an address of the cluster: the IP of a pod, a node or a Service, or a name such as
// web.default.svc. It resolves names like a pod in the namespace default. The errors are those of
// [net.Dialer.DialContext].
func (n *Network) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return n.test.Dial(ctx, network, address)
}

// ListenAPIServer listens at the port of the API server, to which the Service kubernetes leads.
func (n *Network) ListenAPIServer() (net.Listener, error) {
	return n.server.Listen("tcp", ":"+strconv.Itoa(serverPort))
}

// ListenKubelet returns a listener for the kubelet of a node. Only dial, which the API server uses, connects to it. end
// closes it and its connections.
func (n *Network) ListenKubelet() (l net.Listener, dial func(context.Context) (net.Conn, error), end func(), err error) {
	p := n.newProcess(n.newStack("", loopback), resolver{network: n})
	if l, err = p.Listen("tcp", net.JoinHostPort(loopback.String(), "0")); err != nil {
		return nil, nil, nil, err
	}
	n.mu.Lock()
	n.tunnels = append(n.tunnels, p)
	n.mu.Unlock()
	return l, func(ctx context.Context) (net.Conn, error) { return p.Dial(ctx, "tcp", l.Addr().String()) }, p.Close, nil
}

// ListenNode listens at a port of a node for all clients on the network. end closes the listener and its connections.
func (n *Network) ListenNode(node string, ip netip.Addr, port int) (l net.Listener, end func(), err error) {
	n.mu.Lock()
	p := n.newProcess(n.nodeStack(node, ip), resolver{network: n})
	n.tunnels = append(n.tunnels, p)
	n.mu.Unlock()
	if l, err = p.Listen("tcp", ":"+strconv.Itoa(port)); err != nil {
		return nil, nil, err
	}
	return l, p.Close, nil
}

// serverPort is the port of the API server behind the Service kubernetes.
const serverPort = 6443

// HTTPClient returns a client of the test: see [Process.HTTPClient].
func (n *Network) HTTPClient() *http.Client { return n.test.HTTPClient() }

// Close ends all hosts, the connections of the test, and the DNS.
func (n *Network) Close() {
	n.mu.Lock()
	n.ended = true
	processes := slices.AppendSeq(append([]*Process{n.test, n.server, n.dns, n.proxy}, n.tunnels...), maps.Values(n.kubelets))
	hosts := slices.SortedFunc(maps.Keys(n.hosts), func(a, b *Host) int { return a.stack.ips[0].Compare(b.stack.ips[0]) })
	n.mu.Unlock()
	for _, h := range hosts {
		h.Close()
	}
	for _, p := range processes {
		p.Close()
	}
	n.serving.Wait()
}

// Host is a pod on the network. Its own Process has the sockets that belong to no container.
type Host struct {
	*Process
	pod  *corev1.Pod
	node netip.Addr

	mu        sync.Mutex
	processes []*Process
	ended     bool
}

// AddHost adds a pod when its sandbox starts, with at least one address. A pod with hostNetwork has the address of its
// node. The host ports of the pod's containers lead to it.
func (n *Network) AddHost(pod *corev1.Pod, ips []string, nodeIP string, names Names) *Host {
	h := &Host{pod: pod, node: parse(nodeIP)}
	n.mu.Lock()
	stack := n.nodeStack(pod.Spec.NodeName, h.node)
	if !pod.Spec.HostNetwork {
		stack = n.newStack(pod.Spec.NodeName)
		for _, ip := range ips {
			stack.ips = append(stack.ips, parse(ip))
			n.stacks[parse(ip)] = stack
		}
	}
	h.Process = n.newProcess(stack, n.resolverOf(names))
	h.processes = []*Process{h.Process}
	n.hosts[h] = struct{}{}
	n.openPorts(h)
	ended := n.ended
	n.mu.Unlock()
	if ended {
		h.Close()
	}
	return h
}

// noAddress is the address of a node without one in its status. Nothing can be reached there.
var noAddress = netip.AddrFrom4([4]byte{169, 254, 0, 1})

func parse(ip string) netip.Addr {
	if a, err := netip.ParseAddr(ip); err == nil {
		return a.Unmap()
	}
	return noAddress
}

// nodeStack returns the stack of a node. The caller holds the lock.
func (n *Network) nodeStack(name string, ip netip.Addr) *stack {
	s := n.nodeStacks[name]
	if s == nil {
		s = n.newStack(name, ip)
		n.nodeStacks[name] = s
		if ip != noAddress {
			n.stacks[ip] = s
		}
	}
	return s
}

// openPorts opens the host ports of the containers. The caller holds the lock.
func (n *Network) openPorts(h *Host) {
	if h.pod.Spec.HostNetwork {
		return
	}
	for _, c := range slices.Concat(h.pod.Spec.InitContainers, h.pod.Spec.Containers) {
		for _, p := range c.Ports {
			if p.HostPort == 0 {
				continue
			}
			ips := []netip.Addr{h.node, loopback}
			if wanted, err := netip.ParseAddr(p.HostIP); err == nil && !wanted.IsUnspecified() {
				ips = []netip.Addr{wanted}
			}
			for _, ip := range ips {
				key := nodeAddress{protocol: cmp.Or(p.Protocol, tcp), address: netip.AddrPortFrom(ip, uint16(p.HostPort))}
				if ip.IsLoopback() {
					key.node = n.nodeStack(h.pod.Spec.NodeName, h.node)
				}
				n.ports[key] = hostPort{h, uint16(p.ContainerPort)}
			}
		}
	}
}

// HostAt returns the pod with an address, if it is not that of its node; nil: there is none.
func (n *Network) HostAt(ip string) *Host {
	n.mu.Lock()
	defer n.mu.Unlock()
	for h := range n.hosts {
		if !h.pod.Spec.HostNetwork && h.stack.has(parse(ip)) {
			return h
		}
	}
	return nil
}

// NewProcess adds a container to the pod. Close ends it.
func (h *Host) NewProcess() *Process {
	p := h.network.newProcess(h.stack, h.names)
	h.mu.Lock()
	ended := h.ended
	if !ended {
		h.processes = append(slices.DeleteFunc(h.processes, (*Process).isClosed), p)
	}
	h.mu.Unlock()
	if ended {
		p.Close()
	}
	return p
}

// Close removes the pod from the network when its sandbox stops. It resets its connections, and frees its addresses.
// Further calls do nothing.
func (h *Host) Close() {
	h.mu.Lock()
	processes := h.processes
	h.processes, h.ended = nil, true
	h.mu.Unlock()
	n := h.network
	n.mu.Lock()
	delete(n.hosts, h)
	for _, ip := range h.stack.ips {
		if !h.pod.Spec.HostNetwork && n.stacks[ip] == h.stack {
			delete(n.stacks, ip)
		}
	}
	for address, to := range n.ports {
		if to.host == h {
			delete(n.ports, address)
		}
	}
	n.mu.Unlock()
	for _, p := range processes {
		p.end(true)
	}
}
