package view

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// Frames shares the frames of changes between watchers with the same view: the first converts and encodes a change for
// all. The zero value is ready.
//
// Frames keeps the frames of the newest changes, as many as a cursor returns at once, so watchers that are a little
// behind share them as well. A watcher that is further behind makes its own frames.
type Frames struct {
	ring  atomic.Pointer[[rememberedChanges]atomic.Pointer[changeFrames]]
	bytes atomic.Int64 // of the frames that were made since the ring was made
}

const (
	rememberedChanges = 1024
	// rememberedBytes is the total size of frames that are kept. Beyond it, all are dropped.
	rememberedBytes = 64 << 20
)

// frameKey identifies a frame of a change. A key with only a version is that of the JSON of the changed object in that
// version.
type frameKey struct {
	kind      watch.EventType
	version   *resource.Version
	mediaType string
	target    schema.GroupVersionKind // of a transformed object
	include   metav1.IncludeObjectPolicy
	headers   bool
	second    int64 // of the ages in a Table
}

// Text is the function [Text]. All watches share the result of a conversion.
func (f *Frames) Text(v *resource.Version, record store.Record) (string, error) {
	if text, ok := Stored(v, record); ok {
		return text, nil
	}
	return f.get(record.Revision, frameKey{version: v}, func() (string, error) { return Text(v, record) })
}

// changeFrames are the frames of one change.
type changeFrames struct {
	revision int64

	mu   sync.Mutex
	made []*frame
}

// frame is ready once done is closed. done is a channel because a goroutine that waits for a mutex is not durably
// blocked in a testing/synctest bubble, and a conversion webhook may take time.
type frame struct {
	key  frameKey
	done chan struct{}
	text string
	err  error
}

var errNotMade = errors.New("the frame of an event was not made")

// get returns a frame of the change at a revision, and calls make if there is none yet. If make fails, all callers that
// wait for the frame get the error; later calls try again.
func (f *Frames) get(revision int64, key frameKey, make func() (string, error)) (string, error) {
	change := f.framesOf(revision)
	mine, found := change.claim(key)
	if found {
		<-mine.done
		return mine.text, mine.err
	}
	mine.err = errNotMade // unless make returns
	defer func() {
		if mine.err != nil {
			change.drop(mine)
		}
		close(mine.done)
	}()
	mine.text, mine.err = make()
	if f.bytes.Add(int64(len(mine.text))) > rememberedBytes {
		f.ring.Store(nil)
		f.bytes.Store(0)
	}
	return mine.text, mine.err
}

// framesOf returns the frames of a revision.
func (f *Frames) framesOf(revision int64) *changeFrames {
	ring := f.ring.Load()
	if ring == nil {
		f.ring.CompareAndSwap(nil, new([rememberedChanges]atomic.Pointer[changeFrames]))
		if ring = f.ring.Load(); ring == nil {
			return &changeFrames{revision: revision}
		}
	}
	slot := &ring[revision%rememberedChanges]
	for {
		there := slot.Load()
		if there != nil && there.revision == revision {
			return there
		}
		mine := &changeFrames{revision: revision}
		if there != nil && there.revision > revision || slot.CompareAndSwap(there, mine) {
			return mine
		}
	}
}

// claim returns a frame that another watcher makes or has made, or else a new one, which the caller must make.
func (c *changeFrames) claim(key frameKey) (f *frame, found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.made {
		if f.key == key {
			return f, true
		}
	}
	f = &frame{key: key, done: make(chan struct{})}
	c.made = append(c.made, f)
	return f, false
}

func (c *changeFrames) drop(f *frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made = slices.DeleteFunc(c.made, func(other *frame) bool { return other == f })
}
