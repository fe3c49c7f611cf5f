package network

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Names are the files by which the containers of a pod resolve names.
type Names struct {
	Hosts string                // the content of /etc/hosts
	DNS   *runtimeapi.DNSConfig // of /etc/resolv.conf
}

// maxAliases is the maximal length of a chain of ExternalNames, as in CoreDNS.
const maxAliases = 10

// resolver resolves names as a pod does: by its hosts file, and by the DNS of the cluster.
type resolver struct {
	network  *Network
	hosts    map[string][]netip.Addr
	searches []string // domains for relative names
	ndots    int      // a name with fewer dots is relative first
	servers  []string // without the DNS of the cluster, only names in hosts are found
}

// resolverOf returns the resolver of a pod.
func (n *Network) resolverOf(names Names) resolver {
	r := resolver{network: n, hosts: hostsOf(names.Hosts), ndots: 1}
	if names.DNS == nil {
		return r
	}
	r.servers = names.DNS.Servers
	for _, s := range names.DNS.Searches {
		if s = strings.TrimSuffix(strings.ToLower(s), "."); s != "" {
			r.searches = append(r.searches, s)
		}
	}
	for _, option := range names.DNS.Options {
		if value, ok := strings.CutPrefix(option, "ndots:"); ok {
			if dots, err := strconv.Atoi(value); err == nil {
				r.ndots = dots
			}
		}
	}
	return r
}

// hostsOf returns the addresses of the names in a hosts file.
func hostsOf(file string) map[string][]netip.Addr {
	hosts := map[string][]netip.Addr{}
	for line := range strings.Lines(file) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		ip, err := netip.ParseAddr(fields[0])
		if err != nil {
			continue
		}
		for _, name := range fields[1:] {
			name = strings.ToLower(name)
			hosts[name] = append(hosts[name], ip.Unmap())
		}
	}
	return hosts
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

// tries returns the full names of a name, in the order in which a pod tries them.
func (r resolver) tries(name string) []string {
	if !slices.Contains(r.servers, r.network.config.DNS.String()) {
		return nil
	}
	if full, ok := strings.CutSuffix(name, "."); ok {
		return []string{full}
	}
	names := make([]string, 0, len(r.searches)+1)
	for _, s := range r.searches {
		names = append(names, name+"."+s)
	}
	if strings.Count(name, ".") >= r.ndots {
		return append([]string{name}, names...)
	}
	return append(names, name)
}

func (r resolver) noSuchHost(name string) *net.DNSError {
	server := r.network.config.DNS.String()
	if len(r.servers) > 0 {
		server = r.servers[0]
	}
	return &net.DNSError{Err: "no such host", Name: name, Server: net.JoinHostPort(server, strconv.Itoa(dnsPort)), IsNotFound: true}
}

// addressesOf returns the addresses of a full name in the DNS of the cluster.
func (n *Network) addressesOf(full string, aliases int) (found []netip.Addr) {
	entries, _ := n.entries(full)
	for _, e := range entries {
		switch {
		case e.alias == "":
			if !slices.Contains(found, e.ip) {
				found = append(found, e.ip)
			}
		case aliases > 0:
			found = append(found, n.addressesOf(e.alias, aliases-1)...)
		}
	}
	return found
}
