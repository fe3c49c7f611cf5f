package network

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-base/version"
	"k8s.io/kubernetes/pkg/probe"
	probehttp "k8s.io/kubernetes/pkg/probe/http"
)

// Probe runs a probe of a container once, from the node of the pod, as its kubelet does: an HTTP request, a TCP
// connection or a gRPC health check. It takes at most the timeoutSeconds of the probe. The output is that of the
// kubelet's Events. It returns an error for an exec probe.
func (h *Host) Probe(ctx context.Context, spec *corev1.Probe, container *corev1.Container) (probe.Result, string, error) {
	from := h.network.kubelet(h.stack.node, h.node)
	ip, timeout := h.stack.ips[0].String(), time.Duration(max(spec.TimeoutSeconds, 1))*time.Second
	switch {
	case spec.HTTPGet != nil:
		return from.probeHTTP(ctx, spec.HTTPGet, container, ip, timeout)
	case spec.TCPSocket != nil:
		port, err := probe.ResolveContainerPort(spec.TCPSocket.Port, container)
		if err != nil {
			return probe.Unknown, "", err
		}
		if spec.TCPSocket.Host != "" {
			ip = spec.TCPSocket.Host
		}
		return from.probeTCP(ctx, net.JoinHostPort(ip, strconv.Itoa(port)), timeout)
	case spec.GRPC != nil:
		return from.probeGRPC(ctx, spec.GRPC, ip, timeout)
	}
	return probe.Unknown, "", errors.New("the probe has neither httpGet, tcpSocket nor grpc")
}

// HookClient returns a client for a lifecycle hook of a container: from the node of the pod, without checks of certificates.
func (h *Host) HookClient() *http.Client {
	return h.network.kubelet(h.stack.node, h.node).newProbeClient(nil).Client
}

// kubelet returns the process of a node that probes its pods.
func (n *Network) kubelet(node string, ip netip.Addr) *Process {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.kubelets[node]
	if p == nil {
		p = n.newProcess(n.nodeStack(node, ip), resolver{network: n})
		n.kubelets[node] = p
	}
	return p
}

// probeClient is the client of a kubelet for one probe.
type probeClient struct{ *http.Client }

// Do sends the request. After the deadline of the context, its error is that of a client with a Timeout. A real Timeout
// would be a second timer, and in virtual time either might fire first.
func (c probeClient) Do(req *http.Request) (*http.Response, error) {
	resp, err := c.Client.Do(req)
	if err != nil && errors.Is(req.Context().Err(), context.DeadlineExceeded) {
		err = &url.Error{Op: "Get", URL: req.URL.String(), Err: errors.New("context deadline exceeded (Client.Timeout exceeded while awaiting headers)")}
	}
	return resp, err
}

func (p *Process) newProbeClient(protocol *corev1.HTTPProtocol) probeClient {
	t := &http.Transport{
		DialContext: p.Dial, DisableKeepAlives: true, DisableCompression: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, TLSHandshakeTimeout: 10 * time.Second, ForceAttemptHTTP2: true,
	}
	if protocol != nil && *protocol == corev1.HTTPProtocolHTTP2 {
		t.TLSClientConfig, t.ForceAttemptHTTP2 = nil, false
		t.Protocols = new(http.Protocols)
		t.Protocols.SetUnencryptedHTTP2(true)
	}
	return probeClient{&http.Client{Transport: t, CheckRedirect: probehttp.RedirectChecker(false)}}
}

func (p *Process) probeHTTP(ctx context.Context, action *corev1.HTTPGetAction, container *corev1.Container, ip string, timeout time.Duration) (probe.Result, string, error) {
	req, err := probehttp.NewRequestForHTTPGetAction(action, container, ip, "probe")
	if err != nil {
		return probe.Unknown, "", err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	client := p.newProbeClient(action.Protocol)
	defer client.CloseIdleConnections()
	return probehttp.DoHTTPProbe(req.WithContext(ctx), client)
}

func (p *Process) probeTCP(ctx context.Context, address string, timeout time.Duration) (probe.Result, string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	c, err := p.Dial(ctx, "tcp", address)
	if err != nil {
		return probe.Failure, err.Error(), nil
	}
	_ = c.Close()
	return probe.Success, "", nil
}

// probeGRPC does the same as k8s.io/kubernetes/pkg/probe/grpc, which dials a socket.
func (p *Process) probeGRPC(ctx context.Context, action *corev1.GRPCAction, ip string, timeout time.Duration) (probe.Result, string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	secure := insecure.NewCredentials()
	if action.Mode != nil && *action.Mode == corev1.GRPCProbeModeTLS {
		secure = credentials.NewTLS(&tls.Config{InsecureSkipVerify: true})
	}
	v, address := version.Get(), net.JoinHostPort(ip, strconv.Itoa(int(action.Port)))
	//lint:ignore SA1019 A kubelet waits for the connection in the same way, and its errors say so.
	connection, err := grpc.DialContext(ctx, "passthrough:///"+address,
		grpc.WithUserAgent("kube-probe/"+v.Major+"."+v.Minor), grpc.WithTransportCredentials(secure), grpc.WithNoProxy(),
		//lint:ignore SA1019 as above
		grpc.WithBlock(),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) { return p.Dial(ctx, "tcp", address) }))
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return probe.Failure, fmt.Sprintf("timeout: failed to connect service %q within %v: %+v", address, timeout, err), nil
	case err != nil:
		return probe.Failure, fmt.Sprintf("error: failed to connect service at %q: %+v", address, err), nil
	}
	defer connection.Close()
	request := &healthv1.HealthCheckRequest{}
	if action.Service != nil {
		request.Service = *action.Service
	}
	answer, err := healthv1.NewHealthClient(connection).Check(metadata.NewOutgoingContext(ctx, metadata.MD{}), request)
	if err != nil {
		output := fmt.Sprintf("error: health rpc probe failed: %+v", err)
		switch answered, _ := status.FromError(err); answered.Code() {
		case codes.Unimplemented:
			output = "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): " + answered.Message()
		case codes.DeadlineExceeded:
			output = fmt.Sprintf("timeout: health rpc did not complete within %v", timeout)
		}
		return probe.Failure, output, nil
	}
	if answer.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		return probe.Failure, fmt.Sprintf("service unhealthy (responded with %q)", answer.GetStatus()), nil
	}
	return probe.Success, "service healthy", nil
}
