package crd

import (
	"slices"

	"github.com/tidwall/gjson"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/internal/cache"
	"github.com/fakecluster/fakecluster/internal/json"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// definitionCodec is the codec of definitions in one version. It caches decoded bodies, and shares equal specs.
type definitionCodec struct {
	*resource.TypedCodec
	kind schema.GroupVersionKind
}

// Decode implements resource.Codec.
func (c *definitionCodec) Decode(body []byte, s runtime.Serializer) (resource.Decoded, *schema.GroupVersionKind, error) {
	id := cache.NewID(c.kind.String(), string(s.Identifier()), string(body))
	if read, ok := readDefinitions.Get(id); ok {
		kind := c.kind
		read.shared.put()
		return resource.Decoded{Object: copyDefinition(read.crd)}, &kind, nil
	}
	obj, kind, err := c.TypedCodec.Decode(body, s)
	if err != nil || *kind != c.kind {
		return obj, kind, err
	}
	crd := obj.Object.(*apiextensions.CustomResourceDefinition)
	read := readDefinitions.Put(id, readDefinition{crd, share(crd, len(body))}, len(body))
	return resource.Decoded{Object: copyDefinition(read.crd)}, kind, nil
}

// DecodePatched implements resource.Codec. It uses the cache of Decode if the text has apiVersion and kind.
func (c *definitionCodec) DecodePatched(text []byte, s runtime.Serializer) (resource.Decoded, error) {
	named := gjson.GetManyBytes(text, "apiVersion", "kind")
	if schema.FromAPIVersionAndKind(named[0].Str, named[1].Str) != c.kind {
		return c.TypedCodec.DecodePatched(text, s)
	}
	obj, _, err := c.Decode(text, s)
	return obj, err
}

// DecodeStored implements resource.Codec.
func (c *definitionCodec) DecodeStored(record store.Record) (runtime.Object, error) {
	obj, err := c.TypedCodec.DecodeStored(record)
	if err != nil {
		return nil, err
	}
	share(obj.(*apiextensions.CustomResourceDefinition), len(record.Value))
	return obj, nil
}

// Copy implements resource.Codec.
func (c *definitionCodec) Copy(obj runtime.Object) runtime.Object {
	return copyDefinition(obj.(*apiextensions.CustomResourceDefinition))
}

// EncodeToStore implements resource.Codec. It does what reading a definition back from etcd does: it sets a missing
// status.storedVersions, and drops an empty conversionReviewVersions, which v1beta1, the storage version of a real
// server, does not encode.
//
// A definition is large, and the server reads it several times to establish it. So the object itself is the stored
// object, unless a schema has values that decoding would change. It may have nanoseconds and empty lists, which the JSON
// lacks; no code depends on these.
func (c *definitionCodec) EncodeToStore(obj resource.Decoded) (resource.Encoded, error) {
	crd := obj.Object.(*apiextensions.CustomResourceDefinition)
	if c := crd.Spec.Conversion; c != nil && c.ConversionReviewVersions != nil && len(c.ConversionReviewVersions) == 0 {
		conversion := *c // a copy, because specs share it
		conversion.ConversionReviewVersions = nil
		crd.Spec.Conversion = &conversion
	}
	filled := len(crd.Status.StoredVersions) == 0
	if filled {
		recordStorageVersion(crd)
	}
	text, err := c.Text(crd)
	if err != nil || specReadsAsItIs(&crd.Spec) {
		return resource.Encoded{Text: text, Stored: obj, Filled: filled}, err
	}
	read, err := c.TypedCodec.DecodeStored(store.Record{Value: text})
	if err != nil {
		return resource.Encoded{}, err
	}
	text, err = c.Text(read)
	return resource.Encoded{Text: text, Filled: filled}, err
}

// specReadsAsItIs is readsAsItIs, computed once for a shared spec.
func specReadsAsItIs(spec *apiextensions.CustomResourceDefinitionSpec) bool {
	if s := sharedSpecOf(spec); s != nil {
		return s.asItIs()
	}
	return readsAsItIs(spec)
}

// readsAsItIs reports whether decoding the JSON of a spec returns the same values in its schemas. A default of 2.0 is
// decoded as the integer 2, and -0.0 as 0. A minimum is a float64 in Go and does not change.
func readsAsItIs(spec *apiextensions.CustomResourceDefinitionSpec) bool {
	changes := func(value *apiextensions.JSON) bool { return value != nil && !json.ReadsAsItIs(*value) }
	changesIn := func(s *apiextensions.JSONSchemaProps) bool {
		return changes(s.Default) || changes(s.Example) || slices.ContainsFunc(s.Enum, func(value apiextensions.JSON) bool { return changes(&value) })
	}
	for _, v := range spec.Versions {
		if v.Schema != nil && validation.SchemaHas(v.Schema.OpenAPIV3Schema, changesIn) {
			return false
		}
	}
	return spec.Validation == nil || !validation.SchemaHas(spec.Validation.OpenAPIV3Schema, changesIn)
}
