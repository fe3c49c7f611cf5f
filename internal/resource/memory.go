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
	// Facts are facts that a walk over the schema has found about the object, in the object's version. They travel with
	// the object through a write, so that no stage checks them again. Code that changes the object resets them. The zero
	// value has no facts.
	Facts schema.Parts
	// owned has the owners of the object's fields. It travels with the object in the same way. nil: the owners are
	// computed each time.
	owned *owned
	// text is the JSON of the object, if Memory has it from a commit; or empty.
	text string
}

// Encode returns the JSON of an object of a Memory, in the version for which it was returned.
func (d Decoded) Encode(c Codec) (string, error) {
	if d.text != "" {
		return d.text, nil
	}
	text, err := c.Encode(d.Object)
	return string(text), err
}

// owned has the owners of the fields of an object. Unless WithOwners has set them, they are computed when they are first
// needed.
type owned struct {
	once    sync.Once
	managed *fields.Managed
	ok      bool
}

// WithOwners returns the object with the owners of its fields; nil: they are computed when needed.
func (d Decoded) WithOwners(managed *fields.Managed) Decoded {
	d.owned = nil
	if managed != nil {
		d.owned = &owned{managed: managed, ok: true}
		d.owned.once.Do(func() {})
	}
	return d
}

// Owners returns the owners of the fields of an object with a Go type. ok is false if fields.ParseList declines the
// managedFields.
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

// hasOwners reports whether the cached owners match the managedFields of the object, which a webhook, for example, may
// have changed.
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

// Memory caches decoded objects of the store, so that the next write of an object, or a controller that reads it, does
// not decode it again. Each cluster has one. It is safe for concurrent use.
//
// An object is cached under the key of its record, together with the text from which it was decoded. Memory returns it
// for a record with the same text, so the object cannot be out of date. The record must also have been written in the
// requested version, under its current schema, because only then the object follows from the text alone. The least
// recently used objects are dropped first.
type Memory struct {
	objects *cache.Cache[string, remembered]
	verify  bool
}

// remembered is an object with the text from which it was decoded.
type remembered struct {
	text    string
	decoded Decoded
}

// The size of a Memory, in bytes. A decoded object is several times as large as its text: a Pod of 3.9 KB takes 7 KB, and
// the owners of its fields 6 KB.
const (
	memoryBytes     = 32 << 20
	bytesOfDecoded  = 4 // per byte of text
	bytesOfAnything = 512
)

// NewMemory returns an empty Memory. With verify, it checks each object that it returns: an object that no longer
// encodes to its text has been altered.
func NewMemory(verify bool) *Memory {
	return &Memory{objects: cache.New[string, remembered](memoryBytes), verify: verify}
}

// Cached returns the object of a record in the version, if the memory has it.
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

// DecodeAll returns the objects of several records in the version. It decodes those that are not cached together, with
// at most one call of a conversion webhook.
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

// Decode returns the object of a record in the version.
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

// Remember caches the object of a committed record of the version. stored is Encoded.Stored, with the resourceVersion of
// the record.
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

// verify returns an error if an object no longer encodes to its text. For an object that was decoded, it also accepts
// the text after decoding, which may have more defaults.
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
