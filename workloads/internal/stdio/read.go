package stdio

import (
	"context"
	"io"
	"time"
)

// Options selects the part of a log to read.
type Options struct {
	Follow     bool      // wait for further lines until the container has exited
	Since      time.Time // leave out earlier lines
	Tail       int64     // the number of lines at the end; negative: all
	Bytes      int64     // end after so many bytes; negative: no limit
	Timestamps bool      // begin each line with its time
}

// timestamp is the format of times in logs: RFC 3339 with all digits of the nanoseconds.
const timestamp = "2006-01-02T15:04:05.000000000Z07:00"

// Copy writes the log to stdout and stderr; a nil writer leaves out the stream. It returns at the end of the log, with
// Follow when the container has exited, or with the error of the context or of a writer.
func (l *Log) Copy(ctx context.Context, o Options, stdout, stderr io.Writer) error {
	out := output{options: o, to: [2]io.Writer{stdout, stderr}, left: o.Bytes, begins: true}
	l.mu.Lock()
	next := l.dropped
	if o.Tail >= 0 {
		next = max(next, l.dropped+len(l.lines)-int(o.Tail))
	}
	l.mu.Unlock()
	for {
		l.mu.Lock()
		next = max(next, l.dropped)
		lines := l.lines[next-l.dropped:]
		lines = append([]line(nil), lines[:min(len(lines), 256)]...) // the texts are immutable
		var changed <-chan struct{}
		if len(lines) == 0 && o.Follow && !l.closed {
			changed = l.wait()
		}
		l.mu.Unlock()
		for _, line := range lines {
			if done, err := out.write(line); done || err != nil {
				return err
			}
		}
		next += len(lines)
		switch {
		case len(lines) > 0:
		case changed == nil:
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

// output writes lines within the limits of options.
type output struct {
	options Options
	to      [2]io.Writer
	left    int64
	begins  bool // the next text begins a line
}

// write writes a line. done: the limit is reached.
func (o *output) write(l line) (done bool, err error) {
	if l.time.Before(o.options.Since) {
		return false, nil
	}
	text := l.text
	if o.options.Timestamps && o.begins {
		text = append([]byte(l.time.UTC().Format(timestamp)+" "), text...)
	}
	o.begins = text[len(text)-1] == '\n'
	to := o.to[l.stream]
	if to == nil {
		return false, nil
	}
	if o.options.Bytes >= 0 {
		text = text[:min(int64(len(text)), o.left)]
		o.left -= int64(len(text))
		done = o.left == 0
	}
	_, err = to.Write(text)
	return done, err
}
