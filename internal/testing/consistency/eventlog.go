package consistency

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"
)

// EventLog records the events that a client of client-go receives: a line for each event, with its
// type, its object and the object's revision, as [Event.Line] writes them.
//
// Two types come from informers only. SAME is an update to the revision that the informer
// had already, as a new list causes. GONE is an object that was deleted while the informer
// was not connected.
type EventLog struct {
	mu    sync.Mutex
	lines []string
	last  chan struct{}
}

// NewEventLog returns an empty log.
func NewEventLog() *EventLog { return &EventLog{last: make(chan struct{})} }

// Add records an event of the given type.
func (n *EventLog) Add(kind string, o any) {
	m, err := meta.Accessor(o)
	if err != nil {
		panic(err) // informers hold API objects only
	}
	key := m.GetNamespace() + "/" + m.GetName()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, fmt.Sprintf("%s %s %s", kind, key, m.GetResourceVersion()))
	if kind != "SAME" && key == lastKey() && m.GetAnnotations()["last"] != "" {
		close(n.last)
	}
}

// End marks the log as complete, though the last event has not come.
func (n *EventLog) End() { close(n.last) }

// Last is closed when the client has received the last write of [Writers.Run], or when
// End has been called.
func (n *EventLog) Last() <-chan struct{} { return n.last }

// Lines returns the lines of the log.
func (n *EventLog) Lines() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.lines)
}

// Handler returns a handler that records the events of an informer.
func (n *EventLog) Handler() cache.ResourceEventHandlerFuncs {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { n.Add("ADDED", o) },
		UpdateFunc: func(old, o any) {
			if revisionOf(old) == revisionOf(o) {
				n.Add("SAME", o)
				return
			}
			n.Add("MODIFIED", o)
		},
		DeleteFunc: func(o any) {
			if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
				n.Add("GONE", gone.Obj)
				return
			}
			n.Add("DELETED", o)
		},
	}
}

func revisionOf(o any) string {
	m, err := meta.Accessor(o)
	if err != nil {
		panic(err) // informers hold API objects only
	}
	return m.GetResourceVersion()
}

// Lines returns the log of a client that receives every event.
func (h *History) Lines() []string {
	var lines []string
	for _, e := range h.Events {
		lines = append(lines, e.Line())
	}
	return lines
}

// CheckReceived checks the log of an informer that missed events. Of each object, it may
// receive only states that the object had, in their order, and its end.
func (h *History) CheckReceived(t testing.TB, received []string) {
	t.Helper()
	byRevision := map[string]Event{}
	for _, e := range h.Events {
		byRevision[fmt.Sprint(e.Revision)] = e
	}
	newest, present := map[string]int{}, map[string]bool{}
	for _, line := range received {
		part := strings.Fields(line)
		kind, key, e := part[0], part[1], byRevision[part[2]]
		if e.Key != key {
			t.Errorf("%s: this revision is one of %q", line, e.Key)
		}
		if again := (kind == "GONE" || kind == "SAME") && e.Revision == newest[key]; e.Revision <= newest[key] && !again {
			t.Errorf("%s: comes after revision %d of the object", line, newest[key])
		}
		if present[key] == (kind == "ADDED") {
			t.Errorf("%s: but the object was there before: %v", line, present[key])
		}
		newest[key], present[key] = e.Revision, kind == "ADDED" || kind == "MODIFIED" || kind == "SAME"
	}
}

// CheckStore compares the store of an informer with the state at the end.
func (h *History) CheckStore(t testing.TB, store cache.Store) {
	t.Helper()
	var got, want []string
	for _, o := range store.List() {
		m, err := meta.Accessor(o)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s/%s %s", m.GetNamespace(), m.GetName(), m.GetResourceVersion()))
	}
	slices.Sort(got)
	for _, e := range h.At(h.Last()) {
		want = append(want, fmt.Sprintf("%s %d", e.Key, e.Revision))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("store (-want +got):\n%s", diff)
	}
}
