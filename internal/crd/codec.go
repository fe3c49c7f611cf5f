package crd

import (
	"fmt"
	"maps"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	serializerjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/util/jsonpath"
	kjson "sigs.k8s.io/json"

	"github.com/fakecluster/fakecluster/internal/json"
	"github.com/fakecluster/fakecluster/internal/metadata"
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
	identities map[string]string          // by version: the tags of records that were written under the present schemas
	selectable []selectableField
	webhook    func() (runtime.ObjectConvertor, error) // nil: conversion changes apiVersion alone
}

// selectableField is a field that field selectors may name.
type selectableField struct {
	name string
	path *jsonpath.JSONPath
	// names is the same path for gjson, if it consists of names only; otherwise it is
	// empty.
	names string
}

func newSelectableFields(declared []apiextensions.SelectableField) ([]selectableField, error) {
	var all []selectableField
	for _, f := range declared {
		path := jsonpath.New("selectableField")
		path.AllowMissingKeys(true)
		if err := path.Parse("{" + f.JSONPath + "}"); err != nil {
			return nil, fmt.Errorf("selectable field %s: %w", f.JSONPath, err)
		}
		all = append(all, selectableField{strings.TrimPrefix(f.JSONPath, "."), path, plainPath(f.JSONPath)})
	}
	return all, nil
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
	found, err := c.coerce(u, coerceOptions{reportUnknown: ok && js.IsStrict(), setDefaults: true, ask: asked})
	if err != nil {
		return resource.Decoded{}, actual, err
	}
	decoded := resource.Decoded{Object: u, Known: found.Parts}
	for _, field := range found.Unknown {
		complaints = append(complaints, fmt.Errorf("unknown field %q", field))
	}
	if len(complaints) > 0 {
		return decoded, actual, runtime.NewStrictDecodingError(complaints)
	}
	return decoded, actual, nil
}

// parse reads a body without changing it. It reads strict JSON itself, which is the usual
// case, with the same outcome as the serializer. The serializer reads other bodies, and
// words the errors.
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
		if err == nil && u.GetKind() != "" && u.GetAPIVersion() != "" {
			kind := u.GroupVersionKind()
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

// MergePatch is resource.Patches.Merge: RFC 7386 on maps, without a detour through JSON. It
// looks only at what the patch touches.
func (c *codec) MergePatch(current resource.Decoded, patch map[string]any, reportUnknown bool) (resource.Decoded, error) {
	was := current.Object.(*unstructured.Unstructured).Object
	u := &unstructured.Unstructured{Object: mergeMaps(was, patch)}
	if _, patched := patch["metadata"]; !patched {
		ownMetadata(u.Object)
	}
	found, err := c.coerce(u, coerceOptions{reportUnknown: reportUnknown, setDefaults: true, ask: asked, like: was, likeKnown: current.Known})
	if err != nil {
		return resource.Decoded{}, err
	}
	decoded := resource.Decoded{Object: u, Known: found.Parts}
	if len(found.Unknown) == 0 {
		return decoded, nil
	}
	complaints := make([]error, len(found.Unknown))
	for i, field := range found.Unknown {
		complaints[i] = fmt.Errorf("unknown field %q", field)
	}
	return decoded, runtime.NewStrictDecodingError(complaints)
}

// ownMetadata gives an object a metadata map of its own. The pipeline sets fields in it,
// and alters nothing below them.
func ownMetadata(obj map[string]any) {
	if m, ok := obj["metadata"].(map[string]any); ok {
		obj["metadata"] = maps.Clone(m)
	}
}

// mergeMaps returns the document with the patch merged into it. The result shares parts
// with both. mergeMaps may alter the patch, but not the document.
func mergeMaps(document, patch map[string]any) map[string]any {
	merged := make(map[string]any, len(document)+len(patch))
	for key, value := range document {
		if _, patched := patch[key]; !patched {
			merged[key] = value
		}
	}
	for key, value := range patch {
		switch value := value.(type) {
		case nil: // takes the key away
		case map[string]any:
			of, _ := document[key].(map[string]any)
			merged[key] = mergeMaps(of, value)
		default:
			// The patch library copies a value that replaces an object as it is.
			if _, ok := document[key].(map[string]any); ok {
				merged[key] = value
			} else {
				json.DropNulls(value)
				merged[key] = value
			}
		}
	}
	return merged
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
	return converted, nil
}

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
		objects[i] = u
	}
	return objects, nil
}

