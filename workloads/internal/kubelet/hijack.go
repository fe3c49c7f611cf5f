package kubelet

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
)

// withClientContext returns a ResponseWriter and a request whose context ends when the client leaves, even after the
// handler has hijacked the connection. The context of net/http then ends only with the handler.
func withClientContext(w http.ResponseWriter, req *http.Request) (http.ResponseWriter, *http.Request, context.CancelFunc) {
	ctx, cancel := context.WithCancel(req.Context())
	return hijacker{w, cancel}, req.WithContext(ctx), cancel
}

// hijacker calls a function when a hijacked connection ends.
type hijacker struct {
	http.ResponseWriter
	ended func()
}

// Hijack implements http.Hijacker. A goroutine reads the connection until its end, because a handler of SPDY stops
// reading at the client's GOAWAY.
func (h hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	reader, writer := io.Pipe()
	go func() {
		_, err := io.Copy(writer, buffered.Reader)
		h.ended()
		_ = writer.CloseWithError(err) // nil is io.EOF
	}()
	return watchedConn{conn, reader}, bufio.NewReadWriter(bufio.NewReader(reader), buffered.Writer), nil
}

// watchedConn is a connection that a goroutine reads.
type watchedConn struct {
	net.Conn
	reader *io.PipeReader
}

// Read implements net.Conn.
func (c watchedConn) Read(p []byte) (int, error) { return c.reader.Read(p) }

// Close implements net.Conn.
func (c watchedConn) Close() error { return errors.Join(c.reader.Close(), c.Conn.Close()) }
