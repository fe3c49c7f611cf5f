package pod

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/network/dns"
)

// clusterDomain is the domain of the names of Services.
const clusterDomain = "cluster.local"

// dnsConfig returns the content of the pod's /etc/resolv.conf, by the kubelet's own code with the flags --cluster-dns,
// --cluster-domain and --resolv-conf="": a node does not have a DNS of its own.
func (p *Pod) dnsConfig(ctx context.Context) *runtimeapi.DNSConfig {
	configurer := dns.NewConfigurer(podEvents{ctx: ctx, recorder: p.node.config.Events}, nil, []net.IP{net.ParseIP(p.node.config.IP)},
		[]net.IP{net.ParseIP(p.node.config.DNS)}, clusterDomain, "")
	config, err := configurer.GetPodDNS(klog.NewContext(ctx, p.node.config.Logger), p.api)
	if err != nil {
		// The kubelet's code reads a file only with the flag --resolv-conf.
		p.node.config.Report(fmt.Errorf("the DNS of pod %s: %w", p.key(), err))
		return &runtimeapi.DNSConfig{}
	}
	slices.Sort(config.Options) // with a dnsConfig they come from a map
	return config
}

// resolvConf returns /etc/resolv.conf, as containerd writes it.
func resolvConf(config *runtimeapi.DNSConfig) string {
	var b strings.Builder
	if len(config.Searches) > 0 {
		fmt.Fprintf(&b, "search %s\n", strings.Join(config.Searches, " "))
	}
	for _, server := range config.Servers {
		fmt.Fprintf(&b, "nameserver %s\n", server)
	}
	if len(config.Options) > 0 {
		fmt.Fprintf(&b, "options %s\n", strings.Join(config.Options, " "))
	}
	return b.String()
}
