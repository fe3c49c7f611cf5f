package store

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"strconv"
	"strings"
)

// A data file, and a snapshot that is written to a stream, are a line with the version of the format, and frames:
//
//	magic (4 bytes) | length of the payload (4) | checksum (4) | payload
//
// The checksum is the CRC-32C of the frame's offset in the file, as eight bytes, and of the payload,
// so that a frame at another offset, left from an earlier file, does not pass. Numbers of a fixed
// length are little endian. A payload is a letter and what the letter stands for. Every number in it
// is a uvarint, except for that of the mark, and every text has its length before it:
//
//	s  complete, in eight bytes                               the mark: format 2 only, and first
//	h  oldest, newest, number of records, meta                the head
//	r  number, records                                        the state at the oldest revision, in the order of the keys
//	e  synced, number, events                                 what one commit has done
//	c  synced, revision                                       the history before the revision is forgotten
//	m  synced, meta                                           the writer's text has changed
//
// A record is its key, and the text that encode makes. An event is its type and a record. So the state at the newest
// revision is that at the oldest one with the events played on it, and the events are the history.
//
// "newest" is a revision that every complete file contains: the file got its name only after that revision
// was written. So a file that ends before it is incomplete. Events after it belong to the log.
//
// "complete" is the offset up to which the file was synced last. The mark is overwritten in its place after each
// sync, and is on the disk with the next sync, or when the file is closed. It lies within the first sector of the disk, which a power failure leaves with
// the old mark or with the new one. So a file that is damaged before that offset, or ends before it, has been damaged
// since. A stream has no mark; it is format 1, as were data files before there was a mark.
//
// "synced" is the offset up to which the file was synced when the frame was written. It serves where the mark is older:
// if a later frame records that a damaged frame was synced, it has been damaged since. If neither does, the
// damaged frame is the beginning of a tail that was not completely written before a power failure.
const (
	formatName   = "fakecluster data, format "
	streamFormat = 1
	fileFormat   = 2

	frameMagic = "\xfcfrm"
	frameHead  = len(frameMagic) + 8

	markFrame    = 's'
	headFrame    = 'h'
	recordsFrame = 'r'
	eventsFrame  = 'e'
	compactFrame = 'c'
	metaFrame    = 'm'

	// maxFrame is the largest payload, and wholeFrame what a snapshot puts into one frame, about.
	maxFrame   = 1 << 30
	wholeFrame = 1 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum returns the checksum of a payload whose frame begins at an offset.
func checksum(offset int64, payload []byte) uint32 {
	var place [8]byte
	binary.LittleEndian.PutUint64(place[:], uint64(offset))
	return crc32.Update(crc32.Checksum(place[:], castagnoli), castagnoli, payload)
}

// formatLine returns the first line.
func formatLine(version int) string { return formatName + strconv.Itoa(version) + "\n" }

// markOffset is where the mark of a data file begins.
var markOffset = int64(len(formatLine(fileFormat)))

// markOf returns the mark of a file that is complete up to an offset.
func markOf(complete int64) []byte {
	whole, _ := frame(binary.LittleEndian.AppendUint64(newFrame(markFrame), uint64(complete))).close(markOffset) // it is not too large
	return whole
}

// frame is a frame under construction. Its first bytes are reserved for the head.
type frame []byte

func newFrame(kind byte) frame { return append(make(frame, frameHead, 512), kind) }

func (f frame) number(n int64) frame { return binary.AppendUvarint(f, uint64(n)) }
func (f frame) text(s string) frame  { return append(binary.AppendUvarint(f, uint64(len(s))), s...) }

// event adds an event. Its record is encoded like the records of the present.
func (f frame) event(e *Event) frame {
	return append(f, byte(e.Type)).record(e.Record)
}

func (f frame) record(r Record) frame {
	var head [recordHead]byte
	h := appendHead(head[:0], r)
	f = f.text(r.Key).number(int64(len(h) + len(r.Tag) + len(r.Index) + len(r.Value)))
	f = append(f, h...)
	f = append(f, r.Tag...)
	f = append(f, r.Index...)
	return append(f, r.Value...)
}

// close fills in the head of a frame that will be at an offset of the file.
func (f frame) close(offset int64) ([]byte, error) {
	payload := f[frameHead:]
	if len(payload) > maxFrame {
		return nil, fmt.Errorf("%d bytes are too many for one write to a data file; it takes %d", len(payload), maxFrame)
	}
	copy(f, frameMagic)
	binary.LittleEndian.PutUint32(f[len(frameMagic):], uint32(len(payload)))
	binary.LittleEndian.PutUint32(f[len(frameMagic)+4:], checksum(offset, payload))
	return f, nil
}

// FormatError is the error of a stream or a file that does not contain the data of a store, or only a part of
// it.
type FormatError struct {
	Offset int64 // the byte at which the data is wrong
	Reason string
}

func (e *FormatError) Error() string { return fmt.Sprintf("%s (at byte %d)", e.Reason, e.Offset) }

// errFrame is the error of a frame that is incomplete or damaged: the stream ends within it, or its
// checksum is wrong.
var errFrame = errors.New("a frame is damaged")

// frames reads the frames of a stream.
type frames struct {
	from   *bufio.Reader
	offset int64 // up to where it has been read
}

func (f *frames) wrong(format string, args ...any) error {
	return &FormatError{f.offset, fmt.Sprintf(format, args...)}
}

// begin reads the first line and returns the version of the format.
func (f *frames) begin() (version int, err error) {
	line, err := f.from.Peek(len(formatName) + 12)
	if err != nil && err != io.EOF {
		return 0, err
	}
	text, named := strings.CutPrefix(string(line), formatName)
	digits, _, ended := strings.Cut(text, "\n")
	version, err = strconv.Atoi(digits)
	switch {
	case !named:
		return 0, f.wrong("this is not data of fakecluster")
	case !ended || err != nil || version < 1:
		return 0, f.wrong("the format of this data of fakecluster does not have a number")
	case version > fileFormat:
		return 0, f.wrong("a newer fakecluster has written this data, in format %d; this one reads formats up to %d", version, fileFormat)
	}
	n, err := f.from.Discard(len(formatName) + len(digits) + 1)
	f.offset += int64(n)
	return version, err
}

// next reads the payload of the next frame: io.EOF if there is none, errFrame if it is damaged.
func (f *frames) next() ([]byte, error) {
	var head [frameHead]byte
	switch _, err := io.ReadFull(f.from, head[:]); err {
	case nil:
	case io.ErrUnexpectedEOF:
		return nil, errFrame
	default:
		return nil, err
	}
	length, sum, ok := readFrameHead(head[:])
	if !ok {
		return nil, errFrame
	}
	// The buffer grows with the data, because the length may be wrong.
	var payload bytes.Buffer
	payload.Grow(min(length, wholeFrame) + bytes.MinRead)
	if n, err := io.CopyN(&payload, f.from, int64(length)); n < int64(length) {
		if err == io.EOF {
			err = errFrame
		}
		return nil, err
	}
	if checksum(f.offset, payload.Bytes()) != sum {
		return nil, errFrame
	}
	f.offset += int64(frameHead + length)
	return payload.Bytes(), nil
}

// readFrameHead reads the head of a frame. Ok is false if there is none.
func readFrameHead(head []byte) (length int, sum uint32, ok bool) {
	if len(head) < frameHead || string(head[:len(frameMagic)]) != frameMagic {
		return 0, 0, false
	}
	n := binary.LittleEndian.Uint32(head[len(frameMagic):])
	return int(n), binary.LittleEndian.Uint32(head[len(frameMagic)+4:]), n > 0 && n <= maxFrame
}

// payload is the unread rest of a payload. A part that is missing or too large makes it bad, and all
// parts after it are zero.
type payload struct {
	left []byte
	bad  bool
}

func (p *payload) number() int64 {
	n, length := binary.Uvarint(p.left)
	if length <= 0 || n > math.MaxInt64 {
		p.left, p.bad = nil, true
		return 0
	}
	p.left = p.left[length:]
	return int64(n)
}

// fixed returns a number of eight bytes.
func (p *payload) fixed() int64 {
	if len(p.left) < 8 {
		p.left, p.bad = nil, true
		return 0
	}
	n := binary.LittleEndian.Uint64(p.left)
	p.left = p.left[8:]
	if n > math.MaxInt64 {
		p.bad = true
	}
	return int64(n)
}

func (p *payload) letter() byte {
	if len(p.left) == 0 {
		p.bad = true
		return 0
	}
	b := p.left[0]
	p.left = p.left[1:]
	return b
}

// text returns a text in memory of its own.
func (p *payload) text() string {
	n := p.number()
	if n > int64(len(p.left)) {
		p.left, p.bad = nil, true
		return ""
	}
	s := string(p.left[:n])
	p.left = p.left[n:]
	return s
}

// item returns a record in the form of the present.
func (p *payload) item() item {
	i := item{key: p.text(), encoded: p.text()}
	if !p.bad && !wellFormed(i.encoded) {
		p.bad = true
	}
	return i
}

// done reports whether everything has been read and nothing was bad.
func (p *payload) done() bool { return !p.bad && len(p.left) == 0 }
