package builtin

import (
	"fmt"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apiserver/pkg/storage"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// codec is the codec of a kind in one version. The objects are of upstream's internal
// type.
type codec struct {
	*resource.TypedCodec
	scheme     *runtime.Scheme
	kind       schema.GroupVersionKind
	stored     runtime.Decoder
	attributes func(runtime.Object) (labels.Set, fields.Set, error)
}

// newCodec is the codec of a kind in one version, whose objects are stored as a kind
// of the same name in the given group.
func newCodec(scheme *runtime.Scheme, kind schema.GroupVersionKind, storedIn string,
	attributes func(runtime.Object) (labels.Set, fields.Set, error)) *codec {
	if attributes == nil {
		attributes = storage.DefaultNamespaceScopedAttr
	}
	hub := schema.GroupVersion{Group: kind.Group, Version: runtime.APIVersionInternal}
	c := &codec{
		TypedCodec: resource.NewTypedCodec(scheme, kind, hub, nil),
		scheme:     scheme, kind: kind, attributes: attributes,
	}
	// The objects may be stored as a kind of another group with the same internal type, for
	// example Events. So the target of a conversion has both groups.
	into := runtime.NewMultiGroupVersioner(hub, schema.GroupKind{Group: kind.Group}, schema.GroupKind{Group: storedIn})
	c.stored = c.Serializer().(serializer.CodecFactory).DecoderToVersion(
		json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{}), into)
	return c
}

// DecodeStored implements resource.Codec.
func (c *codec) DecodeStored(record store.Record) (runtime.Object, error) {
	kind := c.kind
	obj, _, err := c.stored.Decode([]byte(record.Value), &kind, nil)
	if err != nil {
		return nil, fmt.Errorf("reading %s from the store: %w", record.Key, err)
	}
	return obj, nil
}

// DecodeAllStored implements resource.Codec.
func (c *codec) DecodeAllStored(records []store.Record) ([]runtime.Object, error) {
	all := make([]runtime.Object, len(records))
	for i, record := range records {
		var err error
		if all[i], err = c.DecodeStored(record); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Fields implements resource.Codec.
func (c *codec) Fields(obj runtime.Object) (fields.Set, error) {
	_, set, err := c.attributes(obj)
	return set, err
}

// ConvertFieldLabel implements resource.Codec.
func (c *codec) ConvertFieldLabel(label, value string) (string, string, error) {
	return c.scheme.ConvertFieldLabel(c.kind, label, value)
}
