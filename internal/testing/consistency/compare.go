package consistency

import (
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp"
)

// Compare describes how a report differs from what the history shows for its query. It returns
// the empty string if they are the same.
func (r Report) Compare(h *History) string {
	for n, earlier := range r.Earlier {
		if different := earlier.compare(h, false); different != "" {
			return fmt.Sprintf("watch %d, which ended with 410, from %d: %s", n, earlier.StartRevision, different)
		}
	}
	return r.compare(h, true)
}

// compare compares a watch with the history: with all events of its query, or with the beginning of them.
func (r Report) compare(h *History, whole bool) string {
	switch r.Start {
	case FromList:
		if !slices.Equal(h.Added(r.Query, r.StartRevision), r.Listed) {
			return "the list differs from the state at its revision" + different(h.Added(r.Query, r.StartRevision), r.Listed)
		}
	case StreamedList:
		if r.Initial == 0 && !whole {
			return "" // its list had not ended
		}
		return r.compareFrom(h.Added(r.Query, r.Initial), h.Seen(r.Query, r.Initial), whole)
	case FromEmpty, FromZero:
		// The watch does not report at which revision it began. There has to be one that
		// explains its events.
		seen := h.Seen(r.Query, h.Start)
		for revision := h.Start; revision <= h.Last(); revision++ {
			since, _ := slices.BinarySearchFunc(seen, revision+1, func(e Received, revision int) int { return e.Revision - revision })
			if n := len(r.Events) - (len(seen) - since); n < 0 || !slices.Equal(r.Events[n:], seen[since:]) {
				continue
			}
			if r.compareFrom(h.Added(r.Query, revision), seen[since:], true) == "" {
				return ""
			}
		}
		return fmt.Sprintf("no revision explains these events as those of a watch that began there: %v", r.Events)
	}
	return r.compareFrom(nil, h.Seen(r.Query, r.StartRevision), whole)
}

// compareFrom compares the events with those of a state and of what came after it, all of it or its beginning.
func (r Report) compareFrom(added, after []Received, whole bool) string {
	want := slices.Concat(added, after)
	if !whole {
		want = want[:min(len(want), len(r.Events))]
	}
	if !slices.Equal(want, r.Events) {
		return different(want, r.Events)
	}
	return ""
}

func different(want, got []Received) string {
	return " (-want +got):\n" + cmp.Diff(want, got)
}
