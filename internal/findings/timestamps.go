package findings

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/history"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/view"
	"github.com/fakecluster/fakecluster/store"
)

// Timestamps lists the objects into which a controller writes the time whenever it is called. Its own write calls it
// again, so in real time this never ends. In a bubble it ends, because the second write at the same moment changes
// nothing. Timestamps finds it there after time has advanced: a write changes only times, and the program writes the
// object once more at the same moment.
func Timestamps(c Source) []string {
	stats := c.History.Stats()
	c.began, c.shared = c.History.Began(), sharedNames(stats)
	requests := c.History.Requests()
	slices.Reverse(requests)
	return c.timestamps(requests, stats)
}

// timestamps is Timestamps for given requests, the newest first.
func (c Source) timestamps(requests []inspect.Request, stats inspect.Stats) (lines []string) {
	type writes struct {
		by  program
		key string
	}
	if !slices.ContainsFunc(requests, func(q inspect.Request) bool { return q.Repeats }) {
		return nil
	}
	watched := watchedBy(stats)
	last, found := map[writes]*inspect.Request{}, map[writes]bool{} // last: the last change
	earlier := map[writes]bool{}                                    // an earlier change happened before last
	for i := range slices.Backward(requests) {
		q := &requests[i]
		res := c.storedAs(q)
		if res == nil || !writesObjects(q.Verb) || q.Name == "" || !watched[programOf(q.User, q.UserAgent)][q.Group+"/"+q.Resource] {
			continue
		}
		w := writes{programOf(q.User, q.UserAgent), res.Key(q.Namespace, q.Name)}
		switch before := last[w]; {
		case q.Revisions > 0:
			earlier[w] = before != nil && (before.Time.Before(q.Time) || earlier[w])
			last[w] = q
		case q.Repeats && before != nil && earlier[w] && before.Time.Equal(q.Time) && !found[w]:
			fields := c.timesWritten(res, w.key, before)
			if len(fields) == 0 {
				continue
			}
			found[w] = true
			lines = append(lines, fmt.Sprintf("%s %s writes the time into %s of %s whenever it is called, and its own write calls it again, without end in real time: write the time only if something else changes",
				c.after(q.Time), c.client(q), strings.Join(fields, ", "), inspect.ObjectName(q.Group, q.Resource, "", q.Namespace, q.Name)))
		}
	}
	slices.Reverse(lines)
	return lines
}

// timesWritten returns the fields that a write changed, if it set all of them to the time of the write.
func (c Source) timesWritten(res *resource.Resource, key string, by *inspect.Request) (fields []string) {
	events, err := c.Store.Watch(key, max(c.Store.Oldest(), by.Revision-1))
	if err != nil {
		return nil
	}
	batch, err := events.Poll()
	if err != nil {
		return nil
	}
	i := slices.IndexFunc(batch, func(e *store.Event) bool { return e.Record.Revision == by.Revision })
	if i < 0 || batch[i].Previous == nil || batch[i].Type != store.Updated {
		return nil
	}
	before, err := view.Text(res.Storage, *batch[i].Previous)
	if err != nil {
		return nil
	}
	after, err := view.Text(res.Storage, batch[i].Record)
	if err != nil {
		return nil
	}
	for _, change := range history.DiffText(before, after) {
		text, _ := change.Is.(string)
		stamp, err := time.Parse(time.RFC3339Nano, text)
		if distance := by.Time.Sub(stamp); err != nil || distance < 0 || distance > time.Second {
			return nil
		}
		fields = append(fields, change.Path)
	}
	return fields
}
