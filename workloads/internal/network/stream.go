package network

import (
	"bytes"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// bufferSize is how many bytes each direction of a connection holds until they are read.
const bufferSize = 64 << 10

// stream is one direction of a connection.
type stream struct {
	mu      sync.Mutex
	changed *sync.Cond // when any of the others change
	data    bytes.Buffer
	ended   error // of further writes: the writer sends no more
	closed  bool  // the reader reads no more
	reset   bool  // a reader gets ECONNRESET behind the data, and a writer at once
	broken  error // what they get in the place of ECONNRESET; nil: that
	writing bool  // a write is under way; others wait
	readBy  deadline
	writeBy deadline
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
		case s.reset:
			return 0, s.resetError()
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
		part := b[n:min(len(b), n+bufferSize-s.data.Len())]
		s.data.Write(part)
		n += len(part)
		if n == len(b) {
			return n, nil
		}
		s.changed.Broadcast()
		s.changed.Wait()
	}
}

// writeError returns why nothing can be written now.
func (s *stream) writeError() error {
	switch {
	case s.ended != nil:
		return s.ended
	case s.writeBy.passed:
		return os.ErrDeadlineExceeded
	case s.reset:
		return s.resetError()
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
	s.ended, s.reset = further, s.reset || reset
	s.writeBy.set(time.Time{}, s.changed)
	s.changed.Broadcast()
}

func (s *stream) resetError() error {
	if s.broken != nil {
		return s.broken
	}
	return syscall.ECONNRESET
}

// breakOff ends the stream for both ends with an error.
func (s *stream) breakOff(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reset, s.broken = true, err
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
	s.closed, s.reset = true, s.reset || reset || lost
	s.data = bytes.Buffer{}
	s.readBy.set(time.Time{}, s.changed)
	s.changed.Broadcast()
	return open, lost
}

func (s *stream) setReadDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return net.ErrClosed
	}
	s.readBy.set(t, s.changed)
	return nil
}

func (s *stream) setWriteDeadline(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended == nil {
		s.writeBy.set(t, s.changed)
	}
}

// deadline is when waiting ends.
type deadline struct {
	passed bool
	timer  *time.Timer
	sets   int // how often it was set
}

// set replaces the deadline; the zero time removes it. The caller holds the lock of the condition.
func (d *deadline) set(t time.Time, changed *sync.Cond) {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	d.sets++
	d.passed = false
	if t.IsZero() {
		return
	}
	left := time.Until(t)
	if left <= 0 {
		d.passed = true
		changed.Broadcast()
		return
	}
	set := d.sets
	d.timer = time.AfterFunc(left, func() {
		changed.L.Lock()
		defer changed.L.Unlock()
		if d.sets == set {
			d.passed = true
			changed.Broadcast()
		}
	})
}
