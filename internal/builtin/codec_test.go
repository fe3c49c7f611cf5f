package builtin

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	kjson "sigs.k8s.io/json"

	localjson "github.com/fakecluster/fakecluster/internal/json"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/testing/fieldstest"
	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
	"github.com/fakecluster/fakecluster/store"
)

var patches = flag.Int("patches", 2, "how many random `merge patches` of each random object are compared with upstream")

// TestCodecsReadAndPrintAsUpstreamDoes holds the codec of every kind in every version to
// upstream's: what it reads of a request, what it stores, what it reads of that, as an object or a single field, and what a
// merge patch makes of it.
func TestCodecsReadAndPrintAsUpstreamDoes(t *testing.T) {
	models := allModels()
	synctest.Test(t, func(t *testing.T) { // some defaults are the time, and it stands still here
		c := codecCases{T: t, generator: generator{fieldstest.Generator{Rand: seedtest.Source(seedtest.Seed(t), 0)}, models}}
		for _, r := range Resources(Options{LegacyAPIs: true}, nil) {
			for _, v := range r.Versions {
				if v.Strategy == nil || r.Group == apiServices.name {
					continue
				}
				name, err := resource.ModelName(legacyscheme.Scheme, v.Kind())
				if err != nil || models[name] == nil {
					t.Fatalf("%s has no model: %v", v.Kind(), err)
				}
				for range 8 {
					c.play(v, models[name])
				}
			}
		}
		t.Logf("%d objects were read, %d patches were merged, and %d refused; %d objects were filled, %d fields were read from texts",
			c.read, c.merged, c.refused, c.filled, c.plain)
		t.Logf("%d patches were merged by field, %d declined; %d were merged strategically, %d of them with an error", c.mergedByField, c.declined, c.strategic, c.strategicErrors)
		if c.mergedByField < 300 || c.declined > c.mergedByField/10 || c.strategic < 300 || c.strategicErrors < 50 {
			t.Error("the test shows little of patches")
		}
		if c.read < 400 || c.merged < 500 || c.refused < 200 || c.filled < 100 || c.plain == 0 {
			t.Error("the test shows little")
		}
	})
}

type codecCases struct {
	*testing.T
	generator
	read, filled    int
	merged, refused int // patches

	mergedByField, declined    int // merge patches
	strategic, strategicErrors int // strategic merge patches
	plain                      int // fields that were read from the text
}

func (c *codecCases) play(v *resource.Version, model *spec.Schema) {
	tree := c.whole(model)
	tree["apiVersion"], tree["kind"] = v.GroupVersion().String(), v.Kind().Kind
	json := v.Serializer.SupportedMediaTypes()[0]
	upstream := v.Serializer.(serializer.CodecFactory)
	hub := internalIn(v.Resource.Group)
	body := c.text(tree)
	kind := v.Kind()

	for _, reader := range []runtime.Serializer{json.StrictSerializer, json.Serializer} {
		want, wantKind, wantErr := upstream.DecoderToVersion(reader, hub).Decode(body, &kind, v.Codec.New())
		got, gotKind, err := v.Codec.Decode(body, reader)
		c.same(v, "reads "+string(body), want, got.Object)
		if diff := cmp.Diff(message(wantErr), message(err)); diff != "" || *wantKind != *gotKind {
			c.Errorf("%s: %v, want %v (-want +got):\n%s", kind, gotKind, wantKind, diff)
		}
	}
	obj, _, err := v.Codec.Decode(body, json.Serializer)
	if err != nil {
		return
	}
	c.read++

	text := c.store(v, obj, body)
	for range *patches {
		c.merge(v, text, model)
		c.mergeStrategically(v, text, model)
	}
	if bare := c.bare(v, tree); bare != nil {
		c.store(v, resource.Decoded{Object: bare}, body)
	}
}

