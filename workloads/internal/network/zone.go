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

// domain is the domain of the cluster.
const domain = "cluster.local"

// nameserver is the name of the DNS itself.
const nameserver = "ns.dns." + domain

// entry is a record of a name in the domain of the cluster: an address with a port, or another name.
type entry struct {
	name  string // that of the Service, or of one of its endpoints
	ip    netip.Addr
	port  int32  // -1: the endpoint has none
	alias string // the name of an ExternalName, in lower case and without a dot at its end
}

// inDomain reports whether a name without a final dot belongs to a domain.
func inDomain(name, domain string) bool { return name == domain || strings.HasSuffix(name, "."+domain) }

// entries returns the entries of a full name, in lower case and without a final dot: of a Service, its endpoints and
// ports, or the address of a pod, as CoreDNS has them. exists reports whether the name exists, even without entries.
func (n *Network) entries(full string) (found []entry, exists bool) {
	if !inDomain(full, domain) {
		return nil, false
	}
	if full == nameserver {
		return []entry{{name: full, ip: n.config.DNS}}, true
	}
	labels := strings.Split(full, ".")
	labels = labels[:len(labels)-strings.Count(domain, ".")-1]
	if len(labels) == 0 {
		return nil, true
	}
	kind, labels := labels[len(labels)-1], labels[:len(labels)-1]
	if kind != "svc" && kind != "pod" || len(labels) > 4 {
		return nil, false
	}
	if len(labels) == 0 {
		return nil, true
	}
	namespace, labels := labels[len(labels)-1], labels[:len(labels)-1]
	if _, err := n.namespaces.Get(namespace); err != nil {
		return nil, false
	}
	if len(labels) == 0 {
		return nil, true
	}
	name, before := labels[len(labels)-1], labels[:len(labels)-1]
	if kind == "pod" {
		found = podEntries(name, namespace)
	} else if service := n.service(namespace, name); service != nil {
		found = n.serviceEntries(service, before)
	}
	return found, len(found) > 0
}

// podEntries returns the address in a name such as 10-244-0-5. Like CoreDNS it does not look for the pod.
func podEntries(name, namespace string) []entry {
	text := strings.ReplaceAll(name, "-", ".")
	if strings.Count(text, ".") != 3 || strings.Contains(name, "--") {
		text = strings.ReplaceAll(name, "-", ":")
	}
	ip, err := netip.ParseAddr(text)
	if err != nil {
		return nil
	}
	return []entry{{name: name + "." + namespace + ".pod." + domain, ip: ip}}
}

// serviceEntries returns the entries of a Service for the labels before its name: the hostname of an endpoint, or a port
// and its protocol.
func (n *Network) serviceEntries(service *corev1.Service, before []string) (found []entry) {
	name := service.Name + "." + service.Namespace + ".svc." + domain
	if service.Spec.Type == corev1.ServiceTypeExternalName {
		alias := strings.ToLower(strings.TrimSuffix(service.Spec.ExternalName, "."))
		if _, err := netip.ParseAddr(alias); err == nil || len(before) > 0 {
			return nil // an address is not a name
		}
		return []entry{{name: name, alias: alias}}
	}
	endpoint, port, protocol := "", "", ""
	switch len(before) {
	case 1:
		endpoint = before[0]
	case 2:
		port, protocol = strings.TrimPrefix(before[0], "_"), strings.TrimPrefix(before[1], "_")
	}
	matches := func(p string, wanted corev1.Protocol) bool {
		return (port == "" || strings.EqualFold(port, p)) && (protocol == "" || strings.EqualFold(protocol, string(wanted)))
	}
	if endpoint != "" || service.Spec.ClusterIP == corev1.ClusterIPNone {
		for _, e := range n.endpointEntries(service) {
			if (endpoint == "" || endpoint == e.hostname) && matches(e.portName, e.protocol) {
				found = append(found, entry{name: e.hostname + "." + name, ip: e.ip, port: e.port})
			}
		}
		return found
	}
	for _, p := range service.Spec.Ports {
		if !matches(p.Name, cmp.Or(p.Protocol, tcp)) {
			continue
		}
		for _, ip := range clusterIPs(service) {
			found = append(found, entry{name: name, ip: ip, port: p.Port})
		}
	}
	return found
}

func (n *Network) service(namespace, name string) *corev1.Service {
	object, ok, _ := n.services.GetByKey(namespace + "/" + name)
	if !ok {
		return nil
	}
	return object.(*corev1.Service)
}

func clusterIPs(service *corev1.Service) (found []netip.Addr) {
	texts := service.Spec.ClusterIPs
	if len(texts) == 0 {
		texts = []string{service.Spec.ClusterIP}
	}
	for _, text := range texts {
		if ip, err := netip.ParseAddr(text); err == nil {
			found = append(found, ip)
		}
	}
	return found
}

// endpointEntry is a port of a ready endpoint.
type endpointEntry struct {
	hostname string
	ip       netip.Addr
	port     int32
	portName string
	protocol corev1.Protocol
}

// endpointEntries returns the ready endpoints of a Service, in the order of their addresses, once for each port.
func (n *Network) endpointEntries(service *corev1.Service) (found []endpointEntry) {
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
				one := endpointEntry{hostname: hostnameOf(address, ptr.Deref(e.Hostname, "")), ip: ip, port: -1}
				if len(slice.Ports) == 0 {
					found = append(found, one)
				}
				for _, p := range slice.Ports {
					one.port, one.portName, one.protocol = ptr.Deref(p.Port, -1), ptr.Deref(p.Name, ""), ptr.Deref(p.Protocol, "")
					found = append(found, one)
				}
			}
		}
	}
	slices.SortStableFunc(found, func(a, b endpointEntry) int { return a.ip.Compare(b.ip) })
	return found
}

// hostnameOf returns the label of an endpoint in the domain of its Service.
func hostnameOf(address, hostname string) string {
	if hostname != "" {
		return hostname
	}
	name := strings.NewReplacer(".", "-", ":", "-").Replace(address)
	if strings.HasSuffix(name, "-") {
		name += "0"
	}
	return name
}

// namesOf returns the names of an address: that of the Service with this cluster IP, or those of the endpoints with the
// address.
func (n *Network) namesOf(ip netip.Addr) (names []string) {
	for _, service := range n.servicesBy(ip.String()) {
		if slices.Contains(clusterIPs(service), ip) {
			return []string{service.Name + "." + service.Namespace + ".svc." + domain}
		}
	}
	for _, slice := range n.slicesBy(byEndpoint, ip.String()) {
		for _, e := range slice.Endpoints {
			if isReady(&e) && slices.Contains(e.Addresses, ip.String()) {
				name := hostnameOf(ip.String(), ptr.Deref(e.Hostname, "")) + "." + slice.Labels[discoveryv1.LabelServiceName] + "." + slice.Namespace + ".svc." + domain
				if !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	return names
}
