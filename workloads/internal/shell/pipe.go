package shell

import (
	"context"
	"io"
	"sync"
	"syscall"
)

// pipe connects the output of one command with the input of another. Its waits end with the context.
type pipe struct {
	mu      sync.Mutex
	changed sync.Cond
	content buffer
	closed  bool   // for writing
	broken  bool   // the reader has ended
	onBreak func() // of the writer
}

// newPipe returns a pipe, and a function that releases it. onBreak is called at a write after the reader has ended, to
// end the writer as SIGPIPE does.
func newPipe(ctx context.Context, onBreak func()) (*pipe, func()) {
	p := &pipe{content: buffer{limits: limitsOf(ctx)}, onBreak: onBreak}
	p.changed.L = &p.mu
	stop := context.AfterFunc(ctx, p.Break)
	return p, func() {
		stop()
		p.content.discard()
	}
}

// Write implements io.Writer. It waits while the buffer is full, as on Linux.
func (p *pipe) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(data) > 0 && !p.broken && p.content.content.Len() >= pipeSize {
		p.changed.Wait()
	}
	if p.broken {
		p.onBreak()
		return 0, syscall.EPIPE
	}
	n, err := p.content.Write(data)
	p.changed.Broadcast()
	return n, err
}

// pipeSize is the size of a pipe's buffer in bytes.
const pipeSize = 64 << 10

// Read implements io.Reader.
func (p *pipe) Read(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.content.content.Len() == 0 && !p.closed && !p.broken {
		p.changed.Wait()
	}
	n, err := p.content.Read(data)
	p.changed.Broadcast()
	return n, err
}

// ReadByte implements io.ByteReader.
func (p *pipe) ReadByte() (byte, error) { return oneByOne{p}.ReadByte() }

// Close ends the input of the reader.
func (p *pipe) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.changed.Broadcast()
}

// Break ends the reading.
func (p *pipe) Break() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = true
	p.changed.Broadcast()
}

// shared is an output stream that the commands of a run share. Its lock is a channel, because waiting for a channel
// blocks durably in a bubble.
type shared struct {
	lock chan struct{}
	w    io.Writer
}

// Write implements io.Writer.
func (s shared) Write(data []byte) (int, error) {
	s.lock <- struct{}{}
	defer func() { <-s.lock }()
	return s.w.Write(data)
}
