package store

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strings"
)

// Write writes the snapshot, with meta in place of its own text. The same snapshot and text give the same
// bytes. [ReadSnapshot] reads them, and [OpenFile] accepts a file with them. It fails if the writer fails.
func (s *Snapshot) Write(w io.Writer, meta string) error {
	_, err := s.write(w, streamFormat, meta)
	return err
}

// write writes a snapshot in a version of the format, and returns the number of bytes. In a data file the
// mark is 0: nothing is synced yet.
func (s *Snapshot) write(w io.Writer, version int, meta string) (int64, error) {
	out := &output{to: bufio.NewWriterSize(w, 64<<10)}
	out.bytes([]byte(formatLine(version)))
	if version == fileFormat {
		out.bytes(markOf(0))
	}
	records := s.beginning()
	out.frame(newFrame(headFrame).number(s.oldest()).number(s.revision).number(int64(len(records))).text(meta))
	for rest := records; len(rest) > 0; {
		n, size := 0, 0
		for n < len(rest) && size < wholeFrame {
			size += len(rest[n].Value)
			n++
		}
		f := newFrame(recordsFrame).number(int64(n))
		for _, r := range rest[:n] {
			f = f.record(r)
		}
		out.frame(f)
		rest = rest[n:]
	}
	for rest := s.events; len(rest) > 0; {
		n, size := 0, 0
		for n < len(rest) && size < wholeFrame {
			size += len(rest[n].Record.Value)
			n++
		}
		out.frame(eventsFrameOf(0, rest[:n]))
		rest = rest[n:]
	}
	return out.offset, errors.Join(out.err, out.to.Flush())
}

func eventsFrameOf(synced int64, events []*Event) frame {
	f := newFrame(eventsFrame).number(synced).number(int64(len(events)))
	for _, e := range events {
		f = f.event(e)
	}
	return f
}

// output writes frames until something fails.
type output struct {
	to     *bufio.Writer
	offset int64
	err    error
}

func (o *output) frame(f frame) {
	whole, err := f.close(o.offset)
	if err != nil && o.err == nil {
		o.err = err
	}
	o.bytes(whole)
}

func (o *output) bytes(b []byte) {
	if o.err == nil {
		_, o.err = o.to.Write(b)
		o.offset += int64(len(b))
	}
}

// oldest returns the oldest revision at which the state can be read.
func (s *Snapshot) oldest() int64 { return s.revision - int64(len(s.events)) }

// beginning returns the records at the oldest revision, in the order of their keys.
func (s *Snapshot) beginning() []Record {
	before := map[string]*Record{}
	for _, e := range slices.Backward(s.events) {
		before[e.Record.Key] = e.Previous
	}
	var records []Record
	for i := range s.items {
		former, changed := before[s.items[i].key]
		switch {
		case !changed:
			records = append(records, s.items[i].record())
		case former.Revision != 0:
			records = append(records, *former)
		}
		delete(before, s.items[i].key)
	}
	gone := len(records)
	for _, record := range before { // of keys that have been deleted since
		if record.Revision != 0 {
			records = append(records, *record)
		}
	}
	if len(records) > gone {
		slices.SortFunc(records, func(a, b Record) int { return strings.Compare(a.Key, b.Key) })
	}
	return records
}

// ReadSnapshot reads a stream of [Snapshot.Write]. It fails with a [*FormatError] if the stream is something
// else, has been altered, or ends too early.
func ReadSnapshot(r io.Reader) (*Snapshot, error) {
	b, err := build(&frames{from: bufio.NewReaderSize(r, 64<<10)})
	if errors.Is(err, errFrame) {
		err = b.frames.wrong("the data is damaged, or not all of it is there")
	}
	if err != nil {
		return nil, err
	}
	return b.snapshot(), nil
}

// snapshotBuilder is a snapshot under construction.
type snapshotBuilder struct {
	frames   *frames
	version  int   // of the format
	complete int64 // the offset up to which the data was complete once; 0: unknown
	meta     string
	oldest   int64 // the oldest revision at which the state can be read
	newest   int64
	promised int64           // the last revision of the data, by the first frame
	begun    bool            // the state at the oldest revision is complete
	items    map[string]item // the present
	events   []*Event
}

