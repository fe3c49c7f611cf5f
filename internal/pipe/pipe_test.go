package pipe

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/nettest"

	"github.com/fakecluster/fakecluster/internal/auth/authentication"
)

func TestAConnIsANetConn(t *testing.T) {
	nettest.TestConn(t, func() (net.Conn, net.Conn, func(), error) {
		client, server := New(memory{}, memory{}, memory{})
		return client, server, func() { client.Shut(true); server.Shut(true) }, nil
	})
}

// full returns the ends of a pipe whose first end has written all that the pipe takes, and goes on writing until ended is
// closed. The result of its Write is then in n and err.
func full(client net.Conn) (result func() (int, error)) {
	ended := make(chan struct{})
	var n int
	var err error
	go func() {
		defer close(ended)
		n, err = client.Write(make([]byte, 3*BufferSize))
	}()
	synctest.Wait()
	return func() (int, error) { <-ended; return n, err }
}

func TestAPipeIsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		end     func(client, server net.Conn)
		written int
		err     error
	}{
		"a reader reads all of it": {func(_, server net.Conn) { _, _ = io.CopyN(io.Discard, server, 3*BufferSize) }, 3 * BufferSize, nil},
		"the reader closes":        {func(_, server net.Conn) { server.Close() }, BufferSize, syscall.ECONNRESET},
		"the writer closes":        {func(client, _ net.Conn) { client.Close() }, BufferSize, net.ErrClosed},
		"a deadline passes":        {func(client, _ net.Conn) { client.SetWriteDeadline(time.Now().Add(time.Hour)) }, BufferSize, os.ErrDeadlineExceeded},
		"a deadline has passed":    {func(client, _ net.Conn) { client.SetDeadline(time.Now().Add(-time.Hour)) }, BufferSize, os.ErrDeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, server := New(memory{}, memory{}, memory{})
				result := full(client)
				if n := len(server.in.data.Bytes()); n != BufferSize {
					t.Errorf("%d bytes wait, want %d", n, BufferSize)
				}
				c.end(client, server)
				if n, err := result(); n != c.written || !errors.Is(err, c.err) {
					t.Errorf("Write: %d, %v; want %d, %v", n, err, c.written, c.err)
				}
			})
		})
	}
}

// Each direction has its own buffer, so that two ends that write before they read do not wait for each other.
func TestBothEndsOfAPipeWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := New(memory{}, memory{}, memory{})
		sent := bytes.Repeat([]byte("0123456789"), 50*BufferSize/10)
		var ends sync.WaitGroup
		for _, end := range []net.Conn{client, server} {
			ends.Go(func() {
				if _, err := end.Write(sent[:BufferSize]); err != nil {
					t.Error(err)
				}
				ends.Go(func() { _, _ = end.Write(sent[BufferSize:]) })
				got := make([]byte, len(sent))
				if _, err := io.ReadFull(end, got); err != nil || !bytes.Equal(got, sent) {
					t.Errorf("%d bytes, %v", len(got), err)
				}
			})
		}
		ends.Wait()
	})
}

// A handler that is served in memory waits for a client that does not read, and ends with the server.
func TestAHandlerInMemoryIsNotFarAheadOfItsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const chunk = 1 << 10
		written, ended := 0, false
		handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			defer func() { ended = true }()
			for {
				if _, err := w.Write(make([]byte, chunk)); err != nil {
					return
				}
				written += chunk
			}
		})
		authority, err := authentication.NewAuthority("test")
		if err != nil {
			t.Fatal(err)
		}
		certificate, err := authority.ServerCertificate("localhost")
		if err != nil {
			t.Fatal(err)
		}
		m := Serve(&http.Server{Handler: handler}, &tls.Config{Certificates: []tls.Certificate{certificate}})
		conn, err := m.DialContext(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		client := tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
		if _, err := io.WriteString(client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if written == 0 || written > 2*BufferSize {
			t.Errorf("the handler is %d bytes ahead", written)
		}
		m.Stop()
		if !ended {
			t.Error("the handler goes on")
		}
	})
}
