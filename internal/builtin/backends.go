package builtin

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/url"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	utilproxy "k8s.io/apimachinery/pkg/util/proxy"
	registryrest "k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/flushwriter"
	"k8s.io/streaming/pkg/httpstream/wsstream"
)

// This file connects a client with the kubelets of nodes, and with pods at their addresses.

// kubeletTransport returns a transport to a kubelet, with one request for each connection.
func kubeletTransport(dial func(context.Context) (net.Conn, error)) *http.Transport {
	return &http.Transport{
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
		DisableKeepAlives: true, DisableCompression: true,
	}
}

// podTransport returns a transport to pods at their addresses; nil if none run. As in kube-apiserver, it does not verify
// certificates.
func podTransport(ctx context.Context) http.RoundTripper {
	c, err := ClusterFrom(ctx)
	if err != nil {
		return nil
	}
	dial := c.DialPods()
	if dial == nil {
		return nil
	}
	return utilnet.SetTransportDefaults(&http.Transport{DialContext: dial, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}})
}

// forwarded forwards a request to a pod, a service or a node. It implements http.Handler.
type forwarded struct {
	to        *url.URL
	transport *http.Transport
	responder registryrest.Responder
}

// ServeHTTP implements http.Handler.
func (f forwarded) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	defer f.transport.CloseIdleConnections() // it serves this request only
	utilproxy.NewUpgradeAwareHandler(f.to, f.transport, true, false, utilproxy.NewErrorResponder(f.responder)).ServeHTTP(w, req)
}

// streamed sends a text from a kubelet to the client as it arrives. It implements http.Handler.
type streamed struct {
	from      registryrest.ResourceStreamer
	responder registryrest.Responder
}

// ServeHTTP implements http.Handler. It follows StreamObject of k8s.io/apiserver's package responsewriters, which
// negotiates errors in its own way.
func (s streamed) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	out, flush, contentType, err := s.from.InputStream(req.Context(), "", "")
	if err != nil {
		s.responder.Error(err)
		return
	}
	defer out.Close()
	if wsstream.IsWebSocketRequest(req) {
		// The Reader drops data that comes together with io.EOF. A bufio.Reader returns io.EOF by itself.
		_ = wsstream.NewReader(bufio.NewReader(out), true, wsstream.NewDefaultReaderProtocols()).Copy(w, req) // the client may have gone
		return
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(http.StatusOK)
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
	to := io.Writer(w)
	if flush {
		to = flushwriter.Wrap(w)
	}
	_, _ = io.Copy(to, out)
}
