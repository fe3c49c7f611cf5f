package write_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/write"
	"github.com/fakecluster/fakecluster/store"
)

// counting is a codec that counts what it reads from the store.
type counting struct {
	resource.Codec
	read int
}

func (c *counting) DecodeStored(record store.Record) (runtime.Object, error) {
	c.read++
	return c.Codec.DecodeStored(record)
}

func TestWhatTheClusterHasWrittenIsNotParsedAgain(t *testing.T) {
	b := newBench(t)
	b.make()
	v := b.widgets()
	codec := &counting{Codec: v.Codec}
	v.Codec = codec
	run := func(change write.Change) {
		t.Helper()
		r := b.request(change)
		r.Version = v
		if _, err := b.Run(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	merge := func(text string) write.Change {
		return write.Patch{Type: types.MergePatchType, Body: []byte(text)}
	}
	for _, change := range []write.Change{
		merge(`{"spec":{"size":"s"}}`),
		merge(`{"spec":{"size":"s"}}`), // which changes nothing
		write.Apply{Body: []byte(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","finalizers":["example.com/f"]}}`)},
		write.Delete{Options: &metav1.DeleteOptions{}},
		merge(`{"spec":{"size":"m"}}`),
	} {
		run(change)
	}
	equal(t, "records parsed", codec.read, 0)
	b.color("blue") // past the pipeline
	run(merge(`{"spec":{"size":"l"}}`))
	equal(t, "records parsed after another one's write", codec.read, 1)
	run(merge(`{"metadata":{"finalizers":null}}`))
	equal(t, "records parsed to the end", codec.read, 1)
}
