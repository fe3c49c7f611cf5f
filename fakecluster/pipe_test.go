package fakecluster

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// full returns the ends of a pipe whose first end has written all that the pipe takes, and goes on writing until ended is
// closed. The result of its Write is then in n and err.
func full(client net.Conn) (result func() (int, error)) {
	ended := make(chan struct{})
	var n int
	var err error
	go func() {
		defer close(ended)
		n, err = client.Write(make([]byte, 3*pipeLimit))
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
		"a reader reads all of it": {func(_, server net.Conn) { _, _ = io.CopyN(io.Discard, server, 3*pipeLimit) }, 3 * pipeLimit, nil},
		"the reader closes":        {func(_, server net.Conn) { server.Close() }, pipeLimit, io.ErrClosedPipe},
		"the writer closes":        {func(client, _ net.Conn) { client.Close() }, pipeLimit, io.ErrClosedPipe},
		"a deadline passes":        {func(client, _ net.Conn) { client.SetWriteDeadline(time.Now().Add(time.Hour)) }, pipeLimit, os.ErrDeadlineExceeded},
		"a deadline has passed":    {func(client, _ net.Conn) { client.SetDeadline(time.Now().Add(-time.Hour)) }, pipeLimit, os.ErrDeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, server := newPipe()
				result := full(client)
				if n := len(server.(*pipeEnd).in.data); n != pipeLimit {
					t.Errorf("%d bytes wait, want %d", n, pipeLimit)
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
		client, server := newPipe()
		sent := bytes.Repeat([]byte("0123456789"), 50*pipeLimit/10)
		var ends sync.WaitGroup
		for _, end := range []net.Conn{client, server} {
			ends.Go(func() {
				if _, err := end.Write(sent[:pipeLimit]); err != nil {
					t.Error(err)
				}
				ends.Go(func() { _, _ = end.Write(sent[pipeLimit:]) })
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
		own, err := secured()
		if err != nil {
			t.Fatal(err)
		}
		m := serveInMemory(&http.Server{Handler: handler}, &tls.Config{Certificates: []tls.Certificate{own.certificate}})
		conn, err := m.DialContext(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		client := tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
		if _, err := io.WriteString(client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if written == 0 || written > 2*pipeLimit {
			t.Errorf("the handler is %d bytes ahead", written)
		}
		m.stop()
		if !ended {
			t.Error("the handler goes on")
		}
	})
}
