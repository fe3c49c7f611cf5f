package view

import (
	"bytes"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// binaryFrames encodes the events of a watch in protobuf.
type binaryFrames struct {
	version *resource.Version
	object  runtime.Encoder // of the object in an event
	event   runtime.Encoder
	framer  runtime.Framer
}

func newBinaryFrames(v *resource.Version, info runtime.SerializerInfo) *binaryFrames {
	return &binaryFrames{
		version: v,
		object:  v.Serializer.EncoderForVersion(info.Serializer, v.GroupVersion()),
		event:   v.Serializer.EncoderForVersion(info.StreamSerializer.Serializer, v.GroupVersion()),
		framer:  info.StreamSerializer.Framer,
	}
}

// frame encodes the event about an object, given as JSON.
func (b *binaryFrames) frame(kind watch.EventType, text string) (string, error) {
	obj, err := b.version.Codec.DecodeAs(text)
	if err != nil {
		return "", err
	}
	return b.frameOfObject(kind, obj)
}

func (b *binaryFrames) frameOfObject(kind watch.EventType, obj runtime.Object) (string, error) {
	var raw bytes.Buffer
	if err := encodeInto(&raw, b.object, obj); err != nil {
		return "", err
	}
	return b.frameOf(kind, raw.Bytes())
}

// encodeInto writes an object in protobuf to w. Its buffer is used again.
func encodeInto(w io.Writer, encoder runtime.Encoder, obj runtime.Object) error {
	with, ok := encoder.(runtime.EncoderWithAllocator)
	if !ok {
		return encoder.Encode(obj, w)
	}
	memory := runtime.AllocatorPool.Get().(*runtime.Allocator)
	defer runtime.AllocatorPool.Put(memory)
	return with.EncodeWithAllocator(obj, w, memory)
}

// frameOf encodes the event about an encoded object.
func (b *binaryFrames) frameOf(kind watch.EventType, raw []byte) (string, error) {
	const around = 64 // more than the bytes around the object
	var out strings.Builder
	out.Grow(len(raw) + around)
	err := encodeInto(b.framer.NewFrameWriter(&out), b.event, &metav1.WatchEvent{Type: string(kind), Object: runtime.RawExtension{Raw: raw}})
	return out.String(), err
}
