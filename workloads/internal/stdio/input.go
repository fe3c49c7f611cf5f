package stdio

import (
	"context"
	"io"
	"sync"
)

// Input is the standard input of a container, which has the input of attached clients. Its methods are safe for
// concurrent use.
type Input struct {
	mu      sync.Mutex
	data    []byte
	closed  bool
	changed chan struct{} // closed with the next change; nil: there is no waiter
}

// NewInput returns an input that is open.
func NewInput() *Input { return &Input{} }

// Read implements io.Reader. It waits until a client sends something, or until Close.
func (i *Input) Read(p []byte) (int, error) {
	for {
		i.mu.Lock()
		n, closed := copy(p, i.data), i.closed
		i.data = i.data[n:]
		if i.changed == nil {
			i.changed = make(chan struct{})
		}
		changed := i.changed
		i.mu.Unlock()
		switch {
		case n > 0 || len(p) == 0:
			return n, nil
		case closed:
			return 0, io.EOF
		}
		<-changed
	}
}

// Write implements io.Writer. After Close it fails.
func (i *Input) Write(p []byte) (int, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return 0, io.ErrClosedPipe
	}
	i.data = append(i.data, p...)
	i.notify()
	return len(p), nil
}

// Close ends the input. Further calls do nothing.
func (i *Input) Close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
	i.notify()
}

func (i *Input) notify() {
	if i.changed != nil {
		close(i.changed)
		i.changed = nil
	}
}

// Streams are the streams of a program in a container. A nil Stdin is empty, and writes to a nil Stdout or Stderr are
// dropped.
type Streams struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	TTY            bool
}

// Exec runs a program in a container. It returns an error if the program cannot be started.
type Exec func(ctx context.Context, command []string, s Streams) (code int, err error)
