package fakecluster

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// newPipe makes a connection through memory. Unlike net.Pipe it buffers what is written
// until it is read, as sockets do: when TLS closes a connection, it still writes to a peer
// that may not read any more.
func newPipe() (client, server net.Conn) {
	there, back := newStream(), newStream()
	return &pipeEnd{in: back, out: there}, &pipeEnd{in: there, out: back}
}

// pipeEnd is one end of a pipe.
type pipeEnd struct{ in, out *stream }

func (p *pipeEnd) Read(b []byte) (int, error)  { return p.in.read(b) }
func (p *pipeEnd) Write(b []byte) (int, error) { return p.out.write(b) }

func (p *pipeEnd) Close() error {
	p.in.close()
	p.out.close()
	return nil
}

func (p *pipeEnd) LocalAddr() net.Addr  { return memoryAddr{} }
func (p *pipeEnd) RemoteAddr() net.Addr { return memoryAddr{} }

func (p *pipeEnd) SetDeadline(t time.Time) error { return p.SetReadDeadline(t) }

func (p *pipeEnd) SetReadDeadline(t time.Time) error {
	p.in.setDeadline(t)
	return nil
}

// SetWriteDeadline does nothing: writing never waits.
func (p *pipeEnd) SetWriteDeadline(time.Time) error { return nil }

// stream is one direction of a pipe.
type stream struct {
	mu       sync.Mutex
	data     []byte
	closed   bool
	deadline time.Time     // of reading
	changed  chan struct{} // closed, and replaced, when any of these change
}

func newStream() *stream { return &stream{changed: make(chan struct{})} }

// change wakes readers. The caller holds the lock.
func (s *stream) change() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *stream) write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, io.ErrClosedPipe
	}
	s.data = append(s.data, b...)
	s.change()
	return len(b), nil
}

func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.change()
}

func (s *stream) setDeadline(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deadline = t
	s.change()
}

func (s *stream) read(b []byte) (int, error) {
	for {
		s.mu.Lock()
		if len(s.data) > 0 {
			n := copy(b, s.data)
			s.data = s.data[n:]
			s.mu.Unlock()
			return n, nil
		}
		closed, deadline, changed := s.closed, s.deadline, s.changed
		s.mu.Unlock()
		if closed {
			return 0, io.EOF
		}
		if err := wait(changed, deadline); err != nil {
			return 0, err
		}
	}
}

// wait waits for a change until the deadline, if there is one.
func wait(changed <-chan struct{}, deadline time.Time) error {
	if deadline.IsZero() {
		<-changed
		return nil
	}
	left := time.Until(deadline)
	if left <= 0 {
		return os.ErrDeadlineExceeded
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	}
	return nil
}
