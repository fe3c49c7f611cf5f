package shell

import (
	"context"
	"io"
	"sync"
	"syscall"
)

// pipe connects the output of one command with the input of another one. Its waits end with the context.
type pipe struct {
	mu      sync.Mutex
	changed sync.Cond
	content buffer
	closed  bool   // for writing
	broken  bool   // nobody reads any more
	onBreak func() // of the writer
}

// newPipe returns a pipe. A command that writes to it when nobody reads any more is ended by onBreak, as SIGPIPE does.
func newPipe(ctx context.Context, onBreak func()) (*pipe, func()) {
	p := &pipe{content: buffer{limits: limitsOf(ctx)}, onBreak: onBreak}
	p.changed.L = &p.mu
	stop := context.AfterFunc(ctx, p.Break)
	return p, func() {
		stop()
		p.content.discard()
	}
}

// Write implements io.Writer. Like that of a pipe of Linux, the buffer is limited; here by what can be held at all, so that no writer waits.
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

// pipeSize is how much is in a pipe before a writer waits.
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
func (p *pipe) ReadByte() (byte, error) {
	one := make([]byte, 1)
	_, err := io.ReadFull(p, one)
	return one[0], err
}

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

// shared is a stream that the commands of a run write to, one at a time. The lock is a channel, so that a wait for a client is durable in a bubble.
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
