package rest

import "net/netip"

// Network has the addresses in the initial objects of a server. All fields have useful zero
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
