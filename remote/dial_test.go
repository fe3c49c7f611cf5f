//go:build go1.25

package remote

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	bubbles "github.com/fakecluster/fakecluster/remote/internal/bubble"
)

// streaming starts a cluster with the Pod web, whose container sends back what it reads at port 7 of localhost until its end, serves HTTP at
// port 80, and writes a line each minute.
func streaming(t *testing.T) (*Cluster, user) {
	t.Helper()
	c := Start(t, Workloads("nodes: 1"), Image("web", func(ctx context.Context, p *Container) error {
		echo, err := p.Listen("tcp", "127.0.0.1:7")
		if err != nil {
			return err
		}
		go func() {
			for {
				conn, err := echo.Accept()
				if err != nil {
					return
				}
				text, _ := io.ReadAll(conn)
				_, _ = conn.Write(append([]byte("back: "), text...))
				_ = conn.Close()
			}
		}()
		l, err := p.Listen("tcp", ":80")
		if err != nil {
			return err
		}
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { fmt.Fprint(w, "you want ", req.URL.Path) })}
		go server.Serve(l)
		defer server.Close()
		lines := bufio.NewScanner(p.Stdin)
		go func() {
			for lines.Scan() {
				fmt.Fprintln(p.Stdout, "read", lines.Text())
			}
			fmt.Fprintln(p.Stderr, "no more")
		}()
		for i := 1; ; i++ {
			select {
			case <-ctx.Done():
				_ = echo.Close()
				return nil
			case <-time.After(time.Minute):
				fmt.Fprintln(p.Stdout, "minute", i)
			}
		}
	}))
	u := admin(t, c)
	u.must("POST", pods, pod("web", "web", `"stdin": true, "stdinOnce": true, "readinessProbe": {"httpGet": {"port": 80}, "periodSeconds": 1}, `, ""))
	c.WaitFor(t, Named("v1", "Pod", "", "web"), HasCondition("Ready"))
	return c, u
}

// The test connects to Pods and Services.
func TestDial(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		c, u := streaming(t)
		u.must("POST", "/api/v1/namespaces/default/services", `{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "front"}, "spec": {"selector": {"app": "web"}, "ports": [{"port": 8080, "targetPort": 80}]}}`)
		c.WaitFor(t, Named("v1", "Endpoints", "", "front"), CEL("has(object.subsets)"))
		for range 2 {
			answer, err := c.HTTPClient().Get("http://front.default:8080/pages")
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(answer.Body)
			if err != nil || string(text) != "you want /pages" {
				t.Errorf("the Service: %s %v", text, err)
			}
			answer.Body.Close()
		}
		if _, err := c.Dial(t.Context(), "tcp", "front.default:1"); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("a port that the Service does not have: %v", err)
		}
		conn, err := c.Dial(t.Context(), "tcp", "front.default:8080")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
			t.Error(err)
		}
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("at the deadline: %v", err)
		}

		packets, err := c.Dial(t.Context(), "udp", "10.0.0.10:53")
		if err != nil {
			t.Fatal(err)
		}
		closeWrite := packets.(interface{ CloseWrite() error }).CloseWrite
		if err := closeWrite(); err == nil || err.Error() != "a UDP connection is not a stream, and does not have an end to send: use Close" {
			t.Errorf("the end of the stream of UDP: %v", err)
		}
		if err := packets.Close(); err != nil {
			t.Error(err)
		}
		if err := closeWrite(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}

		// The address of the API server is one of them, with the transport of a client.
		server := &http.Client{Transport: &http.Transport{DialContext: c.Dial, DisableKeepAlives: true}}
		req, err := http.NewRequest("GET", c.URL()+"/version", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+c.Token())
		answer, err := server.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != 200 || !strings.Contains(string(text), "gitVersion") {
			t.Errorf("the API server: %s %s %v", answer.Status, text, err)
		}
		answer.Body.Close()
	})
}

