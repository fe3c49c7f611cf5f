package store

import (
	"encoding/binary"
	"errors"
	"strings"
)

// Record is one object at one revision. It is immutable and cheap to pass by value: its strings are shared.
type Record struct {
	Key   string
	Value string

	// Tag is what the writer wants to remember beside the value. The store does not look into it.
	Tag string

	// Index is what readers pick records by, if the writer gave anything to pick by: it is much quicker to read than
	// to search the value. The store does not look into it.
	Index string

	Revision int64 // of the write that made this record
	Created  int64 // of the Create that began this life of the key
}

// item is what the present has under a key: all of a record but the key, in one string. An item of the past has the
// record itself. An item that has neither is a tombstone: it hides what a layer below has under the key.
type item struct {
	key     string
	encoded string
	past    *Record
}

func (i item) tombstone() bool { return i.encoded == "" && i.past == nil }

// record is the zero Record for a tombstone.
func (i *item) record() Record {
	switch {
	case i.past != nil:
		return *i.past
	case i.encoded == "":
		return Record{}
	}
	return decode(i.key, i.encoded)
}

// index is that of the record, at the price of reading the head alone.
func (i *item) index() string {
	if i.past != nil {
		return i.past.Index
	}
	h := readHead(i.encoded)
	return i.encoded[h.tag:h.index]
}

// encode puts a record into one string, without its key: keys that lie close together are found much faster than keys
// that lie among the values.
//
//	uvarint Created | uvarint Revision - Created | uvarint len(Tag) | uvarint len(Index) | Tag | Index | Value
func encode(r Record) string {
	var head [4 * binary.MaxVarintLen64]byte
	h := binary.AppendUvarint(head[:0], uint64(r.Created))
	h = binary.AppendUvarint(h, uint64(r.Revision-r.Created))
	h = binary.AppendUvarint(h, uint64(len(r.Tag)))
	h = binary.AppendUvarint(h, uint64(len(r.Index)))

	var b strings.Builder
	b.Grow(len(h) + len(r.Tag) + len(r.Index) + len(r.Value))
	b.Write(h)
	b.WriteString(r.Tag)
	b.WriteString(r.Index)
	b.WriteString(r.Value)
	return b.String()
}

// errEncoding cannot happen: nobody but encode makes what decode reads.
var errEncoding = errors.New("store: malformed record")

// decode takes a record apart without copying it. It panics on what encode has not made.
func decode(key, encoded string) (r Record) {
	r.decode(key, encoded)
	return r
}

func (r *Record) decode(key, encoded string) {
	h := readHead(encoded)
	r.Key = key
	r.Value = encoded[h.index:]
	r.Tag = encoded[h.start:h.tag]
	r.Index = encoded[h.tag:h.index]
	r.Revision = int64(h.created + h.age)
	r.Created = int64(h.created)
}

// head is what an encoded record begins with, and where its parts are: the tag from start, then the index, then
// the value.
type head struct {
	created, age      uint64
	start, tag, index int // where the tag begins, where it ends, where the index ends
}

func readHead(encoded string) head {
	var h head
	var tag, index uint64
	at := 0
	h.created, at = uvarint(encoded, at)
	h.age, at = uvarint(encoded, at)
	tag, at = uvarint(encoded, at)
	index, at = uvarint(encoded, at)
	left := uint64(len(encoded) - at)
	if tag > left || index > left-tag {
		panic(errEncoding)
	}
	h.start, h.tag, h.index = at, at+int(tag), at+int(tag+index)
	return h
}

// uvarint reads the number at a place of s and tells where it ends. (The one of encoding/binary reads bytes, not
// strings.)
func uvarint(s string, at int) (uint64, int) {
	if at < len(s) && s[at] < 0x80 {
		return uint64(s[at]), at + 1
	}
	return longUvarint(s, at)
}

func longUvarint(s string, at int) (uint64, int) {
	var n uint64
	for i := 0; i < binary.MaxVarintLen64 && at < len(s); i++ {
		b := s[at]
		at++
		n |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			return n, at
		}
	}
	panic(errEncoding)
}
