package remote

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// actor carries out an action in the network of the Pods.
type actor func(ctx context.Context, action map[string]any) (result, error)

// socket is a connection or a port of a container or of the test, with its deadlines. A read starts a goroutine that
// requests data from the host. A deadline ends the read and not that request, because the answer to a
// canceled request would be lost.
type socket struct {
	act    actor
	number int
	read   string // the action that reads

	mu       sync.Mutex
	got      *result // data that receive has not returned yet; nil: none
	err      error   // the error of the last request
	fetching bool
	closed   bool
	readBy   time.Time
	writeBy  time.Time
	changed  chan struct{} // closed, and replaced, when one of these changes
}

func newSocket(act actor, number int, read string) socket {
	return socket{act: act, number: number, read: read, changed: make(chan struct{})}
}

// change wakes the waiting reads. The caller has the lock.
func (s *socket) change() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// receive waits for data, and returns it with the address of its sender. Data that does not fit into p is
// kept for the next call; the rest of a packet is lost.
func (s *socket) receive(p []byte, packet bool) (n int, from string, err error) {
	for {
		s.mu.Lock()
		switch {
		case s.closed:
			s.mu.Unlock()
			return 0, "", net.ErrClosed
		case !s.readBy.IsZero() && !time.Now().Before(s.readBy):
			s.mu.Unlock()
			return 0, "", os.ErrDeadlineExceeded
		case s.got != nil:
			defer s.mu.Unlock()
			n, from = copy(p, s.got.Data), s.got.Remote
			if s.got.Data = s.got.Data[n:]; packet || len(s.got.Data) == 0 {
				s.got = nil
			}
			return n, from, nil
		case s.err != nil:
			defer s.mu.Unlock()
			return 0, "", s.err
		}
		if !s.fetching {
			s.fetching = true
			go s.fetch()
		}
		changed, by := s.changed, s.readBy
		s.mu.Unlock()
		if by.IsZero() {
			<-changed
			continue
		}
		timer := time.NewTimer(time.Until(by))
		select {
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

func (s *socket) fetch() {
	r, err := s.do(s.read)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err, s.fetching = err, false; err == nil {
		s.got = &r
	}
	s.change()
}

// send carries out an action that writes, until the deadline.
func (s *socket) send(action map[string]any) error {
	s.mu.Lock()
	closed, by := s.closed, s.writeBy
	s.mu.Unlock()
	if closed {
		return net.ErrClosed
	}
	ctx := context.Background()
	if !by.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, by)
		defer cancel()
	}
	action["socket"] = s.number
	_, err := s.act(ctx, action)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return os.ErrDeadlineExceeded
	case errors.Is(err, io.EOF):
		return io.ErrClosedPipe
	}
	return err
}

func (s *socket) Close() error {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.change()
	s.mu.Unlock()
	if closed {
		return net.ErrClosed
	}
	_, err := s.do("close")
	return err
}

// do carries out an action on the socket.
func (s *socket) do(action string) (result, error) {
	return s.act(context.Background(), map[string]any{"action": action, "socket": s.number})
}

func (s *socket) SetDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readBy, s.writeBy = t, t
	s.change()
	return nil
}

func (s *socket) SetReadDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readBy = t
	s.change()
	return nil
}

func (s *socket) SetWriteDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writeBy = t
	return nil
}
