package resource

import (
	"bytes"
	"fmt"
	"sync"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/content"
	"github.com/fakecluster/fakecluster/internal/fields"
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
	// owned is who owns the fields of the object. It goes along with it in the same way.
	// Nil: that is worked out each time that it is asked for.
	owned *owned
}

// owned is who owns the fields of an object. It is worked out when it is first asked for,
// if it is not known.
type owned struct {
	once    sync.Once
	managed *fields.Managed
	ok      bool
}

// WithOwners is the object with who owns its fields; nil: that is not known.
func (d Decoded) WithOwners(managed *fields.Managed) Decoded {
	d.owned = nil
	if managed != nil {
		d.owned = &owned{managed: managed, ok: true}
		d.owned.once.Do(func() {})
	}
	return d
}

// Owners are who own the fields of the object. It is not ok where fields.ParseManaged is
// not.
func (d Decoded) Owners() (managed *fields.Managed, ok bool) {
	if d.owned == nil {
		return parseOwners(d.Object)
	}
	d.owned.once.Do(func() { d.owned.managed, d.owned.ok = parseOwners(d.Object) })
	return d.owned.managed, d.owned.ok
}

func parseOwners(obj runtime.Object) (*fields.Managed, bool) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		metadata, ok := u.Object["metadata"].(map[string]any)
		if !ok {
			return fields.Nobody, u.Object["metadata"] == nil
		}
		list, _ := metadata["managedFields"].([]any)
		return fields.ParseManaged(list)
	}
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return nil, false
	}
	return fields.ParseList(metadata.GetManagedFields())
}

// hasOwners tells whether the owners that are known are those that the object names. A
// webhook, for example, may have changed metadata.managedFields since they were worked out.
func (d Decoded) hasOwners() bool {
	if d.owned == nil || !d.owned.ok {
		return false
	}
	if u, ok := d.Object.(*unstructured.Unstructured); ok {
		metadata, _ := u.Object["metadata"].(map[string]any)
		list, _ := metadata["managedFields"].([]any)
		return d.owned.managed.IsTree(list)
	}
	metadata, err := meta.Accessor(d.Object)
	return err == nil && d.owned.managed.IsList(metadata.GetManagedFields())
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

// known is the object of a record, if it is kept.
func (m *Memory) known(v *Version, record store.Record) (decoded Decoded, ok bool, err error) {
	if record.Tag != v.Identity {
		return Decoded{}, false, nil
	}
	known, ok := m.objects.Get(record.Key)
	if !ok || !isSameText(known.text, record.Value) {
		return Decoded{}, false, nil
	}
	if m.verify {
		err = verify(v, record, known.decoded)
	}
	return known.decoded, true, err
}

// DecodeAll is the objects of several records as the version sees them. Those that are not
// kept are decoded in one conversion, if they need any.
func (m *Memory) DecodeAll(v *Version, records []store.Record) ([]runtime.Object, error) {
	all := make([]runtime.Object, len(records))
	var missing []store.Record
	var places []int
	for i, record := range records {
		decoded, ok, err := m.known(v, record)
		if err != nil {
			return nil, err
		}
		if all[i] = decoded.Object; !ok {
			missing, places = append(missing, record), append(places, i)
		}
	}
	if len(missing) == 0 {
		return all, nil
	}
	read, err := v.Codec.DecodeAllStored(missing)
	if err != nil {
		return nil, err
	}
	for i, obj := range read {
		if all[places[i]] = obj; missing[i].Tag == v.Identity {
			m.put(missing[i], Decoded{Object: obj, owned: &owned{}})
		}
	}
	return all, nil
}

// Decode is the object of a record as the version sees it.
func (m *Memory) Decode(v *Version, record store.Record) (Decoded, error) {
	if decoded, ok, err := m.known(v, record); ok {
		return decoded, err
	}
	obj, err := v.Codec.DecodeStored(record)
	if err != nil {
		return Decoded{}, err
	}
	decoded := Decoded{Object: obj, owned: &owned{}}
	if record.Tag == v.Identity {
		m.put(record, decoded)
	}
	return decoded, nil
}

// Remember keeps an object that has been committed as a record: what EncodeToStore says
// that reading the record would give. The object's resourceVersion must be that of the
// record.
func (m *Memory) Remember(record store.Record, stored Decoded) {
	if !stored.hasOwners() {
		stored.owned = &owned{}
	}
	m.put(record, stored)
}

func (m *Memory) put(record store.Record, decoded Decoded) {
	m.objects.Replace(record.Key, remembered{record.Value, decoded}, bytesOfAnything+bytesOfDecoded*len(record.Value))
}

// isSameText tells whether two texts are the same memory. Equal texts elsewhere are
// not worth the look.
func isSameText(a, b string) bool {
	return len(a) == len(b) && unsafe.StringData(a) == unsafe.StringData(b)
}

// verify is an error if an object does not encode to its text any more, or to what it is
// read as, which may have further defaults.
func verify(v *Version, record store.Record, decoded Decoded) error {
	text, err := v.Codec.Encode(decoded.Object)
	if err == nil && string(text) != record.Value {
		if read, err := v.Codec.DecodeStored(record); err == nil {
			if again, err := v.Codec.Encode(read); err == nil && bytes.Equal(text, again) {
				return nil
			}
		}
		err = fmt.Errorf("it was stored as %s and is now %s", record.Value, text)
	}
	if err != nil {
		return fmt.Errorf("the decoded object of %s has been altered: %w", record.Key, err)
	}
	return nil
}
