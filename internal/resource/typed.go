package resource

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	sigsjson "sigs.k8s.io/json"

	"github.com/fakecluster/fakecluster/internal/cache"
	"github.com/fakecluster/fakecluster/internal/release"
	"github.com/fakecluster/fakecluster/store"
)

// TypedCodec is the Codec of a kind with Go types in a scheme. The scheme has its defaults, conversions and selectable
// fields.
type TypedCodec struct {
	kind    schema.GroupVersionKind // of the requests and the stored bytes
	hub     schema.GroupVersion     // of the objects for the strategy
	scheme  *runtime.Scheme
	codecs  serializer.CodecFactory
	encoder runtime.Encoder
	stored  runtime.Decoder
	asIs    runtime.Decoder // does not convert
	// read is the version to which stored objects are converted, also from another group.
	read      runtime.GroupVersioner
	convertor runtime.ObjectConvertor
	// InProtobuf: a real server stores the objects in protobuf, which has neither empty lists nor nulls.
	InProtobuf bool
	// PlainFields are selectable fields whose value is the string at the same path of the stored JSON.
	PlainFields []string
	// attributes returns the labels and fields that selectors compare.
	attributes func(runtime.Object) (labels.Set, fields.Set, error)
	// head is the beginning of each text that the codec has printed.
	head string
	// later are the fields that the emulated release does not have.
	later *release.LaterFields
}

// NewTypedCodec returns the codec of a kind in one version. Its objects are of the hub version. They are stored as a
// kind of the same name in the group storedIn, which may be another group: Events of events.k8s.io are stored as those
// of the core group, and both have one hub type. If attributes is nil, selectors compare labels, name and namespace.
func NewTypedCodec(scheme *runtime.Scheme, kind schema.GroupVersionKind, hub schema.GroupVersion, storedIn string,
	attributes func(runtime.Object) (labels.Set, fields.Set, error)) *TypedCodec {
	codecs := codecsOf(scheme)
	plain := kjson.NewSerializerWithOptions(kjson.DefaultMetaFactory, scheme, scheme, kjson.SerializerOptions{})
	groups := []schema.GroupKind{{Group: kind.Group}}
	if storedIn != kind.Group {
		groups = append(groups, schema.GroupKind{Group: storedIn})
	}
	if attributes == nil {
		attributes = nameAttributes
	}
	read := runtime.NewMultiGroupVersioner(hub, groups...)
	var later *release.LaterFields
	if obj, err := scheme.New(kind); err == nil {
		later = release.LaterFieldsOf(obj)
	}
	return &TypedCodec{
		kind:       kind,
		hub:        hub,
		scheme:     scheme,
		codecs:     codecs,
		encoder:    codecs.EncoderForVersion(plain, kind.GroupVersion()),
		stored:     codecs.DecoderToVersion(plain, read),
		asIs:       codecs.DecoderToVersion(plain, kind.GroupVersion()),
		read:       read,
		convertor:  runtime.UnsafeObjectConvertor(scheme),
		attributes: attributes,
		head:       fmt.Sprintf(`{"kind":%q,"apiVersion":%q,`, kind.Kind, kind.GroupVersion()),
		later:      later,
	}
}

// nameAttributes returns the labels, the name and the namespace of an object.
func nameAttributes(obj runtime.Object) (labels.Set, fields.Set, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, nil, err
	}
	return m.GetLabels(), fields.Set{"metadata.name": m.GetName(), "metadata.namespace": m.GetNamespace()}, nil
}

// factories caches the codec factories of schemes, which are slow to create. A process has few schemes: the cache has
// room for 16.
var factories = cache.New[*runtime.Scheme, serializer.CodecFactory](16)

func codecsOf(scheme *runtime.Scheme) serializer.CodecFactory {
	codecs, _ := factories.Make(scheme, 1, func() (serializer.CodecFactory, error) { return serializer.NewCodecFactory(scheme), nil })
	return codecs
}

