package stdio

import (
	"bytes"
	"io"
	"sync"
	"time"
)

// Stream is an output stream of a container.
type Stream int

// The streams.
const (
	Stdout Stream = iota
	Stderr
)

const (
	// maxLog is the maximum of bytes in a log: containerLogMaxSize of a kubelet.
	maxLog = 10 << 20
	// maxLine is the length of a line in bytes from which a container runtime stores it in parts.
	maxLine = 16 << 10
)

// line is a line of a log, or a part of one, which has no newline at its end.
type line struct {
	time   time.Time
	stream Stream
	text   []byte
}

// Log is the output of a container. Its methods are safe for concurrent use.
type Log struct {
	mu      sync.Mutex
	lines   []line
	dropped int // the number of dropped lines
	size    int
	limit   int64     // zero: there is none
	over    func()    // see Limit
	pending [2][]byte // by stream: the beginning of a line
	taps    map[*tap]bool
	closed  bool
	changed chan struct{} // closed with the next change; nil: there is no waiter
}

// lineHead is the size of the text that a container runtime writes before each line: the time, the stream and whether
// the line is whole.
const lineHead = 40

// Limit makes each write after which the file of the log is larger than a limit call exceeded, with the log locked. It
// must be called before the first write.
func (l *Log) Limit(bytes int64, exceeded func()) { l.limit, l.over = bytes, exceeded }

// FileSize returns the size of the log's file on a node, in bytes.
func (l *Log) FileSize() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fileSize()
}

func (l *Log) fileSize() int64 { return int64(l.size + len(l.lines)*lineHead) }

// NewLog returns an empty log.
func NewLog() *Log { return &Log{taps: map[*tap]bool{}} }

// Writer returns a writer to a stream. Writes after Close are dropped.
func (l *Log) Writer(to Stream) io.Writer { return writer{l, to} }

type writer struct {
	log *Log
	to  Stream
}

// Write implements io.Writer. It does not fail and does not wait for readers.
func (w writer) Write(data []byte) (int, error) {
	w.log.write(w.to, data)
	return len(data), nil
}

func (l *Log) write(to Stream, data []byte) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(data) == 0 {
		return
	}
	for t := range l.taps {
		t.add(to, data)
	}
	rest := append(l.pending[to], data...)
	for {
		end := bytes.IndexByte(rest[:min(len(rest), maxLine+1)], '\n') + 1
		if end == 0 {
			if len(rest) <= maxLine {
				break
			}
			end = maxLine
		}
		l.add(line{now, to, bytes.Clone(rest[:end])})
		rest = rest[end:]
	}
	l.pending[to] = append([]byte(nil), rest...)
	l.notify()
	if l.limit > 0 && l.fileSize() > l.limit {
		l.over()
	}
}

// add adds a line, and drops the oldest ones while the log is too large. The caller holds the lock.
func (l *Log) add(added line) {
	l.lines = append(l.lines, added)
	l.size += len(added.text)
	for l.size > maxLog {
		l.size -= len(l.lines[0].text)
		l.lines[0].text = nil
		l.lines = l.lines[1:]
		l.dropped++
	}
}

// notify wakes the waiters for a change. The caller holds the lock.
func (l *Log) notify() {
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// wait returns a channel that is closed with the next change. The caller holds the lock.
func (l *Log) wait() <-chan struct{} {
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.changed
}

// Close ends the log when the container has exited. It adds lines without an end. Further calls do nothing.
func (l *Log) Close() {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.closed = true
	for to, text := range l.pending {
		if len(text) > 0 {
			l.add(line{now, Stream(to), text})
		}
	}
	l.pending = [2][]byte{}
	l.notify()
}

// End returns the last bytes of the log, at most limit.
func (l *Log) End(limit int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var parts [][]byte
	left := limit
	take := func(text []byte) {
		text = text[max(0, len(text)-left):]
		left -= len(text)
		parts = append(parts, text)
	}
	for _, text := range l.pending {
		take(text)
	}
	for i := len(l.lines) - 1; i >= 0 && left > 0; i-- {
		take(l.lines[i].text)
	}
	line := make([]byte, 0, limit-left)
	for i := len(parts) - 1; i >= 0; i-- {
		line = append(line, parts[i]...)
	}
	return string(line)
}