// sameInProtobuf compares what clients read of two objects in protobuf: of the one that was stored, and of the one that was read
// of the stored text.
func (c *codecCases) sameInProtobuf(v *resource.Version, stored, read runtime.Object) {
	upstream := v.Serializer.(serializer.CodecFactory)
	info, ok := runtime.SerializerInfoForMediaType(v.Serializer.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	if !ok {
		c.Fatalf("%s is not served in protobuf", v.Kind())
	}
	before := stored.DeepCopyObject()
	var objects []runtime.Object
	for _, obj := range []runtime.Object{resource.Shallow(stored), read} {
		content, err := runtime.Encode(upstream.EncoderForVersion(info.Serializer, v.GroupVersion()), obj)
		if err != nil {
			c.Fatal(err)
		}
		if obj, _, err = upstream.DecoderToVersion(info.Serializer, v.GroupVersion()).Decode(content, nil, nil); err != nil {
			c.Fatal(err)
		}
		objects = append(objects, obj)
	}
	c.same(v, "is altered by protobuf", before, stored)
	if !equality.Semantic.DeepEqual(objects[0], objects[1]) {
		c.Errorf("%s in protobuf (-stored +read):\n%s", v.Kind(), cmp.Diff(objects[0], objects[1]))
	}
}

// tree compares the JSON of an object, as maps and lists, with upstream's.
func (c *codecCases) tree(v *resource.Version, obj runtime.Object) {
	want, wantErr := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	got, err := resource.Tree(obj)
	if !reflect.DeepEqual(want, got) || (err == nil) != (wantErr == nil) {
		c.Errorf("%s: the tree is (-want +got):\n%s\n%v, want %v", v.Kind(), cmp.Diff(want, got), err, wantErr)
	}
}

// fields compares the fields that the codec reads from the stored text with those of the object.
func (c *codecCases) fields(v *resource.Version, text string, obj runtime.Object) {
	set, err := v.Codec.Fields(obj)
	if err != nil {
		c.Fatal(err)
	}
	for field, want := range set {
		got, ok := v.Codec.ReadField(text, field)
		if ok && got != want {
			c.Errorf("%s: the text has %s=%q, want %q: %s", v.Kind(), field, got, want, text)
		}
		if ok && want != "" {
			c.plain++
		}
	}
}

// bare returns an object without defaults, as a strategy may leave one, or nil if its values do not fit
// its type.
func (c *codecCases) bare(v *resource.Version, tree map[string]any) runtime.Object {
	obj := v.Codec.New()
	versioned, err := legacyscheme.Scheme.New(v.Kind())
	if err != nil || runtime.DefaultUnstructuredConverter.FromUnstructured(tree, versioned) != nil {
		return nil
	}
	if legacyscheme.Scheme.Convert(versioned, obj, nil) != nil {
		return nil
	}
	return obj
}

// store compares what is stored of an object with what a real server stores and reads of it, with the
// defaults that reading fills in. A real server stores protobuf, except for APIServices and the like. Without
// an update, it would store other bytes if reading has filled in something.
func (c *codecCases) store(v *resource.Version, obj resource.Decoded, body []byte) []byte {
	json := v.Serializer.SupportedMediaTypes()[0]
	upstream := v.Serializer.(serializer.CodecFactory)
	hub, kind := internalIn(v.Resource.Group), v.Kind()
	var printed, again, want bytes.Buffer
	printer, storage := upstream.EncoderForVersion(json.Serializer, v.GroupVersion()), json.Serializer
	if v.Resource.InTreeAdmission {
		i := slices.IndexFunc(v.Serializer.SupportedMediaTypes(), func(info runtime.SerializerInfo) bool { return info.MediaType == runtime.ContentTypeProtobuf })
		storage = v.Serializer.SupportedMediaTypes()[i].Serializer
	}
	if err := upstream.EncoderForVersion(storage, v.GroupVersion()).Encode(obj.Object.DeepCopyObject(), &printed); err != nil {
		c.Fatal(err)
	}
	reread, _, err := upstream.DecoderToVersion(storage, hub).Decode(printed.Bytes(), &kind, nil)
	if err != nil {
		c.Fatal(err)
	}
	if err := upstream.EncoderForVersion(storage, v.GroupVersion()).Encode(reread, &again); err != nil {
		c.Fatal(err)
	}
	if err := printer.Encode(reread, &want); err != nil {
		c.Fatal(err)
	}
	before := obj.Object.DeepCopyObject()
	encoded, err := v.Codec.EncodeToStore(obj)
	if err != nil {
		c.Fatal(err)
	}
	text, stored := []byte(encoded.Text), encoded.Stored
	if diff := cmp.Diff(string(bytes.TrimSpace(want.Bytes())), string(text)); diff != "" {
		c.Errorf("%s prints (-want +got):\n%s", kind, diff)
	}
	filled := !bytes.Equal(printed.Bytes(), again.Bytes())
	if filled != encoded.Filled {
		c.Errorf("%s: filled is %t, want %t, for %s", kind, encoded.Filled, filled, body)
	}
	if filled {
		c.filled++
	}
	c.same(v, "is altered by printing", before, obj.Object)
	read, _, err := upstream.DecoderToVersion(json.Serializer, hub).Decode(text, &kind, nil)
	if err != nil {
		c.Fatal(err)
	}
	got, err := v.Codec.DecodeStored(store.Record{Value: string(text)})
	if err != nil {
		c.Fatal(err)
	}
	c.same(v, "is read of the store", read, got)
	c.fields(v, string(text), got)
	versioned, _, err := upstream.DecoderToVersion(json.Serializer, v.GroupVersion()).Decode(text, &kind, nil)
	if err != nil {
		c.Fatal(err)
	}
	asIs, err := v.Codec.DecodeAs(string(text))
	if err != nil {
		c.Fatal(err)
	}
	c.same(v, "is read in its own version", versioned, asIs)
	c.tree(v, asIs)
	if unread, err := legacyscheme.Scheme.ConvertToVersion(before, v.GroupVersion()); err == nil {
		c.tree(v, unread)
	}
	if stored.Object != nil {
		c.sameInProtobuf(v, stored.Object, asIs)
	}
	// Protobuf makes empty bytes of none, which JSON does not show.
	if stored.Object != nil && !equality.Semantic.DeepEqual(read, stored.Object) {
		c.Errorf("%s is stored (-as it is read +stored):\n%s", v.Kind(), cmp.Diff(read, stored.Object))
	}
	return text
}

// merge compares what a merge patch makes of an object with what upstream makes of it: the patched object, or the error.
// The patch has odd numbers and values of other types in any place.
func (c *codecCases) merge(v *resource.Version, text []byte, model *spec.Schema) {
	var before map[string]any
	if err := json.Unmarshal(text, &before); err != nil {
		c.Fatal(err)
	}
	after := c.Changed(before, c.whole(model), 10, isKey).(map[string]any)
	if c.One(95) {
		after["apiVersion"], after["kind"] = before["apiVersion"], before["kind"]
	}
	patch, err := jsonpatch.CreateMergePatch(text, c.text(after))
	if err != nil {
		c.Fatal(err)
	}
	var tree map[string]any
	if err := json.Unmarshal(patch, &tree); err != nil {
		c.Fatal(err)
	}
	body := []byte(seedtest.Text(c.Rand, c.odd(whole(tree), seedtest.Pick(c, 0, 0, 2, 10))))
	got, ok := localjson.MergePatch(string(text), string(body))
	if !ok {
		return // the patch library merges it
	}
	want, err := jsonpatch.MergePatch(text, body)
	if err != nil {
		c.Fatalf("%s: %v", body, err)
	}
	c.merged++
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		c.Errorf("%s: %s patched with %s (-want +got):\n%s", v.Kind(), text, body, diff)
	}
	upstream := v.Serializer.(serializer.CodecFactory).DecoderToVersion
	media := v.Serializer.SupportedMediaTypes()[0]
	for _, reader := range []runtime.Serializer{media.StrictSerializer, media.Serializer} {
		wanted, _, wantErr := upstream(reader, internalIn(v.Resource.Group)).Decode(want, nil, v.Codec.New())
		patched, err := v.Codec.DecodePatched(got, reader)
		if diff := cmp.Diff(message(wantErr), message(err)); diff != "" {
			c.Errorf("%s patched with %s (-want +got):\n%s", v.Kind(), body, diff)
		}
		if wantErr == nil {
			c.same(v, "is merged of "+string(body), wanted, patched.Object)
		} else {
			c.refused++
		}
	}
	current := c.stored(v, text)
	unaltered := current.DeepCopyObject()
	wanted, _, wantErr := upstream(media.StrictSerializer, internalIn(v.Resource.Group)).Decode(want, nil, v.Codec.New())
	if patched, ok := v.Patches.Merge(resource.Decoded{Object: current}, body, true); ok {
		c.mergedByField++
		if wantErr != nil {
			c.Errorf("%s patched with %s by field, upstream refuses it: %v", v.Kind(), body, wantErr)
		}
		c.alike(v, "is merged by field of "+string(body), wanted, patched.Object)
	} else if wantErr == nil {
		c.declined++
	}
	c.same(v, "is altered by a merge", unaltered, current)
}