// Serializer returns the media types of the kind: JSON, YAML and protobuf.
func (c *TypedCodec) Serializer() runtime.NegotiatedSerializer { return c.codecs }

// New implements Codec.
func (c *TypedCodec) New() runtime.Object {
	obj, err := c.scheme.New(c.hub.WithKind(c.kind.Kind))
	if err != nil {
		panic(fmt.Sprintf("kind %s is not in its own scheme: %v", c.kind, err))
	}
	return obj
}

// Decode implements Codec.
func (c *TypedCodec) Decode(body []byte, serializer runtime.Serializer) (Decoded, *schema.GroupVersionKind, error) {
	kind := c.kind
	return c.decode(body, serializer, &kind)
}

// DecodePatched implements Codec.
func (c *TypedCodec) DecodePatched(text []byte, serializer runtime.Serializer) (Decoded, error) {
	obj, _, err := c.decode(text, serializer, nil)
	return obj, err
}

// decode reads an object of the kind in its text. defaults completes a text without apiVersion or kind; nil: the
// internal version does.
func (c *TypedCodec) decode(text []byte, serializer runtime.Serializer, defaults *schema.GroupVersionKind) (Decoded, *schema.GroupVersionKind, error) {
	if obj, ok := c.decodeFlawless(text, serializer); ok {
		kind := c.kind
		return Decoded{Object: obj}, &kind, nil
	}
	obj, actual, err := c.codecs.DecoderToVersion(c.later.Serializer(serializer), c.hub).Decode(text, defaults, c.New())
	return Decoded{Object: obj}, actual, err
}

// decodeFlawless reads JSON of the codec's kind and version once. Upstream's decoder reads each text twice, first for
// its kind. decodeFlawless declines a text for which upstream would return an error.
func (c *TypedCodec) decodeFlawless(text []byte, serializer runtime.Serializer) (runtime.Object, bool) {
	if info := c.codecs.SupportedMediaTypes()[0]; c.later != nil || serializer != info.Serializer && serializer != info.StrictSerializer {
		return nil, false
	}
	obj, err := c.scheme.New(c.kind)
	if err != nil {
		return nil, false
	}
	if _, nested := obj.(runtime.NestedObjectDecoder); nested {
		return nil, false
	}
	complaints, err := sigsjson.UnmarshalStrict(text, obj)
	if err != nil || len(complaints) > 0 || obj.GetObjectKind().GroupVersionKind() != c.kind {
		return nil, false
	}
	c.scheme.Default(obj)
	hub, err := c.convertor.ConvertToVersion(obj, c.hub)
	return hub, err == nil
}

// DecodeStored implements Codec.
func (c *TypedCodec) DecodeStored(record store.Record) (runtime.Object, error) {
	if obj, ok := c.decodeOwn(record.Value); ok {
		if hub, err := c.convertor.ConvertToVersion(obj, c.read); err == nil {
			return hub, nil
		}
	}
	kind := c.kind
	obj, _, err := c.stored.Decode([]byte(record.Value), &kind, nil)
	if err != nil {
		return nil, fmt.Errorf("reading %s from the store: %w", record.Key, err)
	}
	return obj, nil
}

// decodeOwn reads a text that the codec has printed once. Upstream's decoder reads each text twice, first for its kind.
// It declines other texts, and invalid ones.
func (c *TypedCodec) decodeOwn(text string) (obj runtime.Object, ok bool) {
	if !strings.HasPrefix(text, c.head) {
		return nil, false
	}
	obj, err := c.scheme.New(c.kind)
	if err != nil {
		return nil, false
	}
	if _, nested := obj.(runtime.NestedObjectDecoder); nested {
		return nil, false
	}
	if sigsjson.UnmarshalCaseSensitivePreserveInts([]byte(text), obj) != nil {
		return nil, false
	}
	c.scheme.Default(obj)
	return obj, true
}

// DecodeShown implements Codec.
func (c *TypedCodec) DecodeShown(text string) (runtime.Object, error) {
	return c.DecodeStored(store.Record{Value: text})
}