// The test connects to a port of localhost in a Pod.
func TestPortForward(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		c, u := streaming(t)
		conn, err := c.PortForward(t.Context(), "", "web", 7)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, strings.Repeat("x", 100_000)); err != nil {
			t.Error(err)
		}
		if err := conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Error(err)
		}
		if text, err := io.ReadAll(conn); err != nil || string(text) != "back: "+strings.Repeat("x", 100_000) {
			t.Errorf("what comes back: %.20q, %d bytes, %v", text, len(text), err)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
		refused, err := c.PortForward(t.Context(), "default", "web", 8)
		if err != nil {
			t.Fatal(err)
		}
		defer refused.Close()
		if _, err := io.ReadAll(refused); err == nil || !strings.Contains(err.Error(), "forwarding port 8: ") || !strings.HasSuffix(err.Error(), "connect: connection refused") {
			t.Errorf("a port at which nobody listens: %v", err)
		}
		if _, err := c.PortForward(t.Context(), "", "none", 7); err == nil || !strings.Contains(err.Error(), `pods "none" not found`) {
			t.Errorf("a Pod that does not exist: %v", err)
		}
		open, err := c.PortForward(t.Context(), "", "web", 7)
		if err != nil {
			t.Fatal(err)
		}
		defer open.Close()
		u.must("DELETE", pods+"/web?gracePeriodSeconds=1", "")
		_, _ = io.ReadAll(open) // returns when the container has ended
	})
}

// A request that upgrades its connection has it as the body of its answer. The Ping of SPDY comes back.
func TestARequestUpgradesItsConnection(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		c, _ := streaming(t)
		for path, code := range map[string]int{pods + "/web/portforward": 101, pods + "/none/portforward": 404} {
			ctx, cancel := context.WithCancel(t.Context())
			req, err := http.NewRequestWithContext(ctx, "POST", c.URL()+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			for name, value := range map[string]string{"Authorization": "Bearer " + c.Token(), "Connection": "Upgrade", "Upgrade": "SPDY/3.1", "X-Stream-Protocol-Version": "portforward.k8s.io"} {
				req.Header.Set(name, value)
			}
			answer, err := c.Transport().RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			if answer.StatusCode != code {
				t.Errorf("%s: %s", path, answer.Status)
			}
			if conn, ok := answer.Body.(io.ReadWriteCloser); code == 101 && ok {
				ping := "\x80\x03\x00\x06\x00\x00\x00\x04\x00\x00\x00\x01"
				if _, err := io.WriteString(conn, ping); err != nil {
					t.Error(err)
				}
				pong := make([]byte, len(ping))
				if _, err := io.ReadFull(conn, pong); err != nil || string(pong) != ping {
					t.Errorf("the answer to a ping is %q, %v", pong, err)
				}
			} else if text, err := io.ReadAll(answer.Body); err != nil || !strings.Contains(string(text), `pods \"none\" not found`) {
				t.Errorf("%s: %s %v", answer.Status, text, err)
			}
			if err := answer.Body.Close(); err != nil {
				t.Error(err)
			}
			cancel()
			if _, err := c.Transport().RoundTrip(req); !errors.Is(err, context.Canceled) {
				t.Errorf("after the end of the context: %v", err)
			}
		}
	})
}

// The context of a request ends the body of an answer that has not upgraded its connection.
func TestTheContextEndsAnAnswerWithoutUpgrade(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		c := Start(t, Workloads("nodes: 1"))
		for name, end := range map[string]func(cancel func(), body io.Closer) error{
			"the context":     func(cancel func(), _ io.Closer) error { cancel(); return context.Canceled },
			"Close of a body": func(_ func(), body io.Closer) error { body.Close(); return nil },
		} {
			ctx, cancel := context.WithCancel(t.Context())
			req, err := http.NewRequestWithContext(ctx, "GET", c.URL()+maps+"?watch=true", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header = http.Header{"Authorization": {"Bearer " + c.Token()}, "Upgrade": {"something"}}
			answer, err := c.Transport().RoundTrip(req)
			if err != nil || answer.StatusCode != 200 {
				t.Fatalf("%v %v", answer, err)
			}
			want := end(cancel, answer.Body)
			if _, err := io.ReadAll(answer.Body); err == nil || want != nil && !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", name, err, want)
			}
			answer.Body.Close()
			cancel()
		}
	})
}

// A transport of a cluster outside does not connect in a bubble, where its socket would stop time.
func TestTheWrappedTransportStaysInItsPlace(t *testing.T) {
	base := Start(t)
	wrapped := func(c *Cluster) *http.Transport {
		return c.Transport().(interface{ WrappedRoundTripper() http.RoundTripper }).WrappedRoundTripper().(*http.Transport)
	}
	conn, err := wrapped(base).DialContext(t.Context(), "tcp", base.address())
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	synctestTest(t, func(t *testing.T) {
		if _, err := wrapped(base).DialContext(t.Context(), "tcp", base.address()); !errors.Is(err, errUsedInBubble) {
			t.Errorf("in a bubble: %v", err)
		}
	})
	secure := Start(t, TLS())
	if config := wrapped(secure).TLSClientConfig; config == nil || config.RootCAs == nil {
		t.Errorf("with TLS: %+v", config)
	}
}

