package crd

import (
	"bytes"
	"fmt"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	serializerjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/util/jsonpath"
	kjson "sigs.k8s.io/json"

	"github.com/fakecluster/fakecluster/internal/json"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/schema"
	"github.com/fakecluster/fakecluster/store"
)

// codec is the resource.Codec of one version of a custom resource: its objects
// are unstructured.
type codec struct {
	kind       runtimeschema.GroupVersionKind
	namespaced bool
	preserve   bool                       // spec.preserveUnknownFields
	schemas    map[string]*compiledSchema // by version
	identities map[string]string          // by version: the tags of records that were written under the current schemas
	selectable []selectableField
	webhook    *conversionWebhook // nil: conversion changes only apiVersion
	// conversions has the results of the webhook for the version.
	conversions *resource.Conversions
}

// selectableField is a field that field selectors may use.
type selectableField struct {
	name string
	path *jsonpath.JSONPath
	// names is the path for gjson; empty if it does not consist of names only.
	names string
}

func newSelectableFields(declared []apiextensions.SelectableField) ([]selectableField, error) {
	var fields []selectableField
	for _, f := range declared {
		path := jsonpath.New("selectableField")
		path.AllowMissingKeys(true)
		if err := path.Parse("{" + f.JSONPath + "}"); err != nil {
			return nil, fmt.Errorf("selectable field %s: %w", f.JSONPath, err)
		}
		fields = append(fields, selectableField{strings.TrimPrefix(f.JSONPath, "."), path, plainPath(f.JSONPath)})
	}
	return fields, nil
}

// New implements resource.Codec.
func (c *codec) New() runtime.Object {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(c.kind)
	return u
}

// Decode implements resource.Codec.
func (c *codec) Decode(body []byte, serializer runtime.Serializer) (resource.Decoded, *runtimeschema.GroupVersionKind, error) {
	u, actual, err := c.parse(body, serializer)
	strict, isStrict := runtime.AsStrictDecodingError(err)
	if err != nil && !isStrict {
		return resource.Decoded{}, actual, err
	}
	var complaints []error
	if isStrict {
		complaints = strict.Errors()
	}
	js, ok := serializer.(*serializerjson.Serializer)
	found, err := c.coerce(u, coerceOptions{reportUnknown: ok && js.IsStrict(), setDefaults: true, ask: requiredFacts})
	if err != nil {
		return resource.Decoded{}, actual, err
	}
	decoded := resource.Decoded{Object: u, Facts: found.Parts}
	for _, field := range found.Unknown {
		complaints = append(complaints, fmt.Errorf("unknown field %q", field))
	}
	if len(complaints) > 0 {
		return decoded, actual, runtime.NewStrictDecodingError(complaints)
	}
	return decoded, actual, nil
}

// DecodePatched implements resource.Codec. A custom object must have its kind in any case.
func (c *codec) DecodePatched(text []byte, serializer runtime.Serializer) (resource.Decoded, error) {
	obj, _, err := c.Decode(text, serializer)
	return obj, err
}

// parse decodes a body without pruning or defaulting. It decodes strict JSON, the usual case, itself, with the same
// result as the serializer. The serializer decodes other bodies, and returns the errors.
func (c *codec) parse(body []byte, serializer runtime.Serializer) (*unstructured.Unstructured, *runtimeschema.GroupVersionKind, error) {
	u := &unstructured.Unstructured{}
	if serializer == mediaTypes[0].StrictSerializer {
		var strict []error
		var err error
		if obj, ok := json.Decode(string(body)); ok {
			u.Object = obj
		} else {
			strict, err = kjson.UnmarshalStrict(body, &u.Object)
		}
		if kind := u.GroupVersionKind(); err == nil && kind.Kind != "" && kind.Version != "" { // Version is empty for an invalid apiVersion
			if len(strict) > 0 {
				return u, &kind, runtime.NewStrictDecodingError(strict)
			}
			return u, &kind, nil
		}
		u = &unstructured.Unstructured{}
	}
	_, kind, err := serializer.Decode(body, &c.kind, u)
	return u, kind, err
}

// DecodeStored implements resource.Codec.
func (c *codec) DecodeStored(record store.Record) (runtime.Object, error) {
	u, err := c.decodeAsStored(record)
	if err != nil {
		return nil, err
	}
	// Do not return a nil map as an object.
	converted, err := c.convert(u, c.kind.Version)
	if err != nil {
		return nil, &resource.CorruptError{Revision: record.Revision, Err: err}
	}
	c.remember(record, converted)
	return converted, nil
}

// DecodeShown implements resource.Codec.
func (c *codec) DecodeShown(text string) (runtime.Object, error) {
	return parseStored(store.Record{Value: text})
}

// DecodeAs implements resource.Codec.
func (c *codec) DecodeAs(text string) (runtime.Object, error) { return c.DecodeShown(text) }

