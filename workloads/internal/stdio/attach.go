package stdio

import (
	"context"
	"io"
)

// tap queues writes to a log for a reader. The lock of the log guards it.
type tap struct{ chunks []chunk }

type chunk struct {
	stream Stream
	data   []byte
}

// maxTap is the maximum of chunks that wait for a reader. A slow reader loses the oldest.
const maxTap = 1 << 16

func (t *tap) add(to Stream, data []byte) {
	if len(t.chunks) == maxTap {
		t.chunks = t.chunks[1:]
	}
	t.chunks = append(t.chunks, chunk{to, append([]byte(nil), data...)})
}

// Attach begins to queue writes to the log. The returned function copies them to stdout and stderr, without waiting for
// the end of a line; a nil writer leaves out the stream. It returns when the container has exited, or with the error of
// the context or of a writer.
func (l *Log) Attach() (copy func(ctx context.Context, stdout, stderr io.Writer) error) {
	t := &tap{}
	l.mu.Lock()
	l.taps[t] = true
	l.mu.Unlock()
	return func(ctx context.Context, stdout, stderr io.Writer) error {
		defer func() {
			l.mu.Lock()
			delete(l.taps, t)
			l.mu.Unlock()
		}()
		to := [2]io.Writer{stdout, stderr}
		for {
			l.mu.Lock()
			chunks, closed := t.chunks, l.closed
			t.chunks = nil
			var changed <-chan struct{}
			if len(chunks) == 0 && !closed {
				changed = l.wait()
			}
			l.mu.Unlock()
			for _, c := range chunks {
				if w := to[c.stream]; w != nil {
					if _, err := w.Write(c.data); err != nil {
						return err
					}
				}
			}
			switch {
			case len(chunks) > 0:
			case closed:
				return nil
			default:
				select {
				case <-changed:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		}
	}
}
