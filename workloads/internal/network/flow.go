package network

import (
	"net/netip"
	"syscall"
	"time"
)

// How long Linux remembers a flow of packets without an answer, and with one: net.netfilter.nf_conntrack_udp_timeout and
// nf_conntrack_udp_timeout_stream.
const (
	flowTimeout     = 30 * time.Second
	answeredTimeout = 120 * time.Second
)

// flow is what the kernel remembers about packets from a socket to an address, so that they lead to one endpoint of a Service, and its
// answers come from that address. The lock of the network guards it.
type flow struct {
	client      *packetConn
	dialed      netip.AddrPort // where the client sends to
	local, from netip.AddrPort // the addresses that the server sees
	last        time.Time
	answered    bool
}

func (f *flow) over(now time.Time) bool {
	if f.answered {
		return now.Sub(f.last) >= answeredTimeout
	}
	return now.Sub(f.last) >= flowTimeout
}

// ends are the addresses of a packet as the server of a flow sends it.
type ends struct{ from, to netip.AddrPort }

// send sends a packet. An error is a syscall.Errno that the caller sees at once.
func (n *Network) send(c *packetConn, to netip.AddrPort, data []byte) error {
	if to.Addr().IsUnspecified() {
		to = netip.AddrPortFrom(loopback, to.Port())
	}
	receiver, from, err := n.flow(c, to)
	switch {
	case err == syscall.ECONNREFUSED:
		c.fail(err)
	case err == syscall.ENETUNREACH:
		return err
	case err == nil:
		receiver.receive(packet{from, append([]byte(nil), data...)})
	}
	return nil // on the way, a packet is lost without a word
}

// flow returns who gets a packet, and from which address.
func (n *Network) flow(c *packetConn, to netip.AddrPort) (*packetConn, netip.AddrPort, error) {
	now := time.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	source := netip.AddrPortFrom(c.process.stack.source(to.Addr()), c.local.Port())
	if f := n.flows[ends{source, to}]; f != nil && !f.over(now) {
		f.last, f.answered = now, true
		return f.client, f.dialed, nil
	}
	f := c.flows[to]
	if f != nil && f.over(now) {
		n.forgetFlow(f)
		f = nil
	}
	var last netip.AddrPort
	if f != nil {
		last = f.local
	}
	r := n.lead(c.process.stack, to, udp, last)
	if r.err != nil {
		return nil, netip.AddrPort{}, r.err
	}
	if f == nil || f.local != r.local {
		f = n.newFlow(c, to, r, now)
	}
	f.last = now
	if receiver := r.stack.receiver(f.local, f.from); receiver != nil {
		return receiver, f.from, nil
	}
	return nil, netip.AddrPort{}, syscall.ECONNREFUSED
}

// newFlow remembers a flow, in the place of those of the socket that are over. If the server has one from the same address already, the
// port is another one. The caller holds the lock.
func (n *Network) newFlow(c *packetConn, to netip.AddrPort, r lead, now time.Time) *flow {
	for dialed, f := range c.flows {
		if dialed == to || f.over(now) {
			n.forgetFlow(f)
		}
	}
	from := netip.AddrPortFrom(r.from, c.local.Port())
	for other := n.flows[ends{r.local, from}]; other != nil; other = n.flows[ends{r.local, from}] {
		if other.over(now) {
			n.forgetFlow(other)
			break
		}
		from = netip.AddrPortFrom(r.from, max(from.Port()+1, firstPort))
	}
	f := &flow{client: c, dialed: to, local: r.local, from: from}
	c.flows[to], n.flows[ends{r.local, from}] = f, f
	return f
}

// forgetFlow forgets a flow. The caller holds the lock.
func (n *Network) forgetFlow(f *flow) {
	delete(f.client.flows, f.dialed)
	delete(n.flows, ends{f.local, f.from})
}

// forgetFlows forgets the flows that a socket has begun.
func (n *Network) forgetFlows(c *packetConn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, f := range c.flows {
		n.forgetFlow(f)
	}
}

// receiver returns the socket that gets a packet for an address of the stack, or nil. One whose peer has sent it comes first. The
// caller holds the lock of the network.
func (s *stack) receiver(local, from netip.AddrPort) *packetConn {
	var found *packetConn
	for _, b := range s.packets[local.Port()] {
		c := b.(*packetConn)
		if !overlap(c.local.Addr(), local.Addr()) {
			continue
		}
		if c.remote == from {
			return c
		}
		if !c.remote.IsValid() {
			found = c
		}
	}
	return found
}
