package readtest

import (
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp"
)

// Compare tells how a report differs from what the history shows its vantage. It returns
// the empty string if they are the same.
func (r Report) Compare(h *History) string {
	switch r.Start {
	case FromList:
		if !slices.Equal(h.Added(r.Vantage, r.Asked), r.Listed) {
			return "the list differs from the state at its revision" + different(h.Added(r.Vantage, r.Asked), r.Listed)
		}
	case StreamedList:
		return r.compareFrom(h.Added(r.Vantage, r.Initial), h.Seen(r.Vantage, r.Initial))
	case FromEmpty, FromZero:
		// The watch does not tell at which revision it began. There has to be one that
		// explains its events.
		all := h.Seen(r.Vantage, h.Start)
		for revision := h.Start; revision <= h.Last(); revision++ {
			since, _ := slices.BinarySearchFunc(all, revision+1, func(e Told, revision int) int { return e.Revision - revision })
			if n := len(r.Events) - (len(all) - since); n < 0 || !slices.Equal(r.Events[n:], all[since:]) {
				continue
			}
			if r.compareFrom(h.Added(r.Vantage, revision), all[since:]) == "" {
				return ""
			}
		}
		return fmt.Sprintf("no revision explains these events as those of a watch that began there: %v", r.Events)
	}
	return r.compareFrom(nil, h.Seen(r.Vantage, r.Asked))
}

// compareFrom compares the events with those of a state and of what came after it.
func (r Report) compareFrom(added, after []Told) string {
	if want := slices.Concat(added, after); !slices.Equal(want, r.Events) {
		return different(want, r.Events)
	}
	return ""
}

func different(want, got []Told) string {
	return " (-want +got):\n" + cmp.Diff(want, got)
}
