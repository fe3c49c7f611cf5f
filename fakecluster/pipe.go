package fakecluster

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// pipeLimit is how many bytes may wait in each direction of a pipe until they are read.
const pipeLimit = 64 << 10

// newPipe makes a connection through memory. Unlike net.Pipe it buffers what is written
// until it is read, as sockets do: when TLS closes a connection, it still writes to a peer
// that may not read any more. A writer that is too far ahead waits.
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

func (p *pipeEnd) SetDeadline(t time.Time) error {
	_ = p.SetReadDeadline(t)
	return p.SetWriteDeadline(t)
}

func (p *pipeEnd) SetReadDeadline(t time.Time) error {
	p.in.set(&p.in.readBy, t)
	return nil
}

func (p *pipeEnd) SetWriteDeadline(t time.Time) error {
	p.out.set(&p.out.writeBy, t)
	return nil
}

// stream is one direction of a pipe.
type stream struct {
	mu              sync.Mutex
	data            []byte
	closed          bool
	readBy, writeBy time.Time
	changed         chan struct{} // closed, and replaced, when any of these change
}

func newStream() *stream { return &stream{changed: make(chan struct{})} }

// change wakes those who wait. The caller holds the lock.
func (s *stream) change() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// write returns when all is in the buffer. The parts of two writes at a time may be mixed: TLS writes one record
// after the other.
func (s *stream) write(b []byte) (written int, err error) {
	for {
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			return written, io.ErrClosedPipe
		}
		part := min(len(b)-written, pipeLimit-len(s.data))
		s.data = append(s.data, b[written:written+part]...)
		if part > 0 {
			s.change()
		}
		written += part
		deadline, changed := s.writeBy, s.changed
		s.mu.Unlock()
		if written == len(b) {
			return written, nil
		}
		if err := wait(changed, deadline); err != nil {
			return written, err
		}
	}
}

func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.change()
}

// set sets one of the deadlines.
func (s *stream) set(deadline *time.Time, t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*deadline = t
	s.change()
}

func (s *stream) read(b []byte) (int, error) {
	for {
		s.mu.Lock()
		if len(s.data) > 0 {
			full := len(s.data) == pipeLimit
			n := copy(b, s.data)
			s.data = s.data[n:]
			if full {
				s.change()
			}
			s.mu.Unlock()
			return n, nil
		}
		closed, deadline, changed := s.closed, s.readBy, s.changed
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
