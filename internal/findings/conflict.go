package findings

import (
	"errors"
	"fmt"
	"strings"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/store"
)

// shownWriters is how many writes a line about a conflict names.
const shownWriters = 3

// conflict describes the writes that came before a rejected one, with their clients. sameEachTime: the client has sent
// the same revision each time, as from a copy that it keeps.
func (c Source) conflict(q *inspect.Request, sameEachTime bool) string {
	if q.Read == 0 {
		return ""
	}
	line := fmt.Sprintf(": it sent the resourceVersion %d", q.Read)
	if sameEachTime {
		line += " each time"
	}
	line += fmt.Sprintf(", and the object had %d", q.Found)
	if since := c.writesBetween(q); len(since) > 0 {
		shown := since[max(0, len(since)-shownWriters):]
		line += "; in between " + strings.Join(shown, ", ")
		if more := len(since) - len(shown); more > 0 {
			line += fmt.Sprintf(" (and %d before)", more)
		}
	}
	return line
}

// writesBetween returns the writes to an object between the client's read and its rejected write, as far as the history
// reaches.
func (c Source) writesBetween(q *inspect.Request) (who []string) {
	res := c.Registry.Resource(q.Group, q.Resource)
	if res == nil || q.Name == "" {
		return nil
	}
	key := res.Key(q.Namespace, q.Name)
	cursor, err := c.Store.Watch(key, q.Read)
	if compacted := (*store.CompactedError)(nil); errors.As(err, &compacted) {
		cursor, err = c.Store.Watch(key, c.Store.Oldest())
	}
	if err != nil {
		return nil
	}
	for {
		events, err := cursor.Poll()
		if err != nil || len(events) == 0 {
			return who
		}
		for _, e := range events {
			if e.Record.Key != key || e.Record.Revision > q.Found {
				continue
			}
			if by, ok := c.History.Writer(e.Record.Revision); ok {
				who = append(who, c.clientOf(by.User, by.UserAgent)+" "+wordsOf(by))
			}
		}
	}
}
