package stdio

import (
	"bytes"
	"io"
)

// Terminal returns the streams of a program on a terminal, for a client whose own terminal is in raw mode: it echoes the
// input, handles backspace, reads line by line, and ends lines with a carriage return. Stderr is stdout.
func Terminal(s Streams) Streams {
	out := terminalOutput{s.Stdout}
	if s.Stdout == nil {
		out.to = io.Discard
	}
	cooked := Streams{Stdout: out, Stderr: out, TTY: true}
	if s.Stdin != nil {
		cooked.Stdin = &terminalInput{from: s.Stdin, echo: out}
	}
	return cooked
}

// terminalOutput writes a carriage return before each newline.
type terminalOutput struct{ to io.Writer }

// Write implements io.Writer.
func (o terminalOutput) Write(p []byte) (int, error) {
	if _, err := o.to.Write(bytes.ReplaceAll(p, []byte("\n"), []byte("\r\n"))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// The keys that a terminal handles itself.
const (
	interrupt = 3 // Ctrl-C: the line is dropped
	endOfFile = 4 // Ctrl-D: the input ends, at the beginning of a line
	backspace = 8
	deletes   = 127
)

// terminalInput reads lines from keys. It belongs to one reader.
type terminalInput struct {
	from  io.Reader
	echo  io.Writer
	line  []byte // being typed
	ready []byte // for the reader
	ended bool
	err   error
}

// Read implements io.Reader. It returns at the end of a line.
func (t *terminalInput) Read(p []byte) (int, error) {
	for len(t.ready) == 0 {
		switch {
		case t.ended:
			return 0, io.EOF
		case t.err != nil:
			return 0, t.err
		}
		var keys [256]byte
		n, err := t.from.Read(keys[:])
		for _, key := range keys[:n] {
			t.press(key)
		}
		if err != nil {
			t.err = err
			t.ready, t.line = append(t.ready, t.line...), nil
		}
	}
	n := copy(p, t.ready)
	t.ready = t.ready[n:]
	return n, nil
}

func (t *terminalInput) press(key byte) {
	show := []byte{key}
	switch key {
	case '\r', '\n':
		show = []byte("\n")
		t.ready, t.line = append(append(t.ready, t.line...), '\n'), nil
	case interrupt:
		show = []byte("^C\n")
		t.ready, t.line = append(t.ready, '\n'), nil
	case endOfFile:
		show = nil
		t.ended = t.ended || len(t.line) == 0
		t.ready, t.line = append(t.ready, t.line...), nil
	case backspace, deletes:
		show = nil
		if n := len(t.line); n > 0 {
			show, t.line = []byte("\b \b"), t.line[:n-1]
		}
	default:
		t.line = append(t.line, key)
	}
	if len(show) > 0 {
		_, _ = t.echo.Write(show)
	}
}
