package view

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// Events makes the frames of one watch. A frame is the encoding of one event. The watches of a server share the frames
// of a change.
//
// Its methods append a frame to a buffer and return the longer buffer.
type Events struct {
	view      *View
	shared    *Frames
	mediaType string
	binary    *binaryFrames // nil: JSON
	stored    StoredObject
}

// StoredObject returns the decoded object of a record, in the hub version, if it is cached. The object must not be
// altered.
type StoredObject func(*resource.Version, store.Record) (obj runtime.Object, ok bool, err error)

// NewEvents returns the Events of a watch that shows objects in a view. info is the serializer of the media type that
// was negotiated for the stream. A frame is one line, even if the client asks for pretty JSON.
func NewEvents(v *View, shared *Frames, info runtime.SerializerInfo, stored StoredObject) *Events {
	lines := *v
	lines.form.Pretty = false
	e := &Events{view: &lines, shared: shared, mediaType: info.MediaType, stored: stored}
	if info.MediaType != runtime.ContentTypeJSON {
		e.mediaType += ";stream=watch"
		e.binary = newBinaryFrames(v.version, info)
	}
	return e
}

// MediaType returns the media type of the whole stream.
func (e *Events) MediaType() string { return e.mediaType }

// AppendPresent appends the event of an object that existed when the watch began.
func (e *Events) AppendPresent(ctx context.Context, b []byte, record store.Record) ([]byte, error) {
	return e.append(ctx, b, watch.Added, record, 0)
}

// AppendChange appends the event of a change at a revision. The record is the object to show: an object that the
// selector no longer matches is shown in its former state, with the revision of the change.
func (e *Events) AppendChange(ctx context.Context, b []byte, kind watch.EventType, record store.Record, revision int64) ([]byte, error) {
	return e.append(ctx, b, kind, record, revision)
}

func (e *Events) append(ctx context.Context, b []byte, kind watch.EventType, record store.Record, change int64) ([]byte, error) {
	withVersion := func(text string) string {
		if change > 0 && change != record.Revision {
			return WithResourceVersion(text, change)
		}
		return text
	}
	if e.plain() {
		if text, ok := Stored(e.view.version, record); ok {
			return appendJSONFrame(b, kind, withVersion(text)), nil
		}
	}
	frame := func() (string, error) {
		if e.binary != nil && e.view.form.Convert == nil && (change == 0 || change == record.Revision) {
			if obj, ok, err := e.stored(e.view.version, record); ok && err == nil {
				return e.binary.frameOfObject(kind, resource.Shallow(obj))
			}
		}
		text, err := e.shared.Text(e.view.version, record)
		if err != nil {
			return "", err
		}
		return e.frame(ctx, kind, withVersion(text))
	}
	var text string
	var err error
	if change == 0 {
		text, err = frame()
	} else {
		text, err = e.shared.get(change, e.key(kind), frame)
	}
	if err != nil {
		return b, err
	}
	return e.sent(append(b, text...)), nil
}

// AppendBookmark appends the event that tells the client up to which revision it has seen all changes. initialEventsEnd
// also marks the end of the objects that existed when the watch began.
func (e *Events) AppendBookmark(ctx context.Context, b []byte, revision int64, initialEventsEnd bool) ([]byte, error) {
	obj, err := bookmark(e.view.version, revision, initialEventsEnd)
	if err != nil {
		return b, err
	}
	text, err := e.bookmarkFrame(ctx, obj)
	if err != nil {
		return b, err
	}
	return e.sent(append(b, text...)), nil
}

// AppendError appends the event that ends a watch. Its Status is the same in every view.
func (e *Events) AppendError(b []byte, status *metav1.Status) ([]byte, error) {
	if e.binary != nil {
		text, err := e.binary.frameOfObject(watch.Error, status)
		return append(b, text...), err
	}
	text, err := json.Marshal(status)
	return appendJSONFrame(b, watch.Error, string(text)), err
}

// plain reports whether a frame has the stored bytes.
func (e *Events) plain() bool { return e.view.form.Convert == nil && e.binary == nil }

// sent records that a frame is sent: only the first Table of a stream has headers.
func (e *Events) sent(b []byte) []byte {
	if e.view.table != nil {
		e.view.table.NoHeaders = true
	}
	return b
}

// key returns the key of the frame of a change.
func (e *Events) key(kind watch.EventType) frameKey {
	key := frameKey{kind: kind, version: e.view.version, mediaType: e.mediaType}
	if e.view.form.Convert != nil {
		key.target = *e.view.form.Convert
	}
	if options := e.view.table; options != nil {
		// A Table shows ages in seconds, by the clock of the process.
		key.include, key.headers, key.second = options.IncludeObject, !options.NoHeaders, time.Now().Unix()
	}
	return key
}

// UnshownError is the error of an object that has no form as the client of a watch asks for: a single object is not a
// PartialObjectMetadataList.
type UnshownError struct{ Err error }

// Error implements error.
func (e UnshownError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e UnshownError) Unwrap() error { return e.Err }

// frame encodes the event about an object, given as JSON of the version.
func (e *Events) frame(ctx context.Context, kind watch.EventType, text string) (string, error) {
	switch {
	case e.plain():
		return string(appendJSONFrame(nil, kind, text)), nil
	case e.view.form.Convert == nil:
		return e.binary.frame(kind, text)
	}
	obj, err := e.view.version.Codec.DecodeShown(text)
	if err != nil {
		return "", UnshownError{err}
	}
	return e.convertedFrame(ctx, kind, obj, text)
}

// convertedFrame encodes the event about an object, given in the hub version and as JSON of the version, in the form
// that the client asks for.
func (e *Events) convertedFrame(ctx context.Context, kind watch.EventType, obj runtime.Object, text string) (string, error) {
	converted, err := e.view.convertObject(ctx, obj, text)
	if err != nil {
		return "", UnshownError{err}
	}
	out, err := e.view.encode(converted)
	if err != nil {
		return "", err
	}
	if e.binary != nil {
		return e.binary.frameOf(kind, out)
	}
	return string(appendJSONFrame(nil, kind, strings.TrimSuffix(string(out), "\n"))), nil
}

func appendJSONFrame(b []byte, kind watch.EventType, text string) []byte {
	b = append(b, `{"type":"`...)
	b = append(b, kind...)
	b = append(b, `","object":`...)
	b = append(b, text...)
	return append(b, "}\n"...)
}

// bookmarkFrame encodes the event of a bookmark.
func (e *Events) bookmarkFrame(ctx context.Context, obj runtime.Object) (string, error) {
	if e.binary != nil && e.view.form.Convert == nil {
		return e.binary.frameOfObject(watch.Bookmark, obj)
	}
	text, err := e.view.version.Codec.Encode(obj)
	switch {
	case err != nil:
		return "", err
	case e.plain():
		return string(appendJSONFrame(nil, watch.Bookmark, string(text))), nil
	}
	return e.convertedFrame(ctx, watch.Bookmark, obj, string(text))
}

// bookmark returns an object with only a kind and a resourceVersion, without defaults.
func bookmark(v *resource.Version, revision int64, initialEventsEnd bool) (runtime.Object, error) {
	obj := v.Codec.New()
	if err := (storage.APIObjectVersioner{}).UpdateObject(obj, uint64(revision)); err != nil {
		return nil, err
	}
	if initialEventsEnd {
		return obj, storage.AnnotateInitialEventsEndBookmark(obj)
	}
	return obj, nil
}
