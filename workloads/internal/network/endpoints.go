package network

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
)

// byService is the name of the index of EndpointSlices by the key of their Service.
const byService = "fakecluster.io/service"

func serviceOf(object any) ([]string, error) {
	slice, ok := object.(*discoveryv1.EndpointSlice)
	if !ok || slice.Labels[discoveryv1.LabelServiceName] == "" {
		return nil, nil
	}
	return []string{slice.Namespace + "/" + slice.Labels[discoveryv1.LabelServiceName]}, nil
}

// byEndpoint is the name of the index of EndpointSlices of Services by the addresses of their endpoints.
const byEndpoint = "fakecluster.io/endpoint"

func endpointsOf(object any) (keys []string, err error) {
	slice, ok := object.(*discoveryv1.EndpointSlice)
	if !ok || slice.Labels[discoveryv1.LabelServiceName] == "" {
		return nil, nil
	}
	for _, e := range slice.Endpoints {
		keys = append(keys, e.Addresses...)
	}
	return keys, nil
}

// slicesOf returns the EndpointSlices of a Service, in the order of their names.
func (n *Network) slicesOf(namespace, service string) []*discoveryv1.EndpointSlice {
	return n.slicesBy(byService, namespace+"/"+service)
}

// slicesBy returns the EndpointSlices with a key of an index, in the order of their names.
func (n *Network) slicesBy(index, key string) []*discoveryv1.EndpointSlice {
	objects, _ := n.slices.ByIndex(index, key)
	found := make([]*discoveryv1.EndpointSlice, 0, len(objects))
	for _, o := range objects {
		found = append(found, o.(*discoveryv1.EndpointSlice))
	}
	slices.SortFunc(found, func(a, b *discoveryv1.EndpointSlice) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return found
}

// usable returns the endpoints that may answer a connection, as kube-proxy chooses them: the ready ones, or, if there
// are none, those that are serving and terminating.
func (n *Network) usable(t target) []netip.AddrPort {
	var terminating []netip.AddrPort
	var ready []hinted
	for _, slice := range n.slicesOf(t.service.Namespace, t.service.Name) {
		if string(slice.AddressType) != string(t.family) || isNotForProxy(slice.Labels) {
			continue
		}
		for _, p := range slice.Ports {
			if p.Port == nil || ptr.Deref(p.Name, "") != t.port.Name || ptr.Deref(p.Protocol, tcp) != cmp.Or(t.port.Protocol, tcp) {
				continue
			}
			for _, e := range slice.Endpoints {
				if t.local != nil && ptr.Deref(e.NodeName, "") != *t.local || len(e.Addresses) == 0 {
					continue
				}
				ip, err := netip.ParseAddr(e.Addresses[0])
				if err != nil {
					continue
				}
				endpoint := netip.AddrPortFrom(ip, uint16(*p.Port))
				switch {
				case isReady(&e):
					ready = append(ready, hinted{endpoint, e.Hints})
				case ptr.Deref(e.Conditions.Serving, false) && ptr.Deref(e.Conditions.Terminating, false):
					terminating = append(terminating, endpoint)
				}
			}
		}
	}
	found := terminating
	if len(ready) > 0 {
		found = nil
		for _, e := range n.near(t, ready) {
			found = append(found, e.address)
		}
	}
	slices.SortFunc(found, netip.AddrPort.Compare)
	return slices.Compact(found)
}

// hinted is an endpoint with the hints of its EndpointSlice.
type hinted struct {
	address netip.AddrPort
	hints   *discoveryv1.EndpointHints
}

// forNode reports whether the hints are for a Node, and whether there are any.
func (e hinted) forNode(node string) (matches, has bool) {
	if e.hints == nil {
		return false, false
	}
	return slices.Contains(e.hints.ForNodes, discoveryv1.ForNode{Name: node}), len(e.hints.ForNodes) > 0
}

// forZone reports whether the hints are for a zone, and whether there are any.
func (e hinted) forZone(zone string) (matches, has bool) {
	if e.hints == nil {
		return false, false
	}
	return slices.Contains(e.hints.ForZones, discoveryv1.ForZone{Name: zone}), len(e.hints.ForZones) > 0
}

// near returns the endpoints with hints for the Node of the client, or for its zone. It returns all endpoints if any
// lacks such hints.
func (n *Network) near(t target, ready []hinted) []hinted {
	if t.local != nil || t.proxy == "" {
		return ready
	}
	zone := ""
	if node, err := n.nodes.Get(t.proxy); err == nil {
		zone = node.Labels[corev1.LabelTopologyZone]
	}
	for _, matches := range []func(hinted) (matches, has bool){
		func(e hinted) (bool, bool) { return e.forNode(t.proxy) }, func(e hinted) (bool, bool) { return e.forZone(zone) },
	} {
		var found []hinted
		complete := true
		for _, e := range ready {
			match, has := matches(e)
			if complete = complete && has; match {
				found = append(found, e)
			}
		}
		if complete && len(found) > 0 {
			return found
		}
	}
	return ready
}

// Server is a pod behind a port of a Service.
type Server struct {
	Listens bool        // at the port
	Pod     *corev1.Pod // nil if it listens
	Image   string      // of the container that declares the port, or of the first one
}

// Servers returns the pods that may answer at a port of a Service.
func (n *Network) Servers(namespace, service string, port int32) []Server {
	object, found, _ := n.services.GetByKey(namespace + "/" + service) // of a cache, which does not fail
	if !found {
		return nil
	}
	s := object.(*corev1.Service)
	index := slices.IndexFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == port && cmp.Or(p.Protocol, tcp) == tcp })
	if index < 0 || len(s.Spec.IPFamilies) == 0 {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	var servers []Server
	for _, endpoint := range n.usable(target{service: s, port: &s.Spec.Ports[index], family: s.Spec.IPFamilies[0]}) {
		stack := n.stacks[endpoint.Addr()]
		if stack != nil && stack.listener(endpoint) != nil {
			servers = append(servers, Server{Listens: true})
			continue
		}
		for host := range n.hosts {
			if c := declaring(host.pod, endpoint.Port()); host.stack == stack && (c != nil || !host.pod.Spec.HostNetwork) {
				servers = append(servers, Server{Pod: host.pod, Image: cmp.Or(c, &host.pod.Spec.Containers[0]).Image})
			}
		}
	}
	return servers
}

// declaring returns the container of a pod that declares a port; nil: there is none.
func declaring(pod *corev1.Pod, port uint16) *corev1.Container {
	for i, c := range pod.Spec.Containers {
		if slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.ContainerPort == int32(port) }) {
			return &pod.Spec.Containers[i]
		}
	}
	return nil
}

func isReady(e *discoveryv1.Endpoint) bool { return ptr.Deref(e.Conditions.Ready, true) }
