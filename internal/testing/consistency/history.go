package consistency

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Received is one event of a watch, or one object of a list, as a client received it.
type Received struct {
	Kind     string // ADDED, MODIFIED, DELETED
	Revision int
	Text     string // the object, in a form that can be compared
}

// Event is an event of the history.
type Event struct {
	Received
	Key      string // NAMESPACE/NAME
	Meta     Meta
	Previous *Event // the event before it of the same object; nil if the object was not there
}

// Line returns the event as a line of an [EventLog].
func (e Event) Line() string { return fmt.Sprintf("%s %s %d", e.Kind, e.Key, e.Revision) }

// History is all that happened to the samples, as one watch from the beginning delivered it.
type History struct {
	Start  int // the revision before the first event
	Events []Event
}

// Last returns the revision of the last event.
func (h *History) Last() int { return h.Events[len(h.Events)-1].Revision }

// Record watches all samples from a revision until [Writers.Run] has written the last one.
func Record(ctx context.Context, w Wire, from int) (*History, error) {
	h := &History{Start: from}
	var failed error
	err := w.Stream(ctx, fmt.Sprintf("%s/samples?watch=1&resourceVersion=%d", Path, from), "", func(kind, object string) bool {
		var e *Event
		if e, failed = h.append(kind, object); failed != nil {
			return false
		}
		return e.Key != lastKey() || !e.Meta.lastWritten()
	})
	if err == nil {
		err = failed
	}
	return h, err
}

// append adds an event. It finds the previous event of the same object in the history.
func (h *History) append(kind, object string) (*Event, error) {
	m, err := MetaOf(object)
	if err != nil {
		return nil, err
	}
	revision, err := strconv.Atoi(m.Metadata.ResourceVersion)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", kind, object, err)
	}
	e := Event{Received: Received{kind, revision, object}, Key: m.key(), Meta: m}
	for i := len(h.Events) - 1; i >= 0; i-- {
		if h.Events[i].Key == e.Key {
			if h.Events[i].Kind != "DELETED" {
				previous := h.Events[i]
				e.Previous = &previous
			}
			break
		}
	}
	h.Events = append(h.Events, e)
	return &e, nil
}

// Check compares the history with what the writers were answered: revisions rise, each
// write has the one event of its revision with the bytes of its answer, and each object
// was deleted as often as there are DELETED events. A write whose connection was cut may have
// made an event, or none.
func (h *History) Check(t testing.TB, accepted []Write) {
	t.Helper()
	byRevision := map[int]Event{}
	deleted := map[string]int{}
	revision := h.Start
	for _, e := range h.Events {
		if e.Revision <= revision {
			t.Errorf("%s %s at %d comes after an event at %d", e.Kind, e.Key, e.Revision, revision)
		}
		revision = e.Revision
		byRevision[e.Revision] = e
		if e.Kind == "DELETED" {
			deleted[e.Key]++
		}
		if isNew := e.Previous == nil; isNew != (e.Kind == "ADDED") {
			t.Errorf("%s %s at %d, but the object was there before: %v", e.Kind, e.Key, e.Revision, !isNew)
		}
	}
	writes, unchanged, cut := map[int]string{}, 0, map[string]int{}
	for _, w := range accepted {
		if w.Cut {
			cut[w.Key]++
			continue
		}
		m, err := MetaOf(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		emptied := m.Metadata.DeletionTimestamp != "" && len(m.Metadata.Finalizers) == 0
		if m.Metadata.ResourceVersion == "" || emptied {
			deleted[w.Key]-- // the Status of a delete, or an object that went with its last finalizer
			continue
		}
		revision, err := strconv.Atoi(m.Metadata.ResourceVersion)
		if err != nil {
			t.Fatal(err)
		}
		e, ok := byRevision[revision]
		switch {
		case !ok:
			t.Errorf("lost: %s %s was answered with revision %d, which no event has", w.Verb, w.Key, revision)
		case e.Key != w.Key || e.Text != w.Body:
			t.Errorf("%s %s was answered\n%s\nand the event of %d is\n%s", w.Verb, w.Key, w.Body, revision, e.Text)
		case w.Verb == "nothing" || w.Verb == "finalize" || w.Verb == "merge" || w.Verb == "delete":
			unchanged++ // it may have changed nothing, and then the revision is another write's
		case writes[revision] != "":
			t.Errorf("%s %s and %s have revision %d", w.Verb, w.Key, writes[revision], revision)
		default:
			writes[revision] = w.Verb + " " + w.Key
		}
	}
	// A write that was cut may have deleted its object.
	maps.DeleteFunc(deleted, func(key string, n int) bool { return 0 <= n && n <= cut[key] })
	if len(deleted) > 0 {
		t.Errorf("DELETED events without an accepted delete, or the reverse, by object: %v", deleted)
	}
	if len(writes)+unchanged < len(h.Events)/2 {
		t.Errorf("of %d events only %d have a write", len(h.Events), len(writes)+unchanged)
	}
}

// At returns the event that made each object what it is at a revision, in the order of the
// keys.
func (h *History) At(revision int) []Event {
	present := map[string]Event{}
	for _, e := range h.Events {
		if e.Revision > revision {
			break
		}
		present[e.Key] = e
		if e.Kind == "DELETED" {
			delete(present, e.Key)
		}
	}
	var state []Event
	for _, key := range slices.Sorted(maps.Keys(present)) {
		state = append(state, present[key])
	}
	return state
}

// Seen returns the events after a revision as a query shows them.
func (h *History) Seen(v Query, after int) []Received {
	var seen []Received
	for _, e := range h.Events {
		if e.Revision <= after {
			continue
		}
		after := e.Kind != "DELETED" && v.Matches(e)
		before := e.Previous != nil && v.Matches(*e.Previous)
		switch {
		case after && before:
			seen = append(seen, v.show("MODIFIED", e))
		case after:
			seen = append(seen, v.show("ADDED", e))
		case before && e.Kind == "DELETED":
			seen = append(seen, v.show("DELETED", e))
		case before:
			// The object left the selection. The event shows it as it was before, with the
			// revision of the change.
			gone := *e.Previous
			gone.Revision = e.Revision
			gone.Text = strings.Replace(gone.Text,
				fmt.Sprintf(`"resourceVersion":"%d"`, e.Previous.Revision), fmt.Sprintf(`"resourceVersion":"%d"`, e.Revision), 1)
			seen = append(seen, v.show("DELETED", gone))
		}
	}
	return seen
}

// Added returns the state at a revision as a list, or the initial events of a watch, shows
// it for a query.
func (h *History) Added(v Query, revision int) []Received {
	var added []Received
	for _, e := range h.At(revision) {
		if v.Matches(e) {
			added = append(added, v.show("ADDED", e))
		}
	}
	return added
}
