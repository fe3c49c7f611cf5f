package resource

import (
	"fmt"
	"unsafe"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/content"
	"github.com/fakecluster/fakecluster/internal/schema"
	"github.com/fakecluster/fakecluster/store"
)

// Decoded is an object, with what is known of it. One of a stored object is shared, and
// nothing may alter it.
type Decoded struct {
	Object runtime.Object
	// Known is what the schema of the version that the object is in says of it. It goes
	// along with the object through a write, so that no stage asks again, and whoever
	// changes the object gives it up. The zero value says nothing.
	Known schema.Parts
}

// Memory keeps stored objects decoded: the next write of an object, and a
// controller's look at it, need not parse it again. Each cluster has one. It is safe
// for concurrent use.
//
// An object is kept under the key of its record, together with the text that it was
// decoded from. It answers for a record with that very text in memory, so that it
// cannot be out of date, whatever becomes of the store; and only if the record was
// written in the version that asks, under its present schema, because then nothing
// but the text decides what is read. What was used longest ago goes when there is
// too much.
type Memory struct {
	objects *content.Cache[string, remembered]
	verify  bool
}

// remembered is an object and the text that it was decoded from.
type remembered struct {
	text    string
	decoded Decoded
}

// How much a Memory keeps, in bytes. A decoded object takes several times the room of
// its text.
const (
	memoryBytes     = 16 << 20
	bytesOfDecoded  = 8 // for each byte of text
	bytesOfAnything = 512
)

// NewMemory makes a memory that is empty. One that is to verify checks, whenever it
// answers, that nothing has altered the object: it must still encode to its text.
func NewMemory(verify bool) *Memory {
	return &Memory{objects: content.NewCache[string, remembered](memoryBytes), verify: verify}
}

// Decode is the object of a record as the version sees it.
func (m *Memory) Decode(v *Version, record store.Record) (Decoded, error) {
	if record.Tag == v.Identity {
		if known, ok := m.objects.Get(record.Key); ok && isSameText(known.text, record.Value) {
			if m.verify {
				return known.decoded, verify(v, record, known.decoded)
			}
			return known.decoded, nil
		}
	}
	obj, err := v.Codec.DecodeStored(record)
	if err != nil {
		return Decoded{}, err
	}
	decoded := Decoded{Object: obj}
	if record.Tag == v.Identity {
		m.put(record, decoded)
	}
	return decoded, nil
}

// Remember keeps an object that has been committed as a record: what EncodeToStore says
// that reading the record would give. The object's resourceVersion must be that of the
// record.
func (m *Memory) Remember(record store.Record, stored Decoded) { m.put(record, stored) }

func (m *Memory) put(record store.Record, decoded Decoded) {
	m.objects.Replace(record.Key, remembered{record.Value, decoded}, bytesOfAnything+bytesOfDecoded*len(record.Value))
}

// isSameText tells whether two texts are the same memory. Equal texts elsewhere are
// not worth the look.
func isSameText(a, b string) bool {
	return len(a) == len(b) && unsafe.StringData(a) == unsafe.StringData(b)
}

// verify is an error if an object does not encode to its text any more.
func verify(v *Version, record store.Record, decoded Decoded) error {
	text, err := v.Codec.Encode(decoded.Object)
	if err == nil && string(text) != record.Value {
		err = fmt.Errorf("it was stored as %s and is now %s", record.Value, text)
	}
	if err != nil {
		return fmt.Errorf("the decoded object of %s has been altered: %w", record.Key, err)
	}
	return nil
}