// build reads all frames. If one of them is damaged, the error is errFrame, and what comes before it has been built.
func build(from *frames) (*snapshotBuilder, error) {
	b := &snapshotBuilder{frames: from, items: map[string]item{}}
	var err error
	if b.version, err = from.begin(); err != nil {
		return b, err
	}
	if b.version == fileFormat {
		mark, err := b.next(markFrame)
		if err != nil {
			return b, err
		}
		if b.complete = mark.fixed(); !mark.done() {
			return b, from.wrong("the mark of a complete file is not valid")
		}
	}
	head, err := b.next(headFrame)
	if err != nil {
		return b, err
	}
	oldest, newest, records := head.number(), head.number(), head.number()
	b.meta = head.text()
	if !head.done() || oldest < FirstRevision || newest < oldest {
		return b, from.wrong("the first frame is not valid")
	}
	b.oldest, b.newest, b.promised = oldest, oldest, newest
	if err := b.readRecords(records); err != nil {
		return b, err
	}
	b.begun = true
	for {
		p, err := b.next(0)
		if err == io.EOF {
			break
		}
		if err != nil {
			return b, err
		}
		if err := b.play(p); err != nil {
			return b, err
		}
	}
	if from.offset < b.complete {
		return b, from.wrong("the data ends here, and was on the disk up to byte %d; nothing has been cut off", b.complete)
	}
	if b.newest < b.promised {
		return b, from.wrong("the data ends at revision %d, and must contain revision %d", b.newest, b.promised)
	}
	return b, nil
}

// typedPayload is the payload of a frame, with its letter.
type typedPayload struct {
	payload
	kind byte
}

// next reads a frame, which must be of the kind unless that is zero. If a kind is given, the end
// of the stream is damage.
func (b *snapshotBuilder) next(kind byte) (typedPayload, error) {
	text, err := b.frames.next()
	if err == io.EOF && kind != 0 {
		err = errFrame
	}
	if err != nil {
		return typedPayload{}, err
	}
	p := typedPayload{payload: payload{left: text}}
	p.kind = p.letter()
	if kind != 0 && p.kind != kind {
		return p, b.frames.wrong("there is a frame %q in place of a frame %q", p.kind, kind)
	}
	return p, nil
}

// readRecords reads the records at the oldest revision.
func (b *snapshotBuilder) readRecords(n int64) error {
	last := ""
	for n > 0 {
		p, err := b.next(recordsFrame)
		if err != nil {
			return err
		}
		in := p.number()
		if in < 1 || in > n {
			return b.frames.wrong("a frame has %d records of %d", in, n)
		}
		n -= in
		for ; in > 0 && !p.bad; in-- {
			i := p.item()
			if p.bad || int64(len(b.items)) > 0 && i.key <= last {
				return b.frames.wrong("a record is malformed or out of order")
			}
			if r := i.record(); r.Created <= FirstRevision || r.Revision > b.oldest {
				return b.frames.wrong("a record of revision %d cannot be at revision %d", r.Revision, b.oldest)
			}
			last = i.key
			b.items[i.key] = i
		}
		if !p.done() {
			return b.frames.wrong("a frame of records is malformed")
		}
	}
	return nil
}

// play applies a frame of the log.
func (b *snapshotBuilder) play(p typedPayload) error {
	p.number() // up to where the file was on the disk
	switch p.kind {
	case eventsFrame:
		n := p.number()
		for ; n > 0 && !p.bad; n-- {
			t, i := EventType(p.letter()), p.item()
			if p.bad {
				break
			}
			if err := b.playEvent(t, i); err != nil {
				return err
			}
		}
	case compactFrame:
		revision := p.number()
		if revision < b.oldest || revision > b.newest {
			return b.frames.wrong("the history cannot begin at revision %d", revision)
		}
		b.events = b.events[revision-b.oldest:]
		b.oldest = revision
	case metaFrame:
		b.meta = p.text()
	default:
		return b.frames.wrong("unknown frame %q", p.kind)
	}
	if !p.done() {
		return b.frames.wrong("a frame %q is malformed", p.kind)
	}
	return nil
}

func (b *snapshotBuilder) playEvent(t EventType, i item) error {
	r := i.record()
	former, exists := b.items[i.key]
	var before Record
	if exists {
		before = former.record()
		i.key = former.key // keep the text once
		r.Key = former.key
	}
	created := before.Created
	if t == Created {
		created = r.Revision
	}
	if r.Revision != b.newest+1 || r.Created != created || t < Created || t > Deleted || exists == (t == Created) {
		return b.frames.wrong("event %d, key %q %v, cannot follow revision %d", r.Revision, r.Key, t, b.newest)
	}
	b.newest = r.Revision
	e := &Event{Type: t, Record: r, Previous: &noRecord}
	if exists {
		e.Previous = &before
	}
	b.events = append(b.events, e)
	if t == Deleted {
		delete(b.items, i.key)
	} else {
		b.items[i.key] = i
	}
	return nil
}

func (b *snapshotBuilder) snapshot() *Snapshot {
	s := &Snapshot{revision: b.newest, events: b.events, meta: b.meta, items: make([]item, 0, len(b.items))}
	for _, i := range b.items {
		s.items = append(s.items, i)
	}
	slices.SortFunc(s.items, func(a, b item) int { return strings.Compare(a.key, b.key) })
	sorted := sortedKeys(len(s.items), func(i int) string { return s.items[i].key })
	s.keys = sorted
	s.keys.copy() // which marks the runs as shared
	for _, e := range s.events {
		s.bytes += e.size()
	}
	return s
}
