package workloads

import (
	"net"
)

// ListenIn listens in the pod with an address, as its container would.
func (w *Workloads) ListenIn(ip, address string) (net.Listener, error) {
	return w.network.HostAt(ip).Listen("tcp", address)
}
