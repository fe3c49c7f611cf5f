package resource

import (
	"bytes"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/cache"
	"github.com/fakecluster/fakecluster/internal/fields"
	"github.com/fakecluster/fakecluster/internal/schema"
	"github.com/fakecluster/fakecluster/store"
)

// Decoded is an object with facts about it. The Decoded of a stored object is
// shared, and nothing may alter it.
type Decoded struct {
	Object runtime.Object
	// Facts is what the schema says of the object, in the version that the object is in. It
	// travels with the object through a write, so that no stage has to check again. Code that
	// changes the object resets it. The zero value says nothing.
	Facts schema.Parts
	// owned says who owns the fields of the object. It travels with the object in the same
	// way. Nil: the owners are worked out each time.
	owned *owned
	// text is what encoding the object gives, if Memory has kept it from a commit; or empty.
	text string
}

// Encode returns the JSON of an object that Memory has returned, in the version that asked for it.
func (d Decoded) Encode(c Codec) (string, error) {
	if d.text != "" {
		return d.text, nil
	}
	text, err := c.Encode(d.Object)
	return string(text), err
}

// owned says who owns the fields of an object. Unless WithOwners gave them, they are worked out when
// they are first needed.
type owned struct {
	once    sync.Once
	managed *fields.Managed
	ok      bool
}

// WithOwners returns the object together with the owners of its fields; nil: they are
// worked out when needed.
func (d Decoded) WithOwners(managed *fields.Managed) Decoded {
	d.owned = nil
	if managed != nil {
		d.owned = &owned{managed: managed, ok: true}
		d.owned.once.Do(func() {})
	}
	return d
}

// Owners returns the owners of the fields of an object with a Go type. It returns ok false where
// fields.ParseList does.
func (d Decoded) Owners() (managed *fields.Managed, ok bool) { return d.ownersBy(parseOwners) }

// OwnersInMap is Owners for an object that is a map.
func (d Decoded) OwnersInMap() (managed *fields.Managed, ok bool) {
	return d.ownersBy(parseOwnersInMap)
}

func (d Decoded) ownersBy(parse func(runtime.Object) (*fields.Managed, bool)) (managed *fields.Managed, ok bool) {
	if d.owned == nil {
		return parse(d.Object)
	}
	d.owned.once.Do(func() { d.owned.managed, d.owned.ok = parse(d.Object) })
	return d.owned.managed, d.owned.ok
}

func parseOwners(obj runtime.Object) (*fields.Managed, bool) {
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return nil, false
	}
	return fields.ParseList(metadata.GetManagedFields())
}

func parseOwnersInMap(obj runtime.Object) (*fields.Managed, bool) {
	content := obj.(*unstructured.Unstructured).Object
	metadata, ok := content["metadata"].(map[string]any)
	if !ok {
		return fields.NoManagers, content["metadata"] == nil
	}
	list, _ := metadata["managedFields"].([]any)
	return fields.ParseManaged(list)
}

// hasOwners reports whether the remembered owners are those that the object, of the version, names. A
// webhook, for example, may have changed metadata.managedFields since they were worked out.
func (d Decoded) hasOwners(v *Version) bool {
	if d.owned == nil || !d.owned.ok {
		return false
	}
	if !v.Typed {
		metadata, _ := d.Object.(*unstructured.Unstructured).Object["metadata"].(map[string]any)
		list, _ := metadata["managedFields"].([]any)
		return d.owned.managed.IsTree(list)
	}
	metadata, err := meta.Accessor(d.Object)
	return err == nil && d.owned.managed.IsList(metadata.GetManagedFields())
}

// Memory keeps stored objects in their decoded form, so that the next write of an object,
// or a controller that reads it, need not parse it again. Each cluster has one Memory. It
// is safe for concurrent use.
//
// An object is kept under the key of its record, together with the text that it was decoded
// from. Memory returns it for a record that has the same text, so the object cannot be out of
// date. The record must also have been written in the version that asks,
// under its present schema, because only then the text alone decides what is read. When
// there is too much, the objects that were used longest ago are dropped.
type Memory struct {
	objects *cache.Cache[string, remembered]
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

// NewMemory makes an empty memory. With verify, the memory checks each object that it
// returns: it must still encode to its text, or else something has altered it.
func NewMemory(verify bool) *Memory {
	return &Memory{objects: cache.New[string, remembered](memoryBytes), verify: verify}
}

// Cached returns the object of a record as the version sees it, if the memory has it.
func (m *Memory) Cached(v *Version, record store.Record) (decoded Decoded, ok bool, err error) {
	if !v.Shows(record) {
		return Decoded{}, false, nil
	}
	object, ok := m.objects.Get(record.Key)
	if !ok || object.text != record.Value {
		return Decoded{}, false, nil
	}
	if m.verify {
		err = verify(v, record, object.decoded)
	}
	return object.decoded, true, err
}

// DecodeAll returns the objects of several records as the version sees them. Those that the
// memory does not have are decoded together, in one conversion if they need any.
func (m *Memory) DecodeAll(v *Version, records []store.Record) ([]runtime.Object, error) {
	objects := make([]runtime.Object, len(records))
	var missing []store.Record
	var places []int
	for i, record := range records {
		decoded, ok, err := m.Cached(v, record)
		if err != nil {
			return nil, err
		}
		if objects[i] = decoded.Object; !ok {
			missing, places = append(missing, record), append(places, i)
		}
	}
	if len(missing) == 0 {
		return objects, nil
	}
	read, err := v.Codec.DecodeAllStored(missing)
	if err != nil {
		return nil, err
	}
	for i, obj := range read {
		if objects[places[i]] = obj; v.Shows(missing[i]) {
			m.put(missing[i], Decoded{Object: obj, owned: &owned{}})
		}
	}
	return objects, nil
}

// Decode returns the object of a record as the version sees it.
func (m *Memory) Decode(v *Version, record store.Record) (Decoded, error) {
	if decoded, ok, err := m.Cached(v, record); ok {
		return decoded, err
	}
	obj, err := v.Codec.DecodeStored(record)
	if err != nil {
		return Decoded{}, err
	}
	decoded := Decoded{Object: obj, owned: &owned{}}
	if v.Shows(record) {
		m.put(record, decoded)
	}
	return decoded, nil
}

// Remember keeps the object of a committed record of the version. The object is what EncodeToStore
// returned as stored, with the resourceVersion of the record.
func (m *Memory) Remember(v *Version, record store.Record, stored Decoded) {
	if !stored.hasOwners(v) {
		stored.owned = &owned{}
	}
	stored.text = record.Value
	m.put(record, stored)
}

func (m *Memory) put(record store.Record, decoded Decoded) {
	m.objects.Replace(record.Key, remembered{record.Value, decoded}, bytesOfAnything+bytesOfDecoded*len(record.Value))
}

// verify fails if an object no longer encodes to its text. Of an object that was not committed, it also accepts what reading
// the text gives, which may have more defaults.
func verify(v *Version, record store.Record, decoded Decoded) error {
	text, err := v.Codec.Encode(decoded.Object)
	if err == nil && string(text) != record.Value {
		if read, err := v.Codec.DecodeStored(record); err == nil && decoded.text == "" {
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
