package rest

import (
	"bufio"
	"io"
	"sync"
)

// An answer is written in pieces of this size, because few large writes to a socket or to a
// client in this process are much faster than many small ones.
const (
	chunk      = 128 * 1024
	smallChunk = 8 * 1024
)

// buffers are pools of the buffers that join the pieces of answers.
type buffers struct{ small, large sync.Pool }

// writer returns a buffered writer for an answer of the given size. The caller writes the
// answer, and then calls done.
func (b *buffers) writer(w io.Writer, size int) *bufio.Writer {
	pool, room := &b.large, chunk
	if size <= smallChunk {
		pool, room = &b.small, smallChunk
	}
	joined, _ := pool.Get().(*bufio.Writer)
	if joined == nil {
		joined = bufio.NewWriterSize(nil, room)
	}
	joined.Reset(w)
	return joined
}

// done takes a writer back.
func (b *buffers) done(joined *bufio.Writer) {
	joined.Reset(nil)
	if joined.Size() == smallChunk {
		b.small.Put(joined)
	} else {
		b.large.Put(joined)
	}
}
