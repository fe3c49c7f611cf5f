package findings

import (
	"fmt"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/store"
)

// LastWrites returns the last writes of clients, at most most of them, the oldest first, each with what it changed:
//
//	operator update configmaps default/a: data.n: "1" → "2"
func LastWrites(c Source, most int) (lines []string) {
	c.shared = sharedNames(c.History.Stats())
	events, err := c.Store.Watch("", c.Store.Oldest())
	if err != nil {
		return nil // the store is closed, or has compacted these revisions
	}
	var last []*store.Event
	for {
		batch, err := events.Poll()
		if err != nil || len(batch) == 0 {
			break
		}
		last = append(last, batch...)
		last = last[max(0, len(last)-1000):]
	}
	for _, e := range last {
		by, ok := c.History.Writer(e.Record.Revision)
		res := c.Registry.ResourceOf(e.Record.Key)
		if !ok || by.Request == 0 || res == nil {
			continue
		}
		line := fmt.Sprintf("%s %s %s", c.clientOf(by.User, by.UserAgent), wordsOf(by), inspect.ObjectName(res.Group, res.Names.Plural, "", res.NamespaceOf(e.Record.Key), res.NameOf(e.Record.Key)))
		if e.Type == store.Updated {
			if changed := lastChange(res, e); changed != "" {
				line += ": " + changed
			}
		}
		lines = append(lines, oneLine(line))
	}
	return lines[max(0, len(lines)-max(0, most)):]
}
