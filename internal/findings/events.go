package findings

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/history"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/view"
	"github.com/fakecluster/fakecluster/store"
)

// Event is an Event object, of either group.
type Event struct {
	Object          string // the involved object, as inspect.ObjectName formats it
	Name            string // of the Event, as NAMESPACE/NAME
	Type            string
	Reason, Message string
	Count           int64 // 0: the Event has no count
}

// EventOf returns the Event after a change. ok is false if the object is of another kind, or was deleted.
func EventOf(registry *resource.Registry, res *resource.Resource, e *store.Event) (found Event, ok bool) {
	if res == nil || res.Names.Plural != "events" || res.Group != "" && res.Group != "events.k8s.io" || e.Type == store.Deleted {
		return found, false
	}
	text, err := view.Text(res.Storage, e.Record)
	if err != nil {
		return found, false
	}
	first := func(paths ...string) (value gjson.Result) { // the two groups have different names for the fields
		for _, path := range paths {
			if value = gjson.Get(text, path); value.Exists() {
				break
			}
		}
		return value
	}
	about := first("involvedObject", "regarding")
	kind := schema.FromAPIVersionAndKind(about.Get("apiVersion").String(), about.Get("kind").String())
	namespace, name := about.Get("namespace").String(), about.Get("name").String()
	if resource := registry.Kind(kind); resource != nil {
		found.Object = inspect.ObjectName(resource.Group, resource.Names.Plural, "", namespace, name)
	} else {
		found.Object = inspect.ObjectName(kind.Group, kind.Kind, "", namespace, name)
	}
	found.Name = res.NamespaceOf(e.Record.Key) + "/" + res.NameOf(e.Record.Key)
	found.Type, found.Reason, found.Message = first("type").String(), first("reason").String(), first("message", "note").String()
	found.Count = first("count", "series.count", "deprecatedCount").Int()
	return found, true
}

// warned is a Warning Event and its last write.
type warned struct {
	event Event
	by    history.Writer
}

// trackWarning records a Warning Event.
func (f changes) trackWarning(c Source, e *store.Event, by history.Writer) {
	if found, ok := EventOf(c.Registry, c.Registry.ResourceOf(e.Record.Key), e); ok && found.Type == "Warning" {
		f.warned[e.Record.Key] = warned{found, by}
	}
}

// warningEvents lists the Warning Events. Equal ones about an object are one line.
func (f changes) warningEvents(c Source) (lines []string) {
	type text struct{ client, object, reason, message string }
	counts, last := map[text]int64{}, map[text]history.Writer{}
	for _, w := range f.warned {
		t := text{c.clientOf(w.by.User, w.by.UserAgent), w.event.Object, w.event.Reason, w.event.Message}
		counts[t] += max(w.event.Count, 1)
		if last[t].Request <= w.by.Request {
			last[t] = w.by
		}
	}
	latest := slices.SortedFunc(maps.Keys(counts), func(a, b text) int { return cmp.Compare(last[b].Request, last[a].Request) })
	for _, t := range latest {
		line := fmt.Sprintf("%s %s, about %s", c.after(last[t].Time), t.client, t.object)
		if counts[t] > 1 {
			line += fmt.Sprintf(" (%d times)", counts[t])
		}
		lines = append(lines, fmt.Sprintf("%s: %s: %s", line, t.reason, t.message))
	}
	return lines
}
