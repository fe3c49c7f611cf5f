package host

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// After openBubble has answered, the connection carries frames. A frame of the client has the time of its bubble, and
// actions. The host advances to that time, starts the actions, waits until all goroutines of its bubble are durably
// blocked, and answers with a frame of everything that has happened since its last frame. Module remote has the other
// side.
//
//	frame    = size of the rest (4 bytes, big endian), time (8 bytes, nanoseconds since 1970), messages
//	message  = kind (1 byte), exchange (uvarint), fields of the kind
//	text     = size (uvarint), bytes
//	number   = uvarint
//
// The kinds and their fields follow.
const (
	// An action of the client.
	beginExchange  = 1 // cluster (text; empty: the control API), method (text), URI (text), host (text), header, body (text)
	cancelExchange = 2
	functionHead   = 7 // status (number), header: of the answer to a call; the exchange is the number of the call
	functionData   = 8 // bytes (text)
	functionEnd    = 9 // outcome (number), text of a panic (text)

	// An event of the host.
	answerHead   = 3  // status (number), header
	answerData   = 4  // bytes (text)
	answerEnd    = 5  // error (text; empty: none)
	mistakeFound = 6  // what is wrong (text); the exchange is 0
	callFunction = 10 // function (number), method, URI, host (texts), header, body (text); the number of the call stands in place of the exchange
	cancelCall   = 11 // nobody waits for the answer any more
	timeExpected = 12 // time (number, nanoseconds since 1970), 1 if nothing happens before (number): a frame has to come then; the exchange is 0
	trialEnded   = 13 // the trial has ended, and with it the bubble; the exchange is 0
	bubbleEnded  = 14 // why the bubble of the host has ended by itself (text): the last message; the exchange is 0

	// header = number of fields, then the name and the value of each (texts)
)

// The outcomes of a call.
const (
	functionDone     = 0
	functionAborted  = 1 // the connection of the caller closes
	functionPanicked = 2
)

// maxFrame limits a frame of a client, in bytes. It may contain a snapshot.
const maxFrame = maxBody + 1<<20

// frameHead is the length of a frame's size and time.
const frameHead = 4 + 8

// readFrame reads a frame into a buffer, which grows as needed, and returns its time and its messages.
func readFrame(r *bufio.Reader, buffer []byte) (now time.Time, messages reader, _ []byte, err error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return now, nil, buffer, err
	}
	size := int64(binary.BigEndian.Uint32(head[:4])) - 8
	if size < 0 || size > maxFrame {
		return now, nil, buffer, fmt.Errorf("the messages of a frame have %d bytes: the limit is %d", size, maxFrame)
	}
	if int64(cap(buffer)) < size {
		buffer = make([]byte, size)
	}
	buffer = buffer[:size]
	_, err = io.ReadFull(r, buffer)
	return time.Unix(0, int64(binary.BigEndian.Uint64(head[4:]))), reader(buffer), buffer, err
}

// sealFrame fills in the size and the time of a frame whose messages follow frameHead.
func sealFrame(frame []byte, now time.Time) {
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	binary.BigEndian.PutUint64(frame[4:], uint64(now.UnixNano()))
}

// reader has the unread messages of a frame.
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

// text returns bytes that are valid until the next frame is read.
func (r *reader) text() ([]byte, error) {
	n, err := r.number()
	if err != nil || n > uint64(len(*r)) {
		return nil, errFrame
	}
	text := (*r)[:n]
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
	for range n {
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
