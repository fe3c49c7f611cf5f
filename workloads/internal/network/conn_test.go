package network

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/nettest"

	"github.com/fakecluster/fakecluster/internal/pipe"
)

// pair returns the ends of a connection between two pods.
func pair(t *testing.T) (client, server net.Conn, stop func()) {
	t.Helper()
	w := newWorld(t)
	to, from := w.pod(), w.pod()
	l, err := to.Listen("tcp", ":80")
	if err != nil {
		t.Fatal(err)
	}
	if client, err = from.Dial(t.Context(), "tcp", "10.244.0.1:80"); err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return client, server, func() { to.Close(); from.Close() }
}

func TestAConnectionIsANetConn(t *testing.T) {
	nettest.TestConn(t, func() (net.Conn, net.Conn, func(), error) {
		client, server, stop := pair(t)
		return client, server, stop, nil
	})
}

func TestConnections(t *testing.T) {
	for _, test := range []struct {
		name string
		do   func(t *testing.T, client, server net.Conn, stop func())
	}{
		{"addresses are those of the pods", func(t *testing.T, client, server net.Conn, _ func()) {
			if got := client.RemoteAddr().String() + " " + server.RemoteAddr().String(); got != "10.244.0.1:80 10.244.0.2:32768" {
				t.Error(got)
			}
			if client.LocalAddr().String() != server.RemoteAddr().String() || client.RemoteAddr().String() != server.LocalAddr().String() {
				t.Error(client.LocalAddr(), server.LocalAddr())
			}
		}},
		{"what was written before Close is read", func(t *testing.T, client, server net.Conn, _ func()) {
			_, _ = client.Write([]byte("hello"))
			_ = client.Close()
			if content, err := io.ReadAll(server); string(content) != "hello" || err != nil {
				t.Error(string(content), err)
			}
			_, err := server.Write([]byte("x"))
			fails(t, err, "write tcp 10.244.0.1:80->10.244.0.2:32768: write: broken pipe", syscall.EPIPE)
			_, err = client.Read(make([]byte, 1))
			fails(t, err, "read tcp 10.244.0.2:32768->10.244.0.1:80: use of closed network connection", net.ErrClosed)
			fails(t, client.Close(), "close tcp 10.244.0.2:32768->10.244.0.1:80: use of closed network connection", net.ErrClosed)
		}},
		{"Close with unread data resets", func(t *testing.T, client, server net.Conn, _ func()) {
			_, _ = client.Write([]byte("question"))
			_, _ = server.Write([]byte("no"))
			_ = server.Close()
			content, err := io.ReadAll(client)
			if string(content) != "no" {
				t.Errorf("read %q", content)
			}
			fails(t, err, "read tcp 10.244.0.2:32768->10.244.0.1:80: read: connection reset by peer", syscall.ECONNRESET)
		}},
		{"CloseWrite ends one direction", func(t *testing.T, client, server net.Conn, _ func()) {
			_, _ = client.Write([]byte("question"))
			if err := client.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
				t.Error(err)
			}
			if content, err := io.ReadAll(server); string(content) != "question" || err != nil {
				t.Error(string(content), err)
			}
			_, _ = server.Write([]byte("answer"))
			_ = server.Close()
			if content, err := io.ReadAll(client); string(content) != "answer" || err != nil {
				t.Error(string(content), err)
			}
			_, err := client.Write([]byte("more"))
			fails(t, err, "write tcp 10.244.0.2:32768->10.244.0.1:80: write: broken pipe", syscall.EPIPE)
		}},
		{"the end of the pod resets", func(t *testing.T, client, server net.Conn, stop func()) {
			var done sync.WaitGroup
			done.Go(func() {
				_, err := client.Read(make([]byte, 1))
				if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, net.ErrClosed) {
					t.Error(err)
				}
			})
			synctest.Wait()
			stop()
			done.Wait()
		}},
		{"a full buffer waits for the reader", func(t *testing.T, client, server net.Conn, _ func()) {
			_ = client.SetWriteDeadline(time.Now().Add(time.Hour))
			n, err := client.Write(make([]byte, pipe.BufferSize+1))
			fails(t, err, "write tcp 10.244.0.2:32768->10.244.0.1:80: i/o timeout", nil)
			if timeout, ok := err.(net.Error); n != pipe.BufferSize || !ok || !timeout.Timeout() {
				t.Errorf("%d bytes are written; %v", n, err)
			}
		}},
		{"writes at the same time do not mix", func(t *testing.T, client, server net.Conn, _ func()) {
			var done sync.WaitGroup
			for _, letter := range []string{"a", "b", "c"} {
				done.Go(func() { _, _ = client.Write([]byte(strings.Repeat(letter, 2*pipe.BufferSize))) })
			}
			go func() { done.Wait(); _ = client.Close() }()
			content, err := io.ReadAll(server)
			if err != nil || len(content) != 6*pipe.BufferSize {
				t.Error(len(content), err)
			}
			for part := range 3 {
				if b := content[part*2*pipe.BufferSize : (part+1)*2*pipe.BufferSize]; bytes.Count(b, b[:1]) != len(b) {
					t.Errorf("part %d is mixed", part)
				}
			}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, server, stop := pair(t)
				test.do(t, client, server, stop)
			})
		})
	}
}

// fails checks the text of an error, and what it wraps.
func fails(t *testing.T, err error, text string, want error) {
	t.Helper()
	if err == nil || err.Error() != text || want != nil && !errors.Is(err, want) {
		t.Errorf("the error is %v\nwant         %s", err, text)
	}
}
