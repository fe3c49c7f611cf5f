package stdio

import (
	"bytes"
	"io"
	"sync"
	"time"
)

// Stream is a standard stream that a container writes to.
type Stream int

// The streams.
const (
	Stdout Stream = iota
	Stderr
)

const (
	// maxLog is how many bytes a log keeps, as the files of a kubelet: containerLogMaxSize.
	maxLog = 10 << 20
	// maxLine is the length from which a container runtime stores a line in parts.
	maxLine = 16 << 10
)

// line is a line of a log, or a part of one, which does not end with a newline.
type line struct {
	time   time.Time
	stream Stream
	text   []byte
}

// Log is what a container has written to its standard streams. Its methods are safe for concurrent use.
type Log struct {
	mu      sync.Mutex
	lines   []line
	dropped int // lines that were before them
	size    int
	limit   int64     // zero: there is none
	over    func()    // see Limit
	pending [2][]byte // by stream: the beginning of a line
	taps    map[*tap]bool
	closed  bool
	changed chan struct{} // closed with the next change; nil: nobody waits
}

// lineHead is how many bytes a container runtime writes before each line: the time, the stream and whether the line is whole.
const lineHead = 40

// Limit has exceeded called with each write after which the file of the log is larger than a limit. The log is locked meanwhile. It must be called before the first write.
func (l *Log) Limit(bytes int64, exceeded func()) { l.limit, l.over = bytes, exceeded }

// FileSize returns how large the file of the log is on a node.
func (l *Log) FileSize() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fileSize()
}

func (l *Log) fileSize() int64 { return int64(l.size + len(l.lines)*lineHead) }

// NewLog returns an empty log.
func NewLog() *Log { return &Log{taps: map[*tap]bool{}} }

// Writer returns a writer to a stream. What is written after Close is lost.
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

// notify wakes those who wait for a change. The caller holds the lock.
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

// Close ends the log when the container has exited. Lines that have no end are added as they are. Further calls do nothing.
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

// End returns the end of the log, of at most limit bytes.
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
