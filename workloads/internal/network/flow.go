package network

import (
	"net/netip"
	"syscall"
	"time"
)

// The timeouts of Linux for flows of packets without and with an answer: net.netfilter.nf_conntrack_udp_timeout and
// nf_conntrack_udp_timeout_stream.
const (
	flowTimeout     = 30 * time.Second
	answeredTimeout = 120 * time.Second
)

// flow is a conntrack entry for packets from a socket to an address: all go to one endpoint of a Service, and its
// answers come from the dialed address. The lock of the network guards it.
type flow struct {
	client      *packetConn
	dialed      netip.AddrPort // the address to which the client sends
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

// ends are the addresses of a packet from the server of a flow.
type ends struct{ from, to netip.AddrPort }

// send sends a packet. Its error is a syscall.Errno for the caller.
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
	return nil // a packet that is lost on the way is no error
}

// flow returns the receiver of a packet, and the address from which it comes.
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

// newFlow adds a flow, and removes those of the socket that are over. If the server already has one from the same
// address, the new one gets another port. The caller holds the lock.
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

// forgetFlow removes a flow. The caller holds the lock.
func (n *Network) forgetFlow(f *flow) {
	delete(f.client.flows, f.dialed)
	delete(n.flows, ends{f.local, f.from})
}

// forgetFlows removes the flows that a socket has begun.
func (n *Network) forgetFlows(c *packetConn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, f := range c.flows {
		n.forgetFlow(f)
	}
}

// receiver returns the socket that receives a packet for an address of the stack; nil: there is none. A socket whose
// peer is the sender comes first. The caller holds the lock of the network.
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
