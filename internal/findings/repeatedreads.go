package findings

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/history"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// manyReads is the number of equal reads from which on a client is considered to wait for a change.
const manyReads = 10

// written is the last change of an object.
type written struct {
	event *store.Event
	by    history.Writer
}

// repeatedReads lists the reads that were repeated although nothing changed, as by a test that waits until its timeout.
// The last writer of the object shows where to look.
func (c Source) repeatedReads(requests []inspect.Request, f changes) (lines []string) {
	type wait struct{ client, verb, key string }
	counts, last := map[wait]int{}, map[string]written{}
	var order []*inspect.Request // the newest read of each wait
	waitOf := func(q *inspect.Request) wait { return wait{c.client(q), q.Verb, c.keyRead(q)} }
	for i := range requests {
		w := waitOf(&requests[i])
		if w.key == "" {
			continue
		}
		if _, ok := last[w.key]; !ok {
			last[w.key] = f.lastUnder(w.key)
		}
		if requests[i].Number <= last[w.key].by.Request {
			continue
		}
		if counts[w]++; counts[w] == 1 {
			order = append(order, &requests[i])
		}
	}
	for _, q := range order {
		w := waitOf(q)
		if counts[w] < manyReads {
			continue
		}
		line := fmt.Sprintf("%s %s %s %s (%d times): %s", c.after(q.Time), w.client, w.verb, q.Object(), counts[w], c.unchanged(q, last[w.key]))
		if wrote := c.unchangedWrites(requests, w.key, last[w.key].by.Request); wrote != "" {
			line += "; later writes changed nothing: " + wrote
		}
		if f.lacksOwner(last[w.key]) {
			line += "; it does not have an owner"
		}
		lines = append(lines, line)
	}
	return lines
}

// keyRead returns the key of the object that a request read, or the prefix of the keys that it listed; empty: it read
// nothing that is stored.
func (c Source) keyRead(q *inspect.Request) string {
	res := c.storedAs(q)
	if res == nil || q.Subresource != "" && q.Subresource != "status" {
		return ""
	}
	switch {
	case q.Verb == "get" && (q.Code == 200 || q.Code == 404):
		return res.Key(q.Namespace, q.Name)
	case q.Verb == "list" && q.Code == 200:
		return res.PrefixOf(q.Namespace)
	}
	return ""
}

// storedAs returns the resource whose objects a request reads or writes; nil: none is stored.
func (c Source) storedAs(q *inspect.Request) *resource.Resource {
	res := c.Registry.Resource(q.Group, q.Resource)
	if res == nil || res.Storage == nil {
		return nil
	}
	if res.Storage.Resource != nil {
		return res.Storage.Resource
	}
	return res
}

// lastUnder returns the last change of the objects whose keys have a prefix. It is zero if the history has none.
func (f changes) lastUnder(key string) (last written) {
	if !strings.HasSuffix(key, "/") {
		return f.last[key]
	}
	for waiting, w := range f.last {
		if strings.HasPrefix(waiting, key) && (last.event == nil || w.event.Record.Revision > last.event.Record.Revision) {
			last = w
		}
	}
	return last
}

// unchanged describes how long the result of a read has not changed.
func (c Source) unchanged(q *inspect.Request, last written) string {
	state := "it does not exist"
	switch {
	case q.Verb == "list":
		state = "nothing there has changed"
	case q.Code == 200:
		state = "it is unchanged"
	}
	if last.event == nil || last.by.Request == 0 {
		return state
	}
	return fmt.Sprintf("%s since %s, %s %s", state, c.after(last.by.Time), c.clientOf(last.by.User, last.by.UserAgent), wordsOf(last.by))
}

// unchangedWrites lists the writes after a request that have not changed the object.
func (c Source) unchangedWrites(requests []inspect.Request, key string, since int64) string {
	counts := map[string]int{}
	var order []string
	for i := range requests {
		q := &requests[i]
		res := c.storedAs(q)
		if !q.Repeats || q.Number <= since || res == nil || res.Key(q.Namespace, q.Name) != key {
			continue
		}
		who := c.client(q) + " " + wordsOf(history.Writer{Verb: q.Verb, Patch: q.Patch, Subresource: q.Subresource})
		if counts[who]++; counts[who] == 1 {
			order = append(order, who)
		}
	}
	for i, who := range order {
		order[i] = fmt.Sprintf("%s (%d)", who, counts[who])
	}
	return strings.Join(order, ", ")
}

// lacksOwner reports whether an object does not have an owner, although its writer sets owners of other objects. An
// object that owns others needs none.
func (f changes) lacksOwner(last written) bool {
	if last.event == nil || last.event.Type == store.Deleted || gjson.Get(last.event.Record.Value, "metadata.ownerReferences.0").Exists() {
		return false
	}
	uid, gives := gjson.Get(last.event.Record.Value, "metadata.uid").Str, false
	for _, child := range f.children {
		if child.owner.Get("uid").Str == uid {
			return false
		}
		gives = gives || child.creator.User == last.by.User && child.creator.UserAgent == last.by.UserAgent
	}
	return gives
}
