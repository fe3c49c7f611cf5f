package store

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
)

// Record is one object at one revision. It is immutable and cheap to pass by value: its strings are shared.
type Record struct {
	Key   string
	Value string

	// Tag is a text that the writer stores beside the value. The store does not interpret it.
	Tag string

	// Index is a text that the writer stores for readers that select records: reading it is much
	// faster than searching the value. It may be empty. The store does not interpret it.
	Index string

	Revision int64 // the revision of the write that made this record
	Created  int64 // the revision of the Create that made the first state of this record
}

// item is the entry of a key in the present: a record without its key, encoded in one string. An item of the
// past has the record itself. An item with neither is a tombstone: it hides the item of the layer below.
type item struct {
	key     string
	encoded string
	past    *Record
}

func (i item) tombstone() bool { return i.encoded == "" && i.past == nil }

// record returns the record of an item, and the zero Record for a tombstone.
func (i *item) record() Record {
	switch {
	case i.past != nil:
		return *i.past
	case i.encoded == "":
		return Record{}
	}
	return decode(i.key, i.encoded)
}

// index returns the index of the record. It reads only the head of the item.
func (i *item) index() string {
	if i.past != nil {
		return i.past.Index
	}
	h := readHead(i.encoded)
	return i.encoded[h.tag:h.index]
}

// encode puts a record into one string, without its key. Keys are kept apart from the values because a search is much
// faster when they lie close together in memory.
//
//	uvarint Created | uvarint Revision - Created | uvarint len(Tag) | uvarint len(Index) | Tag | Index | Value
func encode(r Record) string {
	var head [recordHead]byte
	h := appendHead(head[:0], r)

	var b strings.Builder
	b.Grow(len(h) + len(r.Tag) + len(r.Index) + len(r.Value))
	b.Write(h)
	b.WriteString(r.Tag)
	b.WriteString(r.Index)
	b.WriteString(r.Value)
	return b.String()
}

// recordHead is the length of the longest head of an encoded record.
const recordHead = 4 * binary.MaxVarintLen64

// appendHead adds the numbers that an encoded record begins with.
func appendHead(h []byte, r Record) []byte {
	h = binary.AppendUvarint(h, uint64(r.Created))
	h = binary.AppendUvarint(h, uint64(r.Revision-r.Created))
	h = binary.AppendUvarint(h, uint64(len(r.Tag)))
	return binary.AppendUvarint(h, uint64(len(r.Index)))
}

// wellFormed reports whether a text from outside can be decoded, to a record with possible revisions.
func wellFormed(encoded string) bool {
	var numbers [4]uint64 // created, age, and the lengths of the tag and the index
	left := encoded
	for i := range numbers {
		n, length := binary.Uvarint([]byte(left[:min(len(left), binary.MaxVarintLen64)]))
		if length <= 0 || n > math.MaxInt64 {
			return false
		}
		numbers[i], left = n, left[length:]
	}
	return numbers[0]+numbers[1] <= math.MaxInt64 && numbers[2]+numbers[3] <= uint64(len(left))
}

// errEncoding is the panic of decode for a text that encode has not made. It shows a bug in this package:
// texts from files are checked with wellFormed first.
var errEncoding = errors.New("store: malformed record")

// decode returns a record whose strings are parts of the encoded text.
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

// head is the beginning of an encoded record. It has the offsets of the parts: the tag begins at start, then come the
// index and the value.
type head struct {
	created, age      uint64
	start, tag, index int // where the tag begins, where it ends, where the index ends
}

func readHead(encoded string) head {
	var h head
	var tag, index uint64
	offset := 0
	h.created, offset = uvarint(encoded, offset)
	h.age, offset = uvarint(encoded, offset)
	tag, offset = uvarint(encoded, offset)
	index, offset = uvarint(encoded, offset)
	left := uint64(len(encoded) - offset)
	if tag > left || index > left-tag {
		panic(errEncoding)
	}
	h.start, h.tag, h.index = offset, offset+int(tag), offset+int(tag+index)
	return h
}

// uvarint reads the number at a place of s, and returns where it ends. The function of encoding/binary reads bytes,
// not strings.
func uvarint(s string, offset int) (uint64, int) {
	if offset < len(s) && s[offset] < 0x80 {
		return uint64(s[offset]), offset + 1
	}
	return longUvarint(s, offset)
}

func longUvarint(s string, offset int) (uint64, int) {
	var n uint64
	for i := 0; i < binary.MaxVarintLen64 && offset < len(s); i++ {
		b := s[offset]
		offset++
		n |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			return n, offset
		}
	}
	panic(errEncoding)
}