// stored returns the object of a stored text.
func (c *codecCases) stored(v *resource.Version, text []byte) runtime.Object {
	obj, err := v.Codec.DecodeStored(store.Record{Value: string(text)})
	if err != nil {
		c.Fatal(err)
	}
	return obj
}

// mergeStrategically compares what a strategic merge patch makes of an object with what it makes of the whole object as
// maps, as upstream does: the patched object, or the error.
func (c *codecCases) mergeStrategically(v *resource.Version, text []byte, model *spec.Schema) {
	var before map[string]any
	if err := json.Unmarshal(text, &before); err != nil {
		c.Fatal(err)
	}
	patched, err := legacyscheme.Scheme.New(v.Kind())
	if err != nil {
		c.Fatal(err)
	}
	after := c.Changed(before, c.whole(model), 10, isKey).(map[string]any)
	body, err := strategicpatch.CreateTwoWayMergePatch(text, c.text(after), patched)
	if err != nil {
		return // the random object does not fit its type
	}
	var tree map[string]any
	if err := json.Unmarshal(body, &tree); err != nil {
		c.Fatal(err)
	}
	directed := c.directed(whole(tree)).(map[string]any)
	odd, ok := c.odd(directed, seedtest.Pick(c, 0, 0, 2)).(map[string]any)
	if !ok {
		return
	}
	body = []byte(seedtest.Text(c.Rand, odd))
	if kjson.UnmarshalCaseSensitivePreserveInts(body, &map[string]any{}) != nil {
		return // a number is too large
	}
	read := func() map[string]any { // a merge alters its patch
		patch := map[string]any{}
		if err := kjson.UnmarshalCaseSensitivePreserveInts(body, &patch); err != nil {
			c.Fatal(err)
		}
		return patch
	}
	current := c.stored(v, text)
	copied := current.DeepCopyObject()
	want, panicked, wantErr := strategicallyMerged(v, copied, read(), patched)
	if panicked {
		return // a directive has values that upstream cannot compare
	}
	got, err := v.Patches.StrategicMerge(current, read(), true)
	// Upstream returns any of several errors about the fields of a map.
	alone := true
	for range 8 {
		_, _, again := strategicallyMerged(v, copied, read(), patched)
		alone = alone && message(again) == message(wantErr)
	}
	if diff := cmp.Diff(message(wantErr), message(err)); diff != "" && (alone || wantErr == nil || err == nil) {
		c.Errorf("%s: %s patched with %s (-want +got):\n%s", v.Kind(), text, body, diff)
	}
	if c.strategic++; err != nil {
		c.strategicErrors++
	}
	if want != nil && got != nil {
		c.alike(v, "is strategically merged of "+string(body), want, got)
	} else if (want == nil) != (got == nil) {
		c.Errorf("%s patched with %s is %v, want %v", v.Kind(), body, got, want)
	}
	c.same(v, "is altered by a strategic merge", c.stored(v, text), current)
}

