package container

import (
	"context"
	"fmt"
	"io"
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
)

// forward forwards the ports that a container declares, and those of its probes, to the same ports of 127.0.0.1, where a
// program listens. It ends with the container.
func forward(ctx context.Context, c *Container) error {
	if c.sockets == nil {
		return nil
	}
	for _, port := range sets.List(portsOf(c.spec)) {
		address := ":" + strconv.Itoa(int(port))
		l, err := c.Listen("tcp", address)
		if err != nil {
			return fmt.Errorf("port %d: %w", port, err)
		}
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				go connect(ctx, conn, "127.0.0.1"+address)
			}
		}()
	}
	return nil
}

// portsOf returns the TCP ports that a container declares, and those of its probes.
func portsOf(spec *corev1.Container) sets.Set[int32] {
	ports := sets.Set[int32]{}
	for _, p := range spec.Ports {
		if p.Protocol == corev1.ProtocolTCP || p.Protocol == "" {
			ports.Insert(p.ContainerPort)
		}
	}
	for _, probe := range []*corev1.Probe{spec.ReadinessProbe, spec.LivenessProbe, spec.StartupProbe} {
		switch {
		case probe == nil:
		case probe.HTTPGet != nil && probe.HTTPGet.Port.Type == intstr.Int:
			ports.Insert(probe.HTTPGet.Port.IntVal)
		case probe.TCPSocket != nil && probe.TCPSocket.Port.Type == intstr.Int:
			ports.Insert(probe.TCPSocket.Port.IntVal)
		case probe.GRPC != nil:
			ports.Insert(probe.GRPC.Port)
		}
	}
	return ports
}

// connect copies between a connection of the pods' network and a socket until both are closed.
func connect(ctx context.Context, conn net.Conn, address string) {
	defer func() { _ = conn.Close() }()
	var d net.Dialer
	socket, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return // the client sees that the connection closes
	}
	defer func() { _ = socket.Close() }()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(socket, conn)
		closeWrite(socket)
	}()
	_, _ = io.Copy(conn, socket)
	closeWrite(conn)
	<-done
}

func closeWrite(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}
