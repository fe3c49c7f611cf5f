package pipe

import (
	"bytes"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// BufferSize is the number of bytes that each direction of a connection buffers.
const BufferSize = 64 << 10

// stream is one direction of a connection.
type stream struct {
	mu      sync.Mutex
	changed *sync.Cond // when any of the others change
	data    bytes.Buffer
	ended   error // of further writes: the writer sends no more
	closed  bool  // the reader reads no more
	failed  error // what a reader gets behind the data, and a writer at once; nil: nothing has failed
	writing bool  // a write is under way; others wait
	readBy  Deadline
	writeBy Deadline
}

func newStream() *stream {
	s := &stream{}
	s.changed = sync.NewCond(&s.mu)
	return s
}

func (s *stream) read(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.closed:
			return 0, net.ErrClosed
		case s.readBy.passed:
			return 0, os.ErrDeadlineExceeded
		case len(b) == 0:
			return 0, nil
		case s.data.Len() > 0:
			s.changed.Broadcast()
			return s.data.Read(b)
		case s.failed != nil:
			return 0, s.failed
		case s.ended != nil:
			return 0, io.EOF
		}
		s.changed.Wait()
	}
}

func (s *stream) write(b []byte) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.writing {
		if err := s.writeError(); err != nil {
			return 0, err
		}
		s.changed.Wait()
	}
	s.writing = true
	defer func() {
		s.writing = false
		s.changed.Broadcast()
	}()
	for {
		if err := s.writeError(); err != nil {
			return n, err
		}
		part := b[n:min(len(b), n+BufferSize-s.data.Len())]
		s.data.Write(part)
		n += len(part)
		if n == len(b) {
			return n, nil
		}
		s.changed.Broadcast()
		s.changed.Wait()
	}
}

// writeError returns the reason why nothing can be written now; nil if it can.
func (s *stream) writeError() error {
	switch {
	case s.ended != nil:
		return s.ended
	case s.writeBy.passed:
		return os.ErrDeadlineExceeded
	case s.failed != nil:
		return s.failed
	case s.closed:
		return syscall.EPIPE
	}
	return nil
}

// end ends the stream for its writer, whose further writes fail with the error. The reader gets the data and then io.EOF, or
// ECONNRESET.
func (s *stream) end(further error, reset bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = further
	if reset {
		s.reset()
	}
	s.writeBy.Set(time.Time{}, s.changed)
	s.changed.Broadcast()
}

// reset makes the stream fail, unless it has failed before. The caller holds the lock.
func (s *stream) reset() {
	if s.failed == nil {
		s.failed = syscall.ECONNRESET
	}
}

// breakOff ends the stream for both ends with an error.
func (s *stream) breakOff(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = err
	s.data = bytes.Buffer{}
	s.changed.Broadcast()
}

// over reports whether the writer has ended the stream.
func (s *stream) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended != nil
}

// close ends the stream for its reader. It reports whether that was open, and whether unread data is lost.
func (s *stream) close(reset bool) (open, lost bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	open, lost = !s.closed, s.data.Len() > 0
	s.closed = true
	if reset || lost {
		s.reset()
	}
	s.data = bytes.Buffer{}
	s.readBy.Set(time.Time{}, s.changed)
	s.changed.Broadcast()
	return open, lost
}

func (s *stream) setReadDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return net.ErrClosed
	}
	s.readBy.Set(t, s.changed)
	return nil
}

func (s *stream) setWriteDeadline(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended == nil {
		s.writeBy.Set(t, s.changed)
	}
}