// DecodeAs implements Codec.
func (c *TypedCodec) DecodeAs(text string) (runtime.Object, error) {
	if obj, ok := c.decodeOwn(text); ok {
		return obj, nil
	}
	obj, _, err := c.asIs.Decode([]byte(text), nil, nil)
	return obj, err
}

// DecodeAllStored implements Codec.
func (c *TypedCodec) DecodeAllStored(records []store.Record) ([]runtime.Object, error) {
	objects := make([]runtime.Object, len(records))
	for i, record := range records {
		var err error
		if objects[i], err = c.DecodeStored(record); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// Encode implements Codec.
func (c *TypedCodec) Encode(obj runtime.Object) ([]byte, error) {
	text, err := c.Text(obj)
	return []byte(text), err
}

// Text is Encode as a string.
func (c *TypedCodec) Text(obj runtime.Object) (string, error) {
	versioned, err := c.versioned(obj)
	if err != nil {
		return "", err
	}
	return c.print(versioned)
}

// Shallow returns a shallow copy of an object, for a conversion that may write to the TypeMeta of its input while other
// goroutines read it.
func Shallow(obj runtime.Object) runtime.Object {
	own := reflect.New(reflect.TypeOf(obj).Elem())
	own.Elem().Set(reflect.ValueOf(obj).Elem())
	return own.Interface().(runtime.Object)
}

// versioned returns an object of the hub version in the version of the codec. The result may share parts with obj.
func (c *TypedCodec) versioned(obj runtime.Object) (runtime.Object, error) {
	return converted(c.convertor, obj, c.hub, c.kind.GroupVersion())
}

// External implements Codec.
func (c *TypedCodec) External(obj runtime.Object) (runtime.Object, error) { return c.versioned(obj) }

// converted converts an object to another version. The result may share parts with obj. A conversion to the version of
// the object itself sets its TypeMeta; others do not alter the object.
func converted(c runtime.ObjectConvertor, obj runtime.Object, from, to schema.GroupVersion) (runtime.Object, error) {
	if from == to {
		obj = Shallow(obj)
	}
	return c.ConvertToVersion(obj, to)
}

// print returns the JSON of an object in the version of the codec, as upstream's serializer prints it.
func (c *TypedCodec) print(obj runtime.Object) (string, error) {
	var b strings.Builder // which encoders write to once
	var err error
	if _, nested := obj.(runtime.NestedObjectEncoder); nested {
		err = c.encoder.Encode(obj, &b)
	} else {
		err = json.NewEncoder(&b).Encode(obj)
	}
	if err != nil {
		return "", err
	}
	return c.later.Omit(strings.TrimSuffix(b.String(), "\n")), nil
}

// EncodeToStore implements Codec. The result is what a real server reads back from etcd: without nanoseconds and empty
// lists, which the encoding lacks, and with defaults for fields that the strategy has cleared. For example, a new
// PersistentVolumeClaim is Pending.
func (c *TypedCodec) EncodeToStore(obj Decoded) (Encoded, error) {
	// Copy, because Prune alters the object, and because a Quantity caches its text.
	versioned, err := c.versioned(obj.Object.DeepCopyObject())
	if err != nil {
		return Encoded{}, err
	}
	c.later.Prune(versioned)
	stored, filled, err := c.throughStorage(versioned)
	if err != nil {
		return Encoded{}, err
	}
	if stored, err = c.convertor.ConvertToVersion(stored, c.hub); err != nil {
		return Encoded{}, err
	}
	text, err := c.Text(stored)
	if err != nil {
		return Encoded{}, err
	}
	if !utf8.ValidString(text) {
		// The encoder replaces bytes that are not UTF-8 in strings, but not in fields that
		// hold JSON, such as fieldsV1, where protobuf can send them.
		text = strings.ToValidUTF8(text, replacement)
	}
	text = withReplacements(text)
	encoded := Encoded{Text: text, Filled: filled}
	if strings.Contains(text, replacement) {
		return encoded, nil // the object may still have the replaced bytes
	}
	obj.Object = stored
	encoded.Stored = obj
	return encoded, nil
}

// replacement is the character in place of bytes that are not UTF-8.
const replacement = "\ufffd"

// withReplacements returns a JSON text with the replacement character in place of its escape. For bytes that are not
// UTF-8, encoding/json of Go 1.26 writes the escape, and that of Go 1.27 the character. So the stored text is the same
// with both.
func withReplacements(text string) string {
	const escape = `\ufffd`
	if !strings.Contains(text, escape) {
		return text
	}
	var replaced []byte
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] != '\\':
			replaced = append(replaced, text[i])
		case strings.HasPrefix(text[i:], escape):
			replaced = append(replaced, replacement...)
			i += len(escape) - 1
		default: // the next byte is escaped, and may be a backslash
			replaced = append(replaced, text[i:min(i+2, len(text))]...)
			i++
		}
	}
	return string(replaced)
}

