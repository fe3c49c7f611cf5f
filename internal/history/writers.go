package history

import (
	"maps"
	"time"
)

// Writer is who has made a revision, and how.
type Writer struct {
	Time                     time.Time
	User, UserAgent, AuditID string

	Verb, Patch, Subresource string // of the request, as in Request
	Request                  int64  // its number; 0: it was in the cluster that this one is a fork of
}

// chunk is how many revisions stand together.
const chunk = 256

// writers are those who have made the revisions that are remembered. Chunks before the newest do
// not change any more, and forks share them.
type writers map[int64]*[chunk]Writer

// note records who makes a revision, and forgets those before the oldest that is remembered.
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

// until returns those of the revisions up to the given one, for a fork.
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