// A log is followed while time passes, and the streams of a container are those of the test.
func TestTheStreamsOfAContainer(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		c, u := streaming(t)
		var stdout, stderr strings.Builder
		if bubbles.Inside() {
			began := time.Now()
			answer, err := u.open("GET", pods+"/web/log?follow=true", "")
			if err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(answer.Body)
			for i := 1; i <= 3; i++ {
				if !lines.Scan() || lines.Text() != fmt.Sprint("minute ", i) {
					t.Errorf("the log: %q, %v", lines.Text(), lines.Err())
				}
			}
			within(t, "the third line", time.Since(began), 3*time.Minute-2*time.Second, 4*time.Second) // the first minute has begun before
			answer.Body.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute+30*time.Second)
			defer cancel()
			if err := c.AttachPod(ctx, PodAttach{Pod: "web", Stdout: &stdout}); !errors.Is(err, context.DeadlineExceeded) || stdout.String() != "minute 4\nminute 5\n" {
				t.Errorf("attached for two minutes: %q %v", stdout.String(), err)
			}
			stdout.Reset()
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var left atomic.Int32 // the streams arrive in any order
		left.Store(2)
		last := func() {
			if left.Add(-1) == 0 {
				cancel()
			}
		}
		toStdout, toStderr := &untilText{Builder: &stdout, last: "read two\n", then: last}, &untilText{Builder: &stderr, last: "no more\n", then: last}
		if err := c.AttachPod(ctx, PodAttach{Pod: "web", Container: "c", Stdin: strings.NewReader("one\ntwo\n"), Stdout: toStdout, Stderr: toStderr}); !errors.Is(err, context.Canceled) {
			t.Errorf("attached: %v", err)
		}
		if stdout.String() != "read one\nread two\n" || stderr.String() != "no more\n" {
			t.Errorf("stdout %q, stderr %q", stdout.String(), stderr.String())
		}
		if err := c.AttachPod(t.Context(), PodAttach{Pod: "none"}); err == nil || !strings.Contains(err.Error(), `pods "none" not found`) {
			t.Errorf("a Pod that does not exist: %v", err)
		}
		var screen strings.Builder
		code, err := c.Exec(t.Context(), PodExec{Pod: "web", Args: []string{"sh"}, Stdin: strings.NewReader("echo hi\rexit 5\r"), Stdout: &screen, TTY: true})
		if err != nil || code != 5 || !strings.Contains(screen.String(), "\r\nhi\r\n") {
			t.Errorf("a terminal: code %d, %v, %q", code, err, screen.String())
		}
	})
}

// untilText calls a function after a text.
type untilText struct {
	*strings.Builder
	last string
	then func()
}

func (u *untilText) Write(p []byte) (int, error) {
	n, err := u.Builder.Write(p)
	if strings.HasSuffix(u.String(), u.last) {
		u.then()
	}
	return n, err
}

// Connections need the network of Pods.
func TestConnectionsNeedNodes(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		const want = "nothing lives in the cluster: start it with workloads, as remote.Workloads(\"nodes: 1\") does, or POST to its workloads, as RunWorkloads does"
		c := Start(t)
		if _, err := c.Dial(t.Context(), "tcp", "web:80"); err == nil || err.Error() != want {
			t.Errorf("Dial: %v", err)
		}
		if _, err := c.PortForward(t.Context(), "", "web", 80); err == nil || err.Error() != want {
			t.Errorf("PortForward: %v", err)
		}
		if err := c.AttachPod(t.Context(), PodAttach{Pod: "web"}); err == nil || err.Error() != want {
			t.Errorf("AttachPod: %v", err)
		}
		if !bubbles.Inside() {
			return
		}
		body := &closeNoted{Reader: strings.NewReader("x")}
		req, err := http.NewRequest("POST", c.URL()+pods+"/web/exec", body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Upgrade", "websocket")
		if _, err := c.Transport().RoundTrip(req); err == nil || err.Error() != "fakecluster: a request that upgrades its connection: "+want {
			t.Errorf("an upgrade: %v", err)
		}
		if !body.closed {
			t.Error("the body of the request is not closed")
		}
	})
}

// closeNoted is a body that notes its Close.
type closeNoted struct {
	io.Reader
	closed bool
}

func (c *closeNoted) Close() error {
	c.closed = true
	return nil
}
