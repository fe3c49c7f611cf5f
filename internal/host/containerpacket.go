package host

import (
	"net"
	"net/netip"
)

// listenPacket opens a UDP port of the Pod.
func listenPacket(c call, r *running, a ContainerAction, result *ContainerResult) error {
	conn, err := r.container.ListenPacket(a.Network, a.Address)
	if err == nil {
		result.Socket, result.Local = c.cluster.addSocket(r, conn), conn.LocalAddr().String()
	}
	return err
}

// readFrom waits for a packet.
func readFrom(c call, r *running, a ContainerAction, result *ContainerResult) error {
	conn, ok := c.cluster.socket(r, a.Socket).(net.PacketConn)
	if !ok {
		return net.ErrClosed
	}
	data := make([]byte, maxInput)
	n, from, err := conn.ReadFrom(data)
	if err == nil {
		result.Data, result.Remote = data[:n], from.String()
	}
	return err
}

// writeTo sends a packet.
func writeTo(c call, r *running, a ContainerAction, _ *ContainerResult) error {
	conn, ok := c.cluster.socket(r, a.Socket).(net.PacketConn)
	if !ok {
		return net.ErrClosed
	}
	to, err := netip.ParseAddrPort(a.Address)
	if err == nil {
		_, err = conn.WriteTo(a.Data, net.UDPAddrFromAddrPort(to))
	}
	return err
}
