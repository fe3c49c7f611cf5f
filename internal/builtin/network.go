package builtin

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// Network has the addresses of a server and its services, as in the initial objects. All fields have useful zero values.
type Network struct {
	// Services is the address range of services, with at least eight addresses; zero: 10.0.0.0/24.
	Services netip.Prefix
	// Secondary is a range of the other IP family; zero: none.
	Secondary netip.Prefix
	// Server is the address of the server. Zero: 192.0.2.1, or 2001:db8:ffff::1 if services have IPv6 addresses; these
	// are reserved for documentation. With a loopback address the Service kubernetes has no Endpoints, which must not
	// contain one.
	Server netip.Addr
	// Port is the port of the server; zero: 6443.
	Port int
	// NodePorts is the range of the node ports of services; zero: 30000-32767.
	NodePorts utilnet.PortRange
}

// ParseServiceRanges parses one or two address ranges for services, separated by a comma. Of two ranges, one must be
// IPv4 and the other IPv6. Its errors are those of kube-apiserver's --service-cluster-ip-range.
func ParseServiceRanges(text string) (primary, secondary netip.Prefix, err error) {
	texts := strings.Split(text, ",")
	if len(texts) > 2 {
		return primary, secondary, fmt.Errorf("--service-cluster-ip-range must not contain more than two entries")
	}
	if primary, err = netip.ParsePrefix(texts[0]); err != nil {
		return primary, secondary, errors.New("service-cluster-ip-range[0] is not a valid cidr")
	}
	if primary, err = rangeOfServices(primary); err != nil {
		return primary, secondary, fmt.Errorf("error determining service IP ranges for primary service cidr: %w", err)
	}
	if len(texts) == 1 {
		return primary, secondary, nil
	}
	if secondary, err = netip.ParsePrefix(texts[1]); err != nil {
		return primary, secondary, errors.New("service-cluster-ip-range[1] is not an ip net")
	}
	if secondary, err = rangeOfServices(secondary); err != nil {
		return primary, secondary, fmt.Errorf("service-cluster-ip-range[1]: %w", err)
	}
	if primary.Addr().Is4() == secondary.Addr().Is4() {
		err = fmt.Errorf("--service-cluster-ip-range[0] and --service-cluster-ip-range[1] must be of different IP family")
	}
	return primary, secondary, err
}

// rangeOfServices returns a range without host bits. It fails if services cannot have the range.
func rangeOfServices(prefix netip.Prefix) (netip.Prefix, error) {
	switch {
	case prefix.Addr().BitLen()-prefix.Bits() < 3:
		return prefix, fmt.Errorf("the service cluster IP range must be at least %d IP addresses", 8)
	case prefix.Addr().Is6() && prefix.Bits() < 64:
		return prefix, fmt.Errorf("shortest allowed prefix length for service CIDR is 64, got %d", prefix.Bits())
	}
	return prefix.Masked(), nil
}

// String returns a text that differs for different networks.
func (n Network) String() string {
	if n == (Network{}) {
		return ""
	}
	return fmt.Sprint("@", n.ServiceRanges(), n.Server, n.Port)
}

// ServiceRanges returns the address ranges of services, the primary one first.
func (n Network) ServiceRanges() []netip.Prefix {
	ranges := []netip.Prefix{netip.MustParsePrefix(defaultServiceCIDR)}
	if n.Services.IsValid() {
		ranges[0] = n.Services
	}
	if n.Secondary.IsValid() {
		ranges = append(ranges, n.Secondary)
	}
	return ranges
}

// NodePortRange returns the range of the node ports of services.
func (n Network) NodePortRange() utilnet.PortRange {
	if n.NodePorts.Size == 0 {
		return utilnet.PortRange{Base: 30000, Size: 2768}
	}
	return n.NodePorts
}

// The addresses in initialText, which are the defaults.
const (
	defaultServerService = "10.0.0.1"
	defaultServer        = "192.0.2.1"
	defaultServer6       = "2001:db8:ffff::1" // if services have IPv6 addresses
	defaultPort          = 6443
)

// adapt replaces the addresses in an object of initialText by those of this network. ok is false if a cluster in this
// network does not have the object.
func (n Network) adapt(key, text string) (string, string, bool) {
	kind, name, _ := strings.Cut(strings.TrimPrefix(key, keyRoot), "/")
	ranges := n.ServiceRanges()
	service := ranges[0].Addr().Next().String()
	var quoted []string
	for _, r := range ranges {
		quoted = append(quoted, `"`+r.String()+`"`)
	}
	replaced := []string{`"` + defaultServiceCIDR + `"`, strings.Join(quoted, ","), `"` + defaultServerService + `"`, `"` + service + `"`}
	server := n.Server
	if ranges[0].Addr().Is6() {
		replaced = append(replaced, `"IPv4"`, `"IPv6"`)
		if !server.IsValid() {
			server = netip.MustParseAddr(defaultServer6)
		}
	}
	if server.IsValid() {
		replaced = append(replaced, `"`+defaultServer+`"`, `"`+server.String()+`"`)
	}
	if n.Port != 0 {
		replaced = append(replaced, fmt.Sprintf(`ort":%d`, defaultPort), fmt.Sprintf(`ort":%d`, n.Port)) // of port and targetPort
	}
	switch {
	case kind == "ipaddresses" && name == defaultServerService:
		key = KeyPrefix("ipaddresses") + service
	case (kind == "endpoints" || kind == "endpointslices") && name == "default/kubernetes":
		if n.Server.IsLoopback() {
			return "", "", false
		}
	case kind == "services" && name == "default/kubernetes", kind == "servicecidrs":
	default:
		return key, text, true
	}
	return key, strings.NewReplacer(replaced...).Replace(text), true
}
