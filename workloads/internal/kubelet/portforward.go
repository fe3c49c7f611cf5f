package kubelet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"k8s.io/cri-streaming/pkg/streaming/portforward"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
)

// portForward connects the client with ports of a pod.
func (s *Server) portForward(w http.ResponseWriter, req *http.Request) {
	options, err := portforward.NewV4Options(req)
	if err != nil {
		fail(w, http.StatusBadRequest, err)
		return
	}
	pod := s.node.Pod(req.PathValue("namespace"), req.PathValue("pod"))
	if pod == nil {
		fail(w, http.StatusNotFound, errors.New("pod does not exist"))
		return
	}
	dial := s.node.Dialer(pod)
	if dial == nil {
		fail(w, http.StatusInternalServerError, fmt.Errorf("pod not found (%q)", kubecontainer.GetPodFullName(pod)))
		return
	}
	portforward.ServePortForward(w, req, forwarder(dial), pod.Name, string(pod.UID), options, idleTimeout, creationTimeout, portforward.SupportedProtocols)
}

// forwarder connects to addresses inside a pod. It implements portforward.PortForwarder.
type forwarder func(ctx context.Context, network, address string) (net.Conn, error)

// PortForward implements portforward.PortForwarder. It returns when the pod has closed the connection, or the client
// both directions.
func (f forwarder) PortForward(ctx context.Context, name, uid string, port int32, stream io.ReadWriteCloser) error {
	defer stream.Close()
	c, err := f(ctx, "tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil { // as containerd
		return fmt.Errorf("failed to execute portforward in network namespace of pod %q: failed to connect to localhost:%d inside namespace %q, IPv4: %w",
			uid, port, uid, err)
	}
	defer c.Close()
	go func() {
		_, _ = io.Copy(c, stream)
		if half, ok := c.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	}()
	_, err = io.Copy(stream, c)
	return err
}
