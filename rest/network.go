package rest

import (
	"net/netip"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// Network has the addresses in the initial objects of a server. All fields have useful zero
// values.
type Network struct {
	// Services is the range of the services' addresses, with at least eight of them. Zero:
	// 10.0.0.0/24.
	Services netip.Prefix
	// Secondary is a range of the other family; zero: there is none.
	Secondary netip.Prefix
	// Server is the address of the server. Zero: 192.0.2.1, or 2001:db8:ffff::1 if services have
	// IPv6 addresses; these are reserved for examples. For a loopback address the Service
	// kubernetes does not have Endpoints, because Endpoints may not have such an address.
	Server netip.Addr
	// Port is the port of the server. Zero: 6443.
	Port int
	// NodePorts are the node ports that services may have. Zero: 30000 to 32767.
	NodePorts utilnet.PortRange
}
