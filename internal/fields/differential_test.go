package fields

import (
	"encoding/json"
	"flag"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/testing/fieldstest"
	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

var definitions = flag.String("definitions", "", "a `file` with definitions to take schemas from; empty: they are random")

// TestDifferential holds the engine to upstream's field manager: random histories of
// writes to objects of random schemas come to the same objects, the same managedFields
// and the same refusals, or the engine declines.
func TestDifferential(t *testing.T) {
	real := realSchemas(t)
	fieldstest.Play(t, func(t *testing.T, n int, random fieldstest.Generator, tally fieldstest.Tally) (done int) {
		g := generator{random}
		k := newKind(t, g, real)
		for i := 0; i < 20 && !t.Failed(); i++ {
			h := &history{History: &fieldstest.History{T: t, Generator: random, Tally: tally, IsKey: isKey}, generator: g, kind: k}
			if done += h.Run(4+h.IntN(20), h.write); h.Failed() {
				h.Logf("in kind %d", n)
			}
		}
		return done
	})
}

// history is a series of writes to one object.
type history struct {
	*fieldstest.History
	generator generator
	*kind
	obj     map[string]any // as stored; nil: not created yet
	managed *Managed       // of obj, if available
}

func (h *history) write(apply bool) {
	if h.IntN(150) == 0 {
		h.kind = h.evolve(h.T, h.generator)
		h.managed = nil
	}
	if apply {
		h.apply()
	} else {
		h.update()
	}
}

func (h *history) apiVersion() string {
	if h.One(12) {
		return group + "/v2"
	}
	return group + "/v1"
}

// live is the object as a request of a version sees it.
func (h *history) live(apiVersion string) (live map[string]any, managed *Managed, ok bool) {
	if h.obj == nil {
		return map[string]any{"apiVersion": apiVersion, "kind": "Widget"}, NoManagers, true
	}
	live, managed = h.obj, h.managed
	if live["apiVersion"] != apiVersion {
		var err error
		if live, err = h.convert(live, apiVersion); err != nil {
			return nil, nil, false
		}
	}
	if managed == nil || h.One(30) {
		managed, ok = ParseManaged(entriesOf(live))
		if !ok {
			h.Tally["declined: managedFields of the live object"]++
			return live, nil, true
		}
	}
	return live, managed, true
}

func entriesOf(obj map[string]any) []any {
	metadata, _ := obj["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	return entries
}

// store makes an object the one that is stored.
func (h *history) store(obj map[string]any, managed *Managed) {
	metadata, ok := obj["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		obj["metadata"] = metadata
	}
	if h.obj == nil || h.One(95) {
		metadata["uid"] = "u"
	}
	metadata["resourceVersion"] = fmt.Sprint(h.IntN(1000))
	h.obj, h.managed = obj, managed
}

func (h *history) update() {
	apiVersion, subresource, manager := h.apiVersion(), "", h.Manager()
	live, managed, ok := h.live(apiVersion)
	if !ok {
		return
	}
	obj := h.generator.whole(h.schemas[apiVersion], apiVersion)
	if h.obj != nil {
		if h.One(30) {
			subresource = "status"
		}
		if obj = h.Change(live, obj); obj == nil || obj["metadata"] == nil {
			return
		}
		if subresource != "" {
			for name, v := range live {
				if name != "status" {
					obj[name] = runtime.DeepCopyJSONValue(v)
				}
			}
		}
	}
	if metadata, ok := obj["metadata"].(map[string]any); ok {
		h.claim(metadata, live)
	}
	upstream, engine := h.both(h.T, apiVersion, subresource)
	want, err := upstream.Update(&unstructured.Unstructured{Object: runtime.DeepCopyJSON(live)},
		&unstructured.Unstructured{Object: runtime.DeepCopyJSON(obj)}, manager)

	unaltered := h.unaltered(live, obj)
	result := Result{Declined: "managedFields of the live object"}
	if managed != nil {
		before, ok := engine.Before(obj, managed)
		if !ok {
			result.Declined = "managedFields of a request"
		} else {
			result = engine.Update(live, obj, before, manager, time.Now())
		}
	}
	unaltered()
	if result.Declined != "" {
		if err != nil {
			h.Tally["upstream fails, engine declined"]++
			return
		}
		h.Tally["declined: "+result.Declined]++
		h.store(want.(*unstructured.Unstructured).Object, nil)
		return
	}
	h.Tally["update"]++
	if err != nil {
		h.report(live, obj, "upstream fails with %v, the engine does not", err)
		return
	}
	got := withManaged(obj, result.Managed)
	h.same(live, obj, want.(*unstructured.Unstructured).Object, got)
	h.store(got, result.Managed)
}

// claim sets managedFields as requests do: as they were, not at all, or otherwise.
func (h *history) claim(metadata, live map[string]any) {
	entries := entriesOf(live)
	delete(metadata, "managedFields")
	switch n := h.IntN(100); {
	case n < 60:
		if entries != nil {
			metadata["managedFields"] = runtime.DeepCopyJSONValue(entries)
		}
	case n < 95:
	case n == 95:
		metadata["managedFields"] = []any{}
	case n == 96:
		metadata["managedFields"] = []any{map[string]any{}}
	case n == 97:
		if len(entries) > 0 {
			metadata["managedFields"] = runtime.DeepCopyJSONValue(entries[h.IntN(len(entries)):])
		}
	case n == 98:
		metadata["managedFields"] = []any{map[string]any{
			"manager": "m1", "operation": seedtest.Pick(h, "Update", "Apply"), "apiVersion": seedtest.Pick(h, group+"/v1", group+"/v3"),
			"fieldsType": "FieldsV1", "time": "2020-02-03T04:05:06Z",
			"fieldsV1": map[string]any{
				"f:spec": map[string]any{".": map[string]any{}, "f:a": map[string]any{".": map[string]any{}}, "f:b": map[string]any{
					`k:{"name":"x", "k":1}`: map[string]any{".": map[string]any{}, "f:z": map[string]any{}},
					"v:1":                   map[string]any{}, `v:"x"`: map[string]any{},
				}},
				seedtest.Pick(h, "f:status", "x:future"): map[string]any{},
			},
		}}
	case n == 99:
		metadata["managedFields"] = []any{seedtest.Pick(h, map[string]any{"operation": "Update"}, map[string]any{
			"operation": "Update", "apiVersion": group + "/v1", "fieldsType": "FieldsV1", "fieldsV1": map[string]any{seedtest.Pick(h, "bad", `v:"`): map[string]any{}},
		})}
	}
}

func (h *history) apply() {
	apiVersion, subresource, manager, force := h.apiVersion(), "", h.Manager(), h.One(50)
	live, managed, ok := h.live(apiVersion)
	if !ok {
		return
	}
	if h.obj != nil && h.One(15) {
		subresource = "status"
	}
	var source map[string]any
	if h.obj != nil {
		source = live
	}
	config := h.Configuration(manager, h.generator.whole(h.schemas[apiVersion], apiVersion), source)
	if config == nil {
		return
	}
	config["apiVersion"] = apiVersion
	if metadata, ok := config["metadata"].(map[string]any); ok && !h.One(1) {
		for name := range metadata {
			if isServerMade(name) && name != "name" {
				delete(metadata, name)
			}
		}
	}
	upstream, engine := h.both(h.T, apiVersion, subresource)
	want, err := upstream.Apply(&unstructured.Unstructured{Object: runtime.DeepCopyJSON(live)},
		&unstructured.Unstructured{Object: runtime.DeepCopyJSON(config)}, manager, force)

	unaltered := h.unaltered(live, config)
	result := Result{Declined: "managedFields of the live object"}
	var refused error
	if managed != nil {
		result, refused = engine.Apply(live, config, managed, manager, force, time.Now())
	}
	unaltered()
	if result.Declined != "" {
		if err != nil && !apierrors.IsConflict(err) {
			h.Tally["upstream fails, engine declined"]++
			return
		}
		h.Tally["declined: "+result.Declined]++
		if err == nil {
			h.store(want.(*unstructured.Unstructured).Object, nil)
		}
		return
	}
	if err != nil || refused != nil {
		h.Tally["apply refused"]++
		if diff := cmp.Diff(fieldstest.Refusal(err), fieldstest.Refusal(refused)); diff != "" {
			h.report(live, config, "refusals differ (-upstream +engine):\n%s\nupstream: %v\nengine: %v", diff, err, refused)
		}
		return
	}
	what, got := "apply", live
	if result.Object != nil {
		u := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(result.Object)}
		h.Default(u)
		got = u.Object
	} else {
		what = "apply that changes nothing"
	}
	h.Tally[what]++
	got = withManaged(got, result.Managed)
	h.same(live, config, want.(*unstructured.Unstructured).Object, got)
	h.store(got, result.Managed)
}

// withManaged is a copy of an object with other managedFields.
func withManaged(obj map[string]any, managed *Managed) map[string]any {
	out := runtime.DeepCopyJSON(obj)
	metadata, ok := out["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
	}
	delete(metadata, "managedFields")
	if tree := managed.Tree(); tree != nil {
		metadata["managedFields"] = runtime.DeepCopyJSONValue(tree)
	}
	if ok || len(metadata) > 0 {
		out["metadata"] = metadata
	}
	return out
}

func (h *history) same(live, obj, want, got map[string]any) {
	wantText, err := json.Marshal(want)
	if err != nil {
		h.Fatal(err)
	}
	gotText, err := json.Marshal(got)
	if err != nil {
		h.Fatal(err)
	}
	if string(wantText) != string(gotText) {
		h.report(live, obj, "objects differ (-upstream +engine):\n%s", cmp.Diff(want, got))
	}
}

// unaltered checks, now and then, that the engine does not alter what it is given.
func (h *history) unaltered(live, obj map[string]any) (check func()) {
	if !h.One(10) {
		return func() {}
	}
	liveBefore, objBefore := runtime.DeepCopyJSON(live), runtime.DeepCopyJSON(obj)
	return func() {
		if !reflect.DeepEqual(liveBefore, live) || !reflect.DeepEqual(objBefore, obj) {
			h.Errorf("the engine altered what it was given:\n%s%s", cmp.Diff(liveBefore, live), cmp.Diff(objBefore, obj))
		}
	}
}

func (h *history) report(live, obj map[string]any, format string, args ...any) {
	h.Helper()
	show := func(v any) string {
		text, _ := json.MarshalIndent(v, "", " ")
		return string(text)
	}
	h.Errorf(format+"\nlive: %s\nobject: %s\nschema: %s", append(args, show(live), show(obj), show(h.schemas))...)
}
