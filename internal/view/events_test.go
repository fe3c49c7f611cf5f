package view

import (
	"encoding/json"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

func TestAnEventIsItsTypeAndTheStoredBytes(t *testing.T) {
	v := gadget(t, "v1")
	record := stored(t, v, map[string]any{"metadata": map[string]any{"name": "a", "namespace": "default"}}, 8)
	const object = `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"generation":1,"name":"a","namespace":"default","resourceVersion":"8"}}`
	const left = `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"generation":1,"name":"a","namespace":"default","resourceVersion":"9"}}`
	e := NewEvents(must(New(v, jsonForm(v, "", ""), nil))(t), &Frames{}, v.Serializer.SupportedMediaTypes()[0], notAtHand)
	expect(t, "media type", e.MediaType(), "application/json")

	ctx := t.Context()
	for _, c := range []struct {
		rule, want string
		got        []byte
	}{
		{"an object that is there", `{"type":"ADDED","object":` + object + "}\n", must(e.AppendPresent(ctx, nil, record))(t)},
		{"a change", `{"type":"MODIFIED","object":` + object + "}\n", must(e.AppendChange(ctx, nil, watch.Modified, record, 8))(t)},
		{"an object that left the selection", `{"type":"DELETED","object":` + left + "}\n", must(e.AppendChange(ctx, nil, watch.Deleted, record, 9))(t)},
		{"what follows in the buffer", `x{"type":"ADDED","object":` + object + "}\n", must(e.AppendPresent(ctx, []byte("x"), record))(t)},
		{"a bookmark", `{"type":"BOOKMARK","object":{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"resourceVersion":"9"}}}` + "\n",
			must(e.AppendBookmark(ctx, nil, 9, false))(t)},
		{"the bookmark after the initial events",
			`{"type":"BOOKMARK","object":{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"annotations":{"k8s.io/initial-events-end":"true"},"resourceVersion":"9"}}}` + "\n",
			must(e.AppendBookmark(ctx, nil, 9, true))(t)},
		{"an error", `{"type":"ERROR","object":{"metadata":{},"status":"Failure","code":410}}` + "\n",
			must(e.AppendError(nil, &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusGone}))(t)},
	} {
		expect(t, c.rule, string(c.got), c.want)
	}
}

func TestTheFirstTableOfAStreamHasHeaders(t *testing.T) {
	v := gadget(t, "v1")
	record := stored(t, v, map[string]any{"metadata": map[string]any{"name": "a", "namespace": "default"}}, 8)
	e := NewEvents(must(New(v, jsonForm(v, "v1", "Table"), &metav1.TableOptions{}))(t), &Frames{}, v.Serializer.SupportedMediaTypes()[0], notAtHand)
	for n, want := range []int{6, 0, 0} {
		var event struct{ Object metav1.Table }
		if err := json.Unmarshal(must(e.AppendPresent(t.Context(), nil, record))(t), &event); err != nil {
			t.Fatal(err)
		}
		expect(t, "columns of Table "+string(rune('1'+n)), len(event.Object.ColumnDefinitions), want)
		expect(t, "rows", len(event.Object.Rows), 1)
	}
}

// Watchers of one change get the frame that the first of them had made.
func TestWatchersShareTheFrameOfAChange(t *testing.T) {
	v := gadget(t, "v2")
	v1 := gadget(t, "v1")
	record := stored(t, v1, map[string]any{"metadata": map[string]any{"name": "a", "namespace": "default"}}, 8)
	var shared Frames
	frame := func() string {
		e := NewEvents(must(New(v, jsonForm(v, "v1", "PartialObjectMetadata"), nil))(t), &shared, v.Serializer.SupportedMediaTypes()[0], notAtHand)
		return string(must(e.AppendChange(t.Context(), nil, watch.Added, record, 8))(t))
	}
	want := `{"type":"ADDED","object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","namespace":"default","resourceVersion":"8","generation":1}}}` + "\n"
	expect(t, "the first", frame(), want)
	expect(t, "frames that were made", len(shared.framesOf(8).made), 2) // the object in v2, and what is shown of it
	expect(t, "the second", frame(), want)
	expect(t, "frames that were made", len(shared.framesOf(8).made), 2)
}

func TestEventsOfTypedObjectsAreInProtobuf(t *testing.T) {
	v := configMap(t)
	info, ok := runtime.SerializerInfoForMediaType(v.Serializer.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	if !ok {
		t.Fatal("no protobuf")
	}
	e := NewEvents(must(New(v, Form{Accepted: info}, nil))(t), &Frames{}, info, notAtHand)
	expect(t, "media type", e.MediaType(), "application/vnd.kubernetes.protobuf;stream=watch")
	record := stored(t, v, map[string]any{"metadata": map[string]any{"name": "a", "namespace": "default"}, "data": map[string]any{"k": "v"}}, 8)
	frame := must(e.AppendPresent(t.Context(), nil, record))(t)
	size := int(frame[0])<<24 | int(frame[1])<<16 | int(frame[2])<<8 | int(frame[3])
	expect(t, "length in the frame", size, len(frame)-4)
	var event metav1.WatchEvent
	if _, _, err := info.StreamSerializer.Serializer.Decode(frame[4:], nil, &event); err != nil {
		t.Fatal(err)
	}
	expect(t, "type", event.Type, "ADDED")
	obj := must(runtime.Decode(scheme.Codecs.UniversalDeserializer(), event.Object.Raw))(t)
	want := must(v.Codec.DecodeAs(record.Value))(t)
	expect(t, "object", obj, want)
}

// notAtHand is a StoredObject of nothing.
func notAtHand(*resource.Version, store.Record) (runtime.Object, bool, error) { return nil, false, nil }