// DecodeAllStored implements resource.Codec.
func (c *codec) DecodeAllStored(records []store.Record) ([]runtime.Object, error) {
	items := make([]*unstructured.Unstructured, len(records))
	for i, record := range records {
		var err error
		if items[i], err = c.decodeAsStored(record); err != nil {
			return nil, err
		}
	}
	if err := c.convertAll(items); err != nil {
		return nil, err
	}
	objects := make([]runtime.Object, len(items))
	for i, u := range items {
		c.remember(records[i], u)
		objects[i] = u
	}
	return objects, nil
}

// remember caches the result of the webhook for a record.
func (c *codec) remember(record store.Record, u *unstructured.Unstructured) {
	if c.webhook == nil || record.Revision == 0 {
		return
	}
	if text, err := json.Encode(u.Object); err == nil {
		c.conversions.Remember(record, string(text))
	}
}

// decodeAsStored decodes an object in the version in which it was written, pruned and defaulted by the current schema of
// that version.
func (c *codec) decodeAsStored(record store.Record) (*unstructured.Unstructured, error) {
	u, err := parseStored(record)
	if err != nil {
		return nil, err
	}
	if identity := resource.IdentityOf(record); identity == "" || identity != c.identities[u.GroupVersionKind().Version] {
		if _, err := c.coerce(u, coerceOptions{stored: true, setDefaults: true}); err != nil {
			return nil, fmt.Errorf("reading %s from the store: %w", record.Key, err)
		}
	}
	return u, nil
}

// parseStored decodes the text of a record, without pruning or defaulting.
func parseStored(record store.Record) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	if obj, ok := json.Decode(record.Value); ok {
		u.Object = obj
	} else if err := utiljson.Unmarshal([]byte(record.Value), &u.Object); err != nil {
		return nil, fmt.Errorf("reading %s from the store: %w", record.Key, err)
	}
	return u, nil
}

// Encode implements resource.Codec.
func (c *codec) Encode(obj runtime.Object) ([]byte, error) {
	u := obj.(*unstructured.Unstructured)
	if u.GetAPIVersion() != c.kind.GroupVersion().String() {
		var err error
		if u, err = c.convert(u.DeepCopy(), c.kind.Version); err != nil {
			return nil, err
		}
	}
	return json.Encode(u.Object)
}

// EncodeToStore implements resource.Codec. A real server stores an object unchanged in the storage version. On each read
// it prunes the object, makes its metadata canonical, and fills in defaults, for example of a status that the pipeline
// has reset. Here the text is already in that form. The stored object is the object itself if it has the storage version
// and decoding its JSON would return the same values.
func (c *codec) EncodeToStore(obj resource.Decoded) (resource.Encoded, error) {
	u := obj.Object.(*unstructured.Unstructured)
	converted := u.GetAPIVersion() != c.kind.GroupVersion().String()
	if converted {
		var err error
		if u, err = c.convert(u.DeepCopy(), c.kind.Version); err != nil {
			return resource.Encoded{}, err
		}
		obj.Facts = schema.Parts{}
	}
	changed, err := c.readBack(u, obj.Facts)
	if err != nil {
		return resource.Encoded{}, err
	}
	if changed {
		obj.Facts = schema.Parts{}
	}
	text, same, err := json.EncodeToStore(u.Object)
	encoded := resource.Encoded{Text: string(text), Filled: changed}
	switch {
	case err != nil:
	case !same && !changed: // a real server stores a number as -0 and reads it as 0
		var asIs []byte
		asIs, err = json.Encode(u.Object)
		encoded.Filled = !bytes.Equal(text, asIs)
	case same && !converted:
		encoded.Stored = obj
	}
	return encoded, err
}

// Fields implements resource.Codec.
func (c *codec) Fields(obj runtime.Object) (fields.Set, error) {
	u := obj.(*unstructured.Unstructured)
	set := fields.Set{"metadata.name": u.GetName()}
	if c.namespaced {
		set["metadata.namespace"] = u.GetNamespace()
	}
	for _, f := range c.selectable {
		found, err := f.path.FindResults(u.Object)
		if err != nil {
			return nil, fmt.Errorf("unexpected error finding value with jsonPath: %w", err)
		}
		set[f.name] = ""
		if len(found) > 0 && len(found[0]) > 0 {
			if value := found[0][0].Interface(); value != nil {
				set[f.name] = fmt.Sprint(value)
			}
		}
	}
	return set, nil
}

// ConvertFieldLabel implements resource.Codec.
func (c *codec) ConvertFieldLabel(label, value string) (string, string, error) {
	if label == "metadata.name" || c.namespaced && label == "metadata.namespace" {
		return label, value, nil
	}
	for _, f := range c.selectable {
		if f.name == label {
			return label, value, nil
		}
	}
	return "", "", fmt.Errorf("field label not supported: %s", label)
}

// setDefaults fills in the defaults of the version of u.
func (c *codec) setDefaults(u *unstructured.Unstructured) error {
	if k := u.GroupVersionKind(); k.GroupKind() == c.kind.GroupKind() {
		if s := c.schemas[k.Version]; s != nil {
			return s.node.Normalize(u.Object, schema.Walk{Do: schema.Default}).Err()
		}
	}
	return nil
}
