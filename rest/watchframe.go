package rest

import (
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/fakecluster/fakecluster/rest/resource"
)

// binaryFrames writes the events of a watch in a format that is not JSON, which
// is protobuf. Only kinds with Go types have one.
type binaryFrames struct {
	version *resource.Version
	object  runtime.Encoder // of what an event is about
	event   runtime.Encoder
	out     io.Writer // a frame at each Write
}

func newBinaryFrames(v *resource.Version, info runtime.SerializerInfo, w io.Writer) *binaryFrames {
	return &binaryFrames{
		version: v,
		object:  v.Serializer.EncoderForVersion(info.Serializer, v.GroupVersion()),
		event:   v.Serializer.EncoderForVersion(info.StreamSerializer.Serializer, v.GroupVersion()),
		out:     info.StreamSerializer.Framer.NewFrameWriter(w),
	}
}

// write sends one event about the object that the text is the JSON of.
func (b *binaryFrames) write(kind watch.EventType, text string) error {
	obj, err := decodeAs(b.version, text)
	if err != nil {
		return err
	}
	return b.writeObject(kind, obj)
}

func (b *binaryFrames) writeObject(kind watch.EventType, obj runtime.Object) error {
	raw, err := runtime.Encode(b.object, obj)
	if err != nil {
		return err
	}
	return b.writeEncoded(kind, raw)
}

func (b *binaryFrames) writeEncoded(kind watch.EventType, raw []byte) error {
	if err := b.event.Encode(&metav1.WatchEvent{Type: string(kind), Object: runtime.RawExtension{Raw: raw}}, b.out); err != nil {
		return errGone
	}
	return nil
}

// decodeAs reads the JSON of a typed object in its version.
func decodeAs(v *resource.Version, text string) (runtime.Object, error) {
	plain := v.Serializer.SupportedMediaTypes()[0].Serializer
	obj, _, err := v.Serializer.DecoderToVersion(plain, v.GroupVersion()).Decode([]byte(text), nil, nil)
	return obj, err
}
