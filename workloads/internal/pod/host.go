package pod

import (
	"github.com/fakecluster/fakecluster/workloads/internal/network"
)

// host returns the pod as a host of the network, which it joins when host is first called. It returns nil if the nodes
// have no network.
func (p *Pod) host() *network.Host {
	n := p.node.config.Network
	if p.sandbox.host == nil && n != nil && !p.sandbox.stopped {
		p.sandbox.host = n.AddHost(p.api, p.addresses(), p.node.config.IP, network.Names{Hosts: p.hosts(), DNS: p.sandbox.dns})
	}
	return p.sandbox.host
}

// addresses returns the addresses of the pod.
func (p *Pod) addresses() []string {
	if len(p.ips) > 0 {
		return p.ips
	}
	var lines []string
	for _, ip := range p.api.Status.PodIPs { // the pod is being taken over
		lines = append(lines, ip.IP)
	}
	return append(lines, p.node.config.IP)
}

// stopSandbox ends the sandbox, which the containers share.
func (p *Pod) stopSandbox() {
	p.sandbox.stopped = true
	if p.sandbox.host != nil {
		p.sandbox.host.Close()
	}
}