// decodeAsStored reads an object in the version that it was written in, pruned
// and defaulted by the present schema of that version.
func (c *codec) decodeAsStored(record store.Record) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	if obj, ok := json.Decode(record.Value); ok {
		u.Object = obj
	} else if err := utiljson.Unmarshal([]byte(record.Value), &u.Object); err != nil {
		return nil, fmt.Errorf("reading %s from the store: %w", record.Key, err)
	}
	if record.Tag == "" || record.Tag != c.identities[u.GroupVersionKind().Version] {
		if _, err := c.coerce(u, coerceOptions{stored: true, setDefaults: true}); err != nil {
			return nil, fmt.Errorf("reading %s from the store: %w", record.Key, err)
		}
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

// EncodeToStore implements resource.Codec: a status that the pipeline has reset gets its
// defaults again. Stored is the object itself if it is in the storage version and decoding
// its JSON would give the same values.
func (c *codec) EncodeToStore(obj resource.Decoded) ([]byte, resource.Decoded, error) {
	u := obj.Object.(*unstructured.Unstructured)
	converted := u.GetAPIVersion() != c.kind.GroupVersion().String()
	if converted {
		var err error
		if u, err = c.convert(u.DeepCopy(), c.kind.Version); err != nil {
			return nil, resource.Decoded{}, err
		}
		obj.Known = schema.Parts{}
	}
	if u.GetKind() == c.kind.Kind {
		filled := c.schemas[c.kind.Version].node.Settle(u.Object, schema.Walk{Do: schema.Default, Known: obj.Known})
		if err := filled.Err(); err != nil {
			return nil, resource.Decoded{}, err
		}
		if filled.Changed {
			obj.Known = schema.Parts{}
		}
	}
	text, same, err := json.EncodeAndCompare(u.Object)
	if err != nil || converted || !same {
		return text, resource.Decoded{}, err
	}
	return text, obj, nil
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

// setDefaults fills in the defaults of the version that u is in.
func (c *codec) setDefaults(u *unstructured.Unstructured) error {
	if k := u.GroupVersionKind(); k.GroupKind() == c.kind.GroupKind() {
		if s := c.schemas[k.Version]; s != nil {
			return s.node.Settle(u.Object, schema.Walk{Do: schema.Default}).Err()
		}
	}
	return nil
}

// asked are the facts of an object that a write needs.
const asked = schema.Valid | schema.Distinct | schema.EmbeddedValid | schema.Complete

type coerceOptions struct {
	stored        bool // drop malformed metadata instead of refusing it
	reportUnknown bool // name the fields that are dropped
	setDefaults   bool // fill in the defaults, as setDefaults would afterwards

	ask       schema.Facts   // to find out
	like      map[string]any // see schema.Walk
	likeKnown schema.Parts
}

// coerced is the result of coerce.
type coerced struct {
	// Unknown are the paths of the dropped fields, with reportUnknown.
	Unknown []string
	// Parts are the requested facts, of an object in the codec's version.
	schema.Parts
}

// coerce does for maps what decoding into a Go type does for built-in kinds: it checks and
// prunes metadata, and drops unknown fields and forbidden nulls.
func (c *codec) coerce(u *unstructured.Unstructured, o coerceOptions) (coerced, error) {
	kind, hasKind, err := unstructured.NestedString(u.Object, "kind")
	if err != nil {
		return coerced{}, err
	}
	apiVersion, hasVersion, err := unstructured.NestedString(u.Object, "apiVersion")
	if err != nil {
		return coerced{}, err
	}
	var found coerced
	var rewritten *metav1.ObjectMeta // if it must be written back
	hasMetadata := false
	asIs, isMap := u.Object["metadata"].(map[string]any)
	canonical := isMap && metadata.IsCanonical(asIs) && (!o.stored || asIs["generation"] != nil)
	if !canonical {
		rewritten, hasMetadata, found.Unknown, err = objectmeta.GetObjectMetaWithOptions(u.Object, objectmeta.ObjectMetaOptions{
			DropMalformedFields: o.stored, ReturnUnknownFieldPaths: o.reportUnknown,
		})
		if err != nil {
			return coerced{}, err
		}
	}
	version, err := runtimeschema.ParseGroupVersion(apiVersion)
	if err != nil {
		return coerced{}, err
	}
	var defaults *schema.Node // to be filled in at the end
	if version.Group == c.kind.Group && kind == c.kind.Kind {
		s := c.schemas[version.Version]
		if s == nil {
			s = noSchema
		}
		settled, complete, err := c.settle(u, s, o)
		if err != nil {
			return coerced{}, err
		}
		found.Unknown = append(found.Unknown, settled.Unknown...)
		switch {
		case !complete && o.setDefaults:
			defaults = s.node
		case complete && version.Version == c.kind.Version:
			found.Parts = settled.Parts
		}
		if o.stored && rewritten != nil && rewritten.Generation == 0 {
			rewritten.Generation = 1
		}
	}
	// Pruning may have dropped these fields, which a schema need not name.
	if hasKind {
		u.SetKind(kind)
	}
	if hasVersion {
		u.SetAPIVersion(apiVersion)
	}
	if canonical {
		u.Object["metadata"] = asIs
	} else if hasMetadata {
		if err := objectmeta.SetObjectMeta(u.Object, rewritten); err != nil {
			return coerced{}, err
		}
	}
	if defaults != nil {
		if err := defaults.Settle(u.Object, schema.Walk{Do: schema.Default}).Err(); err != nil {
			return coerced{}, err
		}
	}
	return found, nil
}

// noSchema is the schema of versions that the definition does not have: every field is
// unknown.
var noSchema = &compiledSchema{node: schema.Compile(nil, nil)}

// settle drops unknown fields, and makes the metadata of embedded resources canonical. If
// the defaults cannot depend on a later step, it fills them in on the same walk and returns
// complete: then the facts that it has found hold.
func (c *codec) settle(u *unstructured.Unstructured, s *compiledSchema, o coerceOptions) (found schema.Settled, complete bool, err error) {
	walk := schema.Walk{Ask: o.ask, TrackUnknown: o.reportUnknown, Like: o.like, LikeKnown: o.likeKnown}
	if !c.preserve {
		walk.Do = schema.Prune | schema.DropNulls
	}
	asTheyAre := !s.node.HasEmbedded() || s.node.Inspect(u.Object, schema.EmbeddedCanonical).Has(schema.EmbeddedCanonical)
	if !asTheyAre { // CoerceWithOptions rewrites them in place
		if o.like != nil {
			u.Object = runtime.DeepCopyJSON(u.Object)
		}
		walk.Like, walk.Ask = nil, 0
	}
	if complete = o.setDefaults && asTheyAre && s.node.Additional == nil && !s.node.Properties["metadata"].HasDefaults(); complete {
		walk.Do |= schema.Default
	}
	found = s.node.Settle(u.Object, walk)
	if err := found.Err(); err != nil {
		return found, false, err
	}
	if asTheyAre {
		return found, complete, nil
	}
	invalid, embedded := objectmeta.CoerceWithOptions(nil, u.Object, s.structural, false,
		objectmeta.CoerceOptions{DropInvalidFields: o.stored, ReturnUnknownFieldPaths: o.reportUnknown})
	if invalid != nil {
		return found, false, invalid
	}
	found.Unknown = append(found.Unknown, embedded...)
	return found, false, nil
}
