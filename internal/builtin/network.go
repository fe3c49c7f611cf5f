package builtin

import (
	"fmt"
	"net/netip"
	"strings"
)

// Network has the addresses in the initial objects of a cluster. All fields have useful zero
// values.
type Network struct {
	// Services is the range of the services' addresses: IPv4, with at least eight
	// addresses. Zero: 10.0.0.0/24.
	Services netip.Prefix
	// Server is the address of the server. Zero: 192.0.2.1, which is reserved for examples. For a
	// loopback address the Service kubernetes has no Endpoints, because Endpoints may not have
	// such an address.
	Server netip.Addr
	// Port is the port of the server. Zero: 6443.
	Port int
}

// ParseServiceRange reads a range of addresses for services.
func ParseServiceRange(text string) (netip.Prefix, error) {
	if strings.Contains(text, ",") {
		return netip.Prefix{}, fmt.Errorf("%q: fakecluster has services of one family only; give one range", text)
	}
	prefix, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return prefix, err
	case !prefix.Addr().Is4():
		return prefix, fmt.Errorf("%q: fakecluster gives services IPv4 addresses only", text)
	case prefix.Bits() > 29:
		return prefix, fmt.Errorf("the service cluster IP range must be at least %d IP addresses", 8)
	case prefix.Bits() < 12:
		return prefix, fmt.Errorf("specified --service-cluster-ip-range is too large; for 32-bit addresses, the mask must be >= 12")
	}
	return prefix.Masked(), nil
}

// String tells networks apart.
func (n Network) String() string {
	if n == (Network{}) {
		return ""
	}
	return fmt.Sprint("@", n.ServiceRange(), n.Server, n.Port)
}

// ServiceRange has the addresses that services get.
func (n Network) ServiceRange() netip.Prefix {
	if n.Services.IsValid() {
		return n.Services
	}
	return netip.MustParsePrefix(defaultServiceCIDR)
}

// The addresses in initialText: those of a cluster without options.
const (
	defaultServerService = "10.0.0.1"
	defaultServer        = "192.0.2.1"
	defaultPort          = 6443
)

// adapt changes the addresses in an object of initialText to those of this network. Ok is false
// if a cluster in this network does not have the object.
func (n Network) adapt(key, text string) (string, string, bool) {
	kind, name, _ := strings.Cut(strings.TrimPrefix(key, "/registry/"), "/")
	service := n.ServiceRange().Addr().Next().String()
	replaced := []string{defaultServiceCIDR, n.ServiceRange().String(), `"` + defaultServerService + `"`, `"` + service + `"`}
	if n.Server.IsValid() {
		replaced = append(replaced, `"`+defaultServer+`"`, `"`+n.Server.String()+`"`)
	}
	if n.Port != 0 {
		replaced = append(replaced, fmt.Sprintf(`ort":%d`, defaultPort), fmt.Sprintf(`ort":%d`, n.Port)) // of port and targetPort
	}
	switch {
	case kind == "ipaddresses" && name == defaultServerService:
		key = "/registry/ipaddresses/" + service
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
