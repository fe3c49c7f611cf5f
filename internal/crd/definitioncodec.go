package crd

import (
	"bytes"
	"strings"

	"github.com/tidwall/gjson"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/internal/cache"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// definitionCodec is the codec of definitions in one version. A body that the process has read before is not
// read again, and equal specs are shared.
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

// DecodePatched implements resource.Codec. Decode may have read the definition before if it names its kind.
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

// EncodeToStore implements resource.Codec. A definition without status.storedVersions gets
// the ones that reading it back from etcd would give it.
//
// A definition is large, and the server looks at it several times to establish it. So the
// object itself counts as what is stored, and is not decoded again. It may have times to
// the nanosecond and empty lists, which JSON does not have; no code that looks at
// definitions minds that.
func (c *definitionCodec) EncodeToStore(obj resource.Decoded) (resource.Encoded, error) {
	crd := obj.Object.(*apiextensions.CustomResourceDefinition)
	filled := len(crd.Status.StoredVersions) == 0
	if filled {
		recordStorageVersion(crd)
	}
	text, err := c.Encode(crd)
	if err != nil || !hasNegativeZero(text) {
		return resource.Encoded{Text: text, Stored: obj, Filled: filled}, err
	}
	// As in custom objects, a default of -0.0 reads as 0. A minimum, which is a float64 in Go, does not.
	read, err := c.TypedCodec.DecodeStored(store.Record{Value: string(text)})
	if err != nil {
		return resource.Encoded{}, err
	}
	text, err = c.TypedCodec.Encode(read)
	return resource.Encoded{Text: text, Filled: filled}, err
}

// hasNegativeZero reports whether the JSON contains -0 as a value. It may be part of a string.
func hasNegativeZero(text []byte) bool {
	for {
		at := bytes.Index(text, []byte("-0"))
		if at < 0 {
			return false
		}
		before, after := text[max(at-1, 0)], text[min(at+2, len(text)-1)]
		if strings.ContainsRune(":,[", rune(before)) && strings.ContainsRune(",]}", rune(after)) {
			return true
		}
		text = text[at+2:]
	}
}
