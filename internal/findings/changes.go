package findings

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/history"
	"github.com/fakecluster/fakecluster/internal/printable"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/view"
	"github.com/fakecluster/fakecluster/store"
)

// An object changes without end if it is written this often, with pauses of at most this.
const (
	manyWrites = 20
	pause      = time.Second
)

// changes has what the findings need from the history of the store.
type changes struct {
	busy map[string]*run // the longest run of each object, by its key
	// owned counts the objects that programs have created for an owner that is their controller.
	owned map[ownership]int
	// deleted has the objects that are being deleted, by their keys.
	deleted map[string]deletion
	// children are the objects that were created for an owner, by their keys.
	children map[string]*child
	// last are the last changes, by the keys of the objects.
	last map[string]written
	// warned are the Warning Events, by their keys.
	warned map[string]warned
}

// deletion is an object that has a deletionTimestamp and still exists.
type deletion struct {
	time time.Time // when its deletion began; zero: unknown
	now  *store.Event
}

// run is a series of writes to one object with pauses of at most pause.
type run struct {
	count int
	by    map[string]int // number of writes by client and verb
	time  time.Time      // of the last write
	last  *store.Event   // the last change; nil: none
}

// ownership is a program that creates objects of one kind for an owner of another.
type ownership struct {
	user, agent string
	created     *resource.Resource // what it creates
	owner       string             // the kind of the owner
}

// Loop describes the object with the longest run of writes since c.Since, if that has at least atLeast writes: the
// clients, and what the last write changed.
func Loop(c Source, atLeast int) (string, bool) {
	c.began, c.shared = c.History.Began(), sharedNames(c.History.Stats())
	found := c.changes()
	var busiest string
	for key, r := range found.busy {
		if r.count >= atLeast && (busiest == "" || r.count > found.busy[busiest].count) {
			busiest = key
		}
	}
	if busiest == "" {
		return "", false
	}
	return oneLine(found.loop(c, busiest)), true
}

// changes reads the history of the store.
func (c Source) changes() changes {
	found := changes{map[string]*run{}, map[ownership]int{}, map[string]deletion{}, map[string]*child{}, map[string]written{}, map[string]warned{}}
	events, err := c.Store.Watch("", max(c.Store.Oldest(), c.Since))
	if err != nil {
		return found // the store is closed, or has compacted these revisions
	}
	now := map[string]*run{}
	for {
		batch, err := events.Poll()
		if err != nil || len(batch) == 0 {
			return found
		}
		for _, e := range batch {
			by, ok := c.History.Writer(e.Record.Revision)
			found.last[e.Record.Key] = written{e, by}
			found.trackDeletion(e, by)
			found.trackChild(e, by, ok)
			if !ok || by.Request == 0 || strings.Contains(e.Record.Key, "/leases/") {
				continue // a leader renews its Lease again and again
			}
			found.trackWarning(c, e, by)
			found.trackWrites(now, e, by, c.clientOf(by.User, by.UserAgent))
			if e.Type == store.Created {
				found.trackOwnership(c.Registry, e, by)
			}
		}
	}
}

// trackWrites adds a write to the run of its object.
func (f changes) trackWrites(now map[string]*run, e *store.Event, by history.Writer, client string) {
	key := e.Record.Key
	r := now[key]
	if r == nil || by.Time.Sub(r.time) > pause {
		r = &run{by: map[string]int{}}
		now[key] = r
	}
	who := client + " " + wordsOf(by)
	r.count++
	r.by[who]++
	r.time = by.Time
	if _, deleted := f.deleted[key]; e.Type == store.Updated && !deleted {
		r.last = e // deletes do not repeat
	}
	if best := f.busy[key]; best == nil || r.count >= best.count {
		f.busy[key] = r
	}
}

// wordsOf returns the verb and the subresource of a write, such as update status.
func wordsOf(by history.Writer) string {
	if by.Subresource == "" {
		return verbOf(by.Verb, by.Patch)
	}
	return verbOf(by.Verb, by.Patch) + " " + by.Subresource
}

// trackDeletion records an object that is being deleted.
func (f changes) trackDeletion(e *store.Event, by history.Writer) {
	key := e.Record.Key
	if e.Type == store.Deleted || gjson.Get(e.Record.Value, "metadata.deletionTimestamp").Str == "" {
		delete(f.deleted, key)
		return
	}
	former, deleting := f.deleted[key]
	if !deleting {
		former.time = by.Time
	}
	f.deleted[key] = deletion{former.time, e}
}

