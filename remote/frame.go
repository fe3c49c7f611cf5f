package remote

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Frames carry the requests of a bubble to its host, and answers and changes back. Package internal/host of
// the main module describes them, and implements the other side.
const (
	beginExchange  = 1
	cancelExchange = 2
	answerHead     = 3
	answerData     = 4
	answerEnd      = 5
	mistakeFound   = 6
	functionHead   = 7
	functionData   = 8
	functionEnd    = 9
	callFunction   = 10
	cancelCall     = 11
	timeExpected   = 12
	trialEnded     = 13
	bubbleEnded    = 14
)

// The outcomes of a call of a handler.
const (
	functionDone     = 0
	functionAborted  = 1
	functionPanicked = 2
)

// frameHead is the length of a frame's size and time.
const frameHead = 4 + 8

// readFrame reads a frame, and returns its messages.
func readFrame(r *bufio.Reader) (reader, error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	size := int64(binary.BigEndian.Uint32(head[:4])) - 8
	if size < 0 {
		return nil, fmt.Errorf("a frame of %d bytes", size)
	}
	if size == 0 {
		return nil, nil
	}
	messages := make(reader, size) // not reused: bodies refer to parts of it
	_, err := io.ReadFull(r, messages)
	return messages, err
}

// sealFrame fills in the size and the time of a frame whose messages follow frameHead.
func sealFrame(frame []byte, now time.Time) {
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	binary.BigEndian.PutUint64(frame[4:], uint64(now.UnixNano()))
}

// reader reads messages.
type reader []byte

var errFrame = errors.New("the frame is not complete")

func (r *reader) number() (uint64, error) {
	n, size := binary.Uvarint(*r)
	if size <= 0 {
		return 0, errFrame
	}
	*r = (*r)[size:]
	return n, nil
}

func (r *reader) text() ([]byte, error) {
	n, err := r.number()
	if err != nil || n > uint64(len(*r)) {
		return nil, errFrame
	}
	text := (*r)[:n:n]
	*r = (*r)[n:]
	return text, nil
}

// kind returns the kind of the next message and its exchange.
func (r *reader) kind() (kind byte, exchange uint64, err error) {
	kind = (*r)[0]
	*r = (*r)[1:]
	exchange, err = r.number()
	return kind, exchange, err
}

func (r *reader) header() (http.Header, error) {
	n, err := r.number()
	if err != nil || n > uint64(len(*r)) {
		return nil, errFrame
	}
	h := make(http.Header, n)
	for ; n > 0; n-- {
		name, err := r.text()
		if err != nil {
			return nil, err
		}
		value, err := r.text()
		if err != nil {
			return nil, err
		}
		h[string(name)] = append(h[string(name)], string(value))
	}
	return h, nil
}

func appendKind(b []byte, kind byte, exchange uint64) []byte {
	return binary.AppendUvarint(append(b, kind), exchange)
}

func appendText[T string | []byte](b []byte, text T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

func appendHeader(b []byte, h http.Header) []byte {
	n := 0
	for _, values := range h {
		n += len(values)
	}
	b = binary.AppendUvarint(b, uint64(n))
	for name, values := range h {
		for _, value := range values {
			b = appendText(appendText(b, name), value)
		}
	}
	return b
}