// throughStorage returns an object, in the version of the codec, as a real server reads it back from etcd. filled:
// defaults were filled in.
func (c *TypedCodec) throughStorage(obj runtime.Object) (stored runtime.Object, filled bool, err error) {
	first, second := runtime.AllocatorPool.Get().(*runtime.Allocator), runtime.AllocatorPool.Get().(*runtime.Allocator)
	defer runtime.AllocatorPool.Put(first)
	defer runtime.AllocatorPool.Put(second)
	write, read := marshalJSON, json.Unmarshal
	if c.InProtobuf {
		write, read = marshalProto, unmarshalProto
	}
	text, err := write(obj, first)
	if err != nil {
		return nil, false, err
	}
	if stored, err = c.scheme.New(c.kind); err != nil {
		return nil, false, err
	}
	if err := read(text, stored); err != nil {
		return nil, false, err
	}
	stored.GetObjectKind().SetGroupVersionKind(obj.GetObjectKind().GroupVersionKind())
	c.scheme.Default(stored)
	c.later.Prune(stored)
	again, err := write(stored, second)
	return stored, !bytes.Equal(text, again), err
}

// marshalJSON returns an object in JSON.
func marshalJSON(obj any, _ runtime.MemoryAllocator) ([]byte, error) { return json.Marshal(obj) }

// marshalProto returns an object in protobuf, in the memory of an allocator.
func marshalProto(obj any, memory runtime.MemoryAllocator) ([]byte, error) {
	m, ok := obj.(runtime.ProtobufMarshaller)
	if !ok {
		return nil, fmt.Errorf("%T cannot be written in protobuf", obj)
	}
	text := memory.Allocate(uint64(m.(interface{ Size() int }).Size()))
	n, err := m.MarshalTo(text)
	return text[:n], err
}

// unmarshalProto reads what marshalProto has written.
func unmarshalProto(text []byte, obj any) error {
	m, ok := obj.(interface{ Unmarshal([]byte) error })
	if !ok {
		return fmt.Errorf("%T cannot be read from protobuf", obj)
	}
	return m.Unmarshal(text)
}

// Fields implements Codec.
func (c *TypedCodec) Fields(obj runtime.Object) (fields.Set, error) {
	_, set, err := c.attributes(obj)
	return set, err
}

// ConvertFieldLabel implements Codec.
func (c *TypedCodec) ConvertFieldLabel(label, value string) (string, string, error) {
	return c.scheme.ConvertFieldLabel(c.kind, label, value)
}

// ReadField implements Codec. Fields that are not in PlainFields need the decoded object.
func (c *TypedCodec) ReadField(text, field string) (string, bool) {
	if !slices.Contains(c.PlainFields, field) {
		return "", false
	}
	value := gjson.Get(text, field)
	return value.String(), value.Type == gjson.String || !value.Exists()
}

// View implements Codec. Stored objects with Go types are always decoded.
func (c *TypedCodec) View(store.Record) (string, bool) { return "", false }

// Copy implements Codec.
func (c *TypedCodec) Copy(obj runtime.Object) runtime.Object { return obj.DeepCopyObject() }
