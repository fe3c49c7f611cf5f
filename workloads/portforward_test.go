package workloads_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	//lint:ignore SA1019 the dialers of client-go are of its type
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads"
)

// TestPortForwardReachesPorts sends requests to a function through local ports, over SPDY and over WebSockets, as kubectl does.
func TestPortForwardReachesPorts(t *testing.T) {
	run := func(ctx context.Context, c *workloads.Container) error {
		l, err := c.Listen("tcp", "127.0.0.1:8080")
		if err != nil {
			return err
		}
		s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { fmt.Fprint(w, "from ", c.Pod.Name) })}
		defer context.AfterFunc(ctx, func() { _ = s.Close() })()
		c.HandleExec("ready", func(context.Context, *workloads.ExecCommand) error { return nil })
		_ = s.Serve(l)
		return nil
	}
	c := fakecluster.Start(t, fakecluster.WithObjects(newPod(t, "web", readySpec("[ready]"))))
	workloads.Run(t, c, workloads.Nodes(1), workloads.Image("app", run))
	c.WaitFor(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}, fakecluster.CEL(`object.status.containerStatuses[0].ready`))

	config := c.RESTConfig()
	to := request(kubernetes.NewForConfigOrDie(config), "portforward", &corev1.PodPortForwardOptions{}).URL()
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		t.Fatal(err)
	}
	tunnel, err := portforward.NewSPDYOverWebsocketDialer(to, config)
	if err != nil {
		t.Fatal(err)
	}
	for name, dialer := range map[string]httpstream.Dialer{"SPDY": spdy.NewDialer(upgrader, &http.Client{Transport: transport}, "POST", to), "WebSocket": tunnel} {
		t.Run(name, func(t *testing.T) {
			stop, ready := make(chan struct{}), make(chan struct{})
			forwarder, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, []string{"0:8080", "0:81"}, stop, ready, io.Discard, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- forwarder.ForwardPorts() }()
			select {
			case <-ready:
			case err := <-ended:
				t.Fatal(err)
			}
			ports, err := forwarder.GetPorts()
			if err != nil {
				t.Fatal(err)
			}
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			for range 2 {
				resp, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d/", ports[0].Local))
				if err != nil {
					t.Fatal(err)
				}
				data, err := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if err != nil || string(data) != "from web" {
					t.Errorf("got %q, %v", data, err)
				}
			}
			if resp, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d/", ports[1].Local)); err == nil {
				t.Errorf("a port at which nobody listens: %s", resp.Status)
			}
			close(stop)
			if err := <-ended; err != nil && err != portforward.ErrLostConnectionToPod {
				t.Error(err)
			}
		})
	}
}

// echo is a function that listens on the loopback address, greets, and sends back what it reads until its end.
func echo(ctx context.Context, c *workloads.Container) error {
	l, err := c.Listen("tcp", "127.0.0.1:7")
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	for {
		conn, err := l.Accept()
		if err != nil {
			return nil
		}
		go func() {
			fmt.Fprintln(conn, "hello")
			text, _ := io.ReadAll(conn)
			_, _ = conn.Write(text)
			_ = conn.Close()
		}()
	}
}

// TestPortForwardInABubble connects to a port that listens on the loopback address of a Pod, without a local port.
func TestPortForwardInABubble(t *testing.T) {
	inBubble(t, func(w world) {
		w.createPod("web", webSpec)
		w.pass(3 * time.Second)
		forward := func(namespace, pod string, port int) (net.Conn, error) {
			return w.PortForward(w.Context(), w.cluster.RESTConfig(), namespace, pod, port)
		}
		for range 2 {
			conn, err := forward("", "web", 7)
			if err != nil {
				w.Fatal(err)
			}
			if _, err := io.WriteString(conn, strings.Repeat("x", 200_000)); err != nil {
				t.Error(err)
			}
			if err := conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
				t.Error(err)
			}
			text, err := io.ReadAll(conn)
			equal(w.T, "what comes back", string(text), "hello\n"+strings.Repeat("x", 200_000))
			equal(w.T, "the address", conn.RemoteAddr().String(), "web:7")
			if err != nil || conn.Close() != nil {
				t.Errorf("the end: %v", err)
			}
		}
		idle, err := forward("default", "web", 7)
		if err != nil {
			w.Fatal(err)
		}
		if err := idle.Close(); err != nil { // nothing is left of it, or the bubble would not end
			t.Error(err)
		}
		refused, err := forward("", "web", 81)
		if err != nil {
			w.Fatal(err)
		}
		if _, err := io.ReadAll(refused); err == nil || !strings.Contains(err.Error(), "forwarding port 81: ") || !strings.HasSuffix(err.Error(), "connect: connection refused") {
			t.Errorf("a port at which nobody listens: %v", err)
		}
		_ = refused.Close()
		if _, err := forward("", "none", 7); err == nil || !strings.Contains(err.Error(), `pods "none" not found`) {
			t.Errorf("a Pod that does not exist: %v", err)
		}
		for _, name := range []string{"", "../x"} {
			if _, err := forward("", name, 7); err == nil || err.Error() != fmt.Sprintf("PortForward: %q is not the name of a Pod or a namespace", name) {
				t.Errorf("%q: %v", name, err)
			}
		}
		if _, err := w.PortForward(w.Context(), nil, "", "web", 7); err == nil || err.Error() != "PortForward: the configuration is nil" {
			t.Error(err)
		}
		open, err := forward("", "web", 7)
		if err != nil {
			w.Fatal(err)
		}
		w.delete("pods", "web")
		if _, err := io.ReadAll(open); err != nil && !strings.Contains(err.Error(), "forwarding port 7: ") {
			t.Errorf("the Pod is deleted: %v", err)
		}
		_ = open.Close()
	}, workloads.Nodes(1), workloads.Image("app", echo))
}