// stuckDeletions lists the objects that were deleted and still exist, with what they wait for. The
// last one to be deleted comes first.
func (f changes) stuckDeletions(c Source) (lines []string) {
	keys := slices.SortedFunc(maps.Keys(f.deleted), func(a, b string) int {
		return cmp.Or(f.deleted[b].time.Compare(f.deleted[a].time), strings.Compare(a, b))
	})
	for _, key := range keys {
		res := c.Registry.ResourceOf(key)
		if res == nil {
			continue
		}
		object := f.deleted[key]
		left := gjson.Get(object.now.Record.Value, "metadata.finalizers").Array()
		if res.Group == "" && res.Names.Plural == "namespaces" {
			left = append(left, gjson.Get(object.now.Record.Value, "spec.finalizers").Array()...)
		}
		var finalizers []string
		for _, finalizer := range left {
			finalizers = append(finalizers, finalizer.Str)
		}
		waits := "its finalizers have not been removed: " + strings.Join(finalizers, ", ")
		if len(finalizers) == 0 {
			waits = "its grace period has to end: nothing runs here, and a delete with gracePeriodSeconds=0 ends it as a kubelet would"
		}
		line := inspect.ObjectName(res.Group, res.Names.Plural, "", res.NamespaceOf(key), res.NameOf(key)) + ": " + waits
		if !object.time.IsZero() {
			line = c.after(object.time) + " " + line
		}
		lines = append(lines, line)
	}
	return lines
}

// trackOwnership records that an object is created for an owner.
func (f changes) trackOwnership(registry *resource.Registry, e *store.Event, by history.Writer) {
	owner := gjson.Get(e.Record.Value, `metadata.ownerReferences.#(controller==true).kind`).Str
	if owner == "" {
		return
	}
	if res := registry.ResourceOf(e.Record.Key); res != nil {
		f.owned[ownership{by.User, by.UserAgent, res, owner}]++
	}
}

// loops lists the objects that change without end, the newest first.
func (f changes) loops(c Source) (lines []string) {
	var keys []string
	for key, r := range f.busy {
		if r.count >= manyWrites {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(f.busy[b].time.Compare(f.busy[a].time), strings.Compare(a, b))
	})
	for _, key := range keys {
		lines = append(lines, c.after(f.busy[key].time)+" "+f.loop(c, key))
	}
	return lines
}

// loop describes the run of an object.
func (f changes) loop(c Source, key string) string {
	r := f.busy[key]
	name := key
	res := c.Registry.ResourceOf(key)
	if res != nil {
		name = inspect.ObjectName(res.Group, res.Names.Plural, "", res.NamespaceOf(key), res.NameOf(key))
	}
	var who []string
	for _, by := range slices.SortedFunc(maps.Keys(r.by), func(a, b string) int { return cmp.Or(r.by[b]-r.by[a], strings.Compare(a, b)) }) {
		who = append(who, fmt.Sprintf("%s (%d)", by, r.by[by]))
	}
	line := fmt.Sprintf("%s: %d writes in a row by %s", name, r.count, strings.Join(who[:min(len(who), 4)], ", "))
	if last := lastChange(res, r.last); last != "" {
		line += "; the last: " + last
	}
	return line
}

// lastChange describes what an event changed.
func lastChange(res *resource.Resource, e *store.Event) string {
	if res == nil || e == nil {
		return ""
	}
	var texts [2]string
	for i, record := range []store.Record{*e.Previous, e.Record} {
		var err error
		if texts[i], err = view.Text(res.Storage, record); err != nil {
			return ""
		}
	}
	var changed []string
	for _, change := range history.DiffText(texts[0], texts[1]) {
		changed = append(changed, change.String())
	}
	return strings.Join(changed, ", ")
}

// unwatched lists the kinds that a controller creates for an owner and never watches: it gets no event when another
// client changes such an object. Only a program with watches counts as a controller.
func (f changes) unwatched(c Source, stats inspect.Stats) (lines []string) {
	watched := watchedBy(stats)
	for o, count := range f.owned {
		name := c.clientOf(o.user, o.agent)
		seen := watched[programOf(o.user, o.agent)]
		if seen == nil || seen[o.created.Group+"/"+o.created.Names.Plural] {
			continue
		}
		lines = append(lines, fmt.Sprintf("%s has created %s for a %s, but does not watch %s: if their changes should call the controller, add %s to its builder",
			name, printable.Count(count, o.created.Names.Kind), o.owner, inspect.ObjectName(o.created.Group, o.created.Names.Plural, "", "", ""), owns(o.created)))
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}
