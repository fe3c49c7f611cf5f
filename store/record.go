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

func (i item) record() Record {
	if i.past != nil {
		return *i.past
	}
	return decode(i.key, i.encoded)
}

// encode puts a record into one string, without its key: keys that lie close together are found much faster than keys
// that lie among the values.
//
//	uvarint Created | uvarint Revision - Created | uvarint len(Tag) | Tag | Value
func encode(r Record) string {
	var head [3 * binary.MaxVarintLen64]byte
	h := binary.AppendUvarint(head[:0], uint64(r.Created))
	h = binary.AppendUvarint(h, uint64(r.Revision-r.Created))
	h = binary.AppendUvarint(h, uint64(len(r.Tag)))

	var b strings.Builder
	b.Grow(len(h) + len(r.Tag) + len(r.Value))
	b.Write(h)
	b.WriteString(r.Tag)
	b.WriteString(r.Value)
	return b.String()
}

// errEncoding cannot happen: nobody but encode makes what decode reads.
var errEncoding = errors.New("store: malformed record")

// decode takes a record apart without copying it. It panics on what encode has not made.
func decode(key, encoded string) Record {
	rest := encoded
	created := uvarint(&rest)
	age := uvarint(&rest)
	tag := uvarint(&rest)
	if tag > uint64(len(rest)) {
		panic(errEncoding)
	}
	return Record{
		Key:      key,
		Value:    rest[tag:],
		Tag:      rest[:tag],
		Revision: int64(created + age),
		Created:  int64(created),
	}
}

// uvarint cuts a number off the front of s. (The one of encoding/binary reads bytes, not strings.)
func uvarint(s *string) uint64 {
	var n uint64
	for i := 0; i < len(*s) && i < binary.MaxVarintLen64; i++ {
		b := (*s)[i]
		n |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			*s = (*s)[i+1:]
			return n
		}
	}
	panic(errEncoding)
}
