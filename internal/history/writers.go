package history

import (
	"maps"
	"time"
)

// Writer is the writer of a revision, with its request.
type Writer struct {
	Time                     time.Time
	User, UserAgent, AuditID string

	Verb, Patch, Subresource string // of the request, as in Request
	Request                  int64  // the number of the request; 0: it was in the origin of a fork
}

// chunk is the number of revisions in an entry of writers.
const chunk = 256

// writers has the writers of revisions, in chunks. Chunks before the newest one are immutable, and forks share them.
type writers map[int64]*[chunk]Writer

// note records the writer of a revision, and drops chunks before the oldest revision.
func (w *writers) note(revision int64, by Writer, oldest int64) {
	if *w == nil {
		*w = writers{}
	}
	place := revision / chunk
	c := (*w)[place]
	if c == nil {
		c = &[chunk]Writer{}
		(*w)[place] = c
		maps.DeleteFunc(*w, func(i int64, _ *[chunk]Writer) bool { return i < oldest/chunk })
	}
	c[revision%chunk] = by
}

func (w writers) writerOf(revision int64) (Writer, bool) {
	c := w[revision/chunk]
	if c == nil {
		return Writer{}, false
	}
	by := c[revision%chunk]
	return by, by.Verb != ""
}

// until returns the writers of the revisions up to the given one, for a fork.
func (w writers) until(revision int64) writers {
	f := maps.Clone(w)
	maps.DeleteFunc(f, func(i int64, _ *[chunk]Writer) bool { return i > revision/chunk })
	if newest := f[revision/chunk]; newest != nil {
		own := &[chunk]Writer{}
		copy(own[:revision%chunk+1], newest[:])
		f[revision/chunk] = own
	}
	return f
}
