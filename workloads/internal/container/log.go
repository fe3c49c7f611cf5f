package container

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// Log is what a container writes to its standard streams, line by line. All methods are safe for concurrent use.
type Log struct {
	mu      sync.Mutex
	lines   []line
	partial [2][]byte     // by stream: a line without an end
	changed chan struct{} // closed when there is more, or no more
	closed  bool
}

type line struct {
	at     time.Time
	stream stream
	text   []byte // with its end
}

type stream int

const (
	stdout stream = iota
	stderr
)

// NewLog returns an empty log.
func NewLog() *Log { return &Log{changed: make(chan struct{})} }

// Stdout returns a writer for standard output.
func (l *Log) Stdout() io.Writer { return streamWriter{l, stdout} }

// Stderr returns a writer for standard error.
func (l *Log) Stderr() io.Writer { return streamWriter{l, stderr} }

type streamWriter struct {
	log *Log
	to  stream
}

func (w streamWriter) Write(data []byte) (int, error) {
	w.log.append(w.to, data)
	return len(data), nil
}

func (l *Log) append(to stream, data []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return // what a function writes after its container has exited is lost
	}
	all := append(l.partial[to], data...)
	for {
		i := bytes.IndexByte(all, '\n')
		if i < 0 {
			break
		}
		l.lines = append(l.lines, line{time.Now(), to, all[: i+1 : i+1]})
		all = all[i+1:]
	}
	l.partial[to] = all
	l.signal()
}

// signal wakes those who follow the log. The caller holds the mutex.
func (l *Log) signal() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// Close ends the log. A line without an end becomes the last one.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	for to, text := range l.partial {
		if len(text) > 0 {
			l.lines = append(l.lines, line{time.Now(), stream(to), text})
		}
	}
	l.closed = true
	l.signal()
}

// LogOptions say which part of a log is written.
type LogOptions struct {
	Follow     bool
	Since      time.Time
	Timestamps bool
	TailLines  *int64 // of what is there at the beginning
	LimitBytes *int64
}

// Write writes the log. With Follow it goes on until the log is closed or ctx is done. An error is one of the writers'.
func (l *Log) Write(ctx context.Context, out, err io.Writer, o LogOptions) error {
	l.mu.Lock()
	next := 0
	if o.TailLines != nil {
		next = max(0, len(l.lines)-int(*o.TailLines))
	}
	l.mu.Unlock()
	left := int64(-1)
	if o.LimitBytes != nil {
		left = *o.LimitBytes
	}
	for {
		l.mu.Lock()
		lines, changed, closed := l.lines[next:], l.changed, l.closed
		l.mu.Unlock()
		next += len(lines)
		for _, line := range lines {
			if line.at.Before(o.Since) {
				continue
			}
			text := line.text
			if o.Timestamps {
				text = append([]byte(line.at.UTC().Format("2006-01-02T15:04:05.000000000Z07:00")+" "), text...)
			}
			if left >= 0 {
				text = text[:min(int64(len(text)), left)]
				left -= int64(len(text))
			}
			to := out
			if line.stream == stderr {
				to = err
			}
			if to == nil {
				continue
			}
			if _, err := to.Write(text); err != nil {
				return fmt.Errorf("write the log: %w", err)
			}
			if left == 0 {
				return nil
			}
		}
		if closed || !o.Follow {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}