// strategicallyMerged merges a patch into the whole object as maps.
func strategicallyMerged(v *resource.Version, current runtime.Object, patch map[string]any, patched runtime.Object) (obj runtime.Object, panicked bool, err error) {
	versioned, err := legacyscheme.Scheme.ConvertToVersion(current, v.GroupVersion())
	if err != nil {
		return nil, false, err
	}
	original, err := runtime.DefaultUnstructuredConverter.ToUnstructured(versioned)
	if err != nil {
		return nil, false, err
	}
	defer func() { panicked = recover() != nil }()
	merged, err := strategicpatch.StrategicMergeMapPatch(original, patch, patched)
	if err != nil {
		return nil, false, err
	}
	strict := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(merged, patched, true)
	if _, ok := runtime.AsStrictDecodingError(strict); strict != nil && !ok {
		return nil, false, strict
	}
	legacyscheme.Scheme.Default(patched)
	if obj, err = legacyscheme.Scheme.ConvertToVersion(patched, internalIn(v.Resource.Group)); err != nil {
		return nil, false, err
	}
	return obj, false, strict
}

// directed returns a strategic merge patch with directives in some places.
func (c *codecCases) directed(v any) any {
	obj, ok := v.(map[string]any)
	if !ok {
		return v
	}
	for _, name := range slices.Sorted(maps.Keys(obj)) {
		obj[name] = c.directed(obj[name])
	}
	if c.One(5) {
		obj["$patch"] = seedtest.Pick(c, "replace", "delete") // of several unknown ones, either may be the error
	}
	if c.One(5) {
		keys := []any{}
		for _, name := range slices.Sorted(maps.Keys(obj)) {
			keys = append(keys, name)
		}
		obj["$retainKeys"] = keys
	}
	return obj
}

// odd returns a value with other values in the given percentage of places.
func (c *codecCases) odd(v any, percent int) any {
	if c.One(percent) {
		return seedtest.Value(c.Rand, 2)
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			v[name] = c.odd(v[name], percent)
		}
	case []any:
		for i, item := range v {
			v[i] = c.odd(item, percent)
		}
	}
	return v
}

// whole has integers where encoding/json has floats.
func whole(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, field := range v {
			v[name] = whole(field)
		}
	case []any:
		for i, item := range v {
			v[i] = whole(item)
		}
	case float64:
		if n := int64(v); float64(n) == v {
			return n
		}
	}
	return v
}

func (c *codecCases) text(tree any) []byte {
	text, err := json.Marshal(tree)
	if err != nil {
		c.Fatal(err)
	}
	return text
}

func (c *codecCases) same(v *resource.Version, what string, want, got runtime.Object) {
	c.Helper()
	if !reflect.DeepEqual(want, got) {
		c.Errorf("%s %s (-want +got):\n%s", v.Kind(), what, cmp.Diff(want, got))
	}
}

// alike is same, but takes empty lists and maps for absent ones.
func (c *codecCases) alike(v *resource.Version, what string, want, got runtime.Object) {
	c.Helper()
	if !equality.Semantic.DeepEqual(want, got) {
		c.Errorf("%s %s (-want +got):\n%s", v.Kind(), what, cmp.Diff(want, got))
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
