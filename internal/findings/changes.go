package findings

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/fakecluster/fakecluster/internal/history"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/view"
	"github.com/fakecluster/fakecluster/store"
)

// An object changes without end if it is written this often with no longer pause than this.
const (
	manyWrites = 20
	pause      = time.Second
)

// changes are what the history of the store says.
type changes struct {
	busy map[string]*run // the longest, by the key of the object
	// owned has who has created objects with a controller as their owner.
	owned map[ownership]int
}

// run is a series of writes to one object with hardly a pause.
type run struct {
	count int
	by    map[string]int // writes, by who and how
	time  time.Time      // of the last
	last  *store.Event
}

// ownership is a program that creates objects of one kind for an owner of another.
type ownership struct {
	user, agent string
	of          *resource.Resource // what it creates
	owner       string             // the kind of the owner
}

// Loop returns the object that was written most often without a pause since a revision, if that was
// at least so often, in words: by whom, and what the last write changed.
func Loop(c Cluster, atLeast int) (string, bool) {
	c.began = c.History.Began()
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
func (c Cluster) changes() changes {
	found := changes{map[string]*run{}, map[ownership]int{}}
	events, err := c.Store.Watch("", max(c.Store.Oldest(), c.Since))
	if err != nil {
		return found // the store is closed, or has just forgotten more
	}
	now := map[string]*run{}
	for {
		batch, err := events.Poll()
		if err != nil || len(batch) == 0 {
			return found
		}
		for _, e := range batch {
			by, ok := c.History.Writer(e.Record.Revision)
			if !ok || by.Request == 0 || strings.Contains(e.Record.Key, "/leases/") {
				continue // a leader renews its Lease without end
			}
			found.follow(now, e, by)
			if e.Type == store.Created {
				found.note(c.Catalogue, e, by)
			}
		}
	}
}

// follow adds a write to the series of its object.
func (f changes) follow(now map[string]*run, e *store.Event, by history.Writer) {
	key := e.Record.Key
	r := now[key]
	if r == nil || by.Time.Sub(r.time) > pause {
		r = &run{by: map[string]int{}}
		now[key] = r
	}
	who := history.ClientOf(by.User, by.UserAgent) + " " + verbOf(by.Verb, by.Patch)
	if by.Subresource != "" {
		who += " " + by.Subresource
	}
	r.count++
	r.by[who]++
	r.time, r.last = by.Time, e
	if best := f.busy[key]; best == nil || r.count >= best.count {
		f.busy[key] = r
	}
}

// note notes that an object is created for an owner.
func (f changes) note(catalogue *resource.Catalogue, e *store.Event, by history.Writer) {
	owner := gjson.Get(e.Record.Value, `metadata.ownerReferences.#(controller==true).kind`).Str
	if owner == "" {
		return
	}
	if of := catalogue.ResourceOf(e.Record.Key); of != nil {
		f.owned[ownership{by.User, by.UserAgent, of, owner}]++
	}
}

// loops are the objects that change without end, the newest first.
func (f changes) loops(c Cluster) (lines []string) {
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

// loop says who has written an object so often.
func (f changes) loop(c Cluster, key string) string {
	r := f.busy[key]
	name := key
	of := c.Catalogue.ResourceOf(key)
	if of != nil {
		name = ObjectName(of.Group, of.Names.Plural, "", of.NamespaceOf(key), of.NameOf(key))
	}
	var who []string
	for _, by := range slices.SortedFunc(maps.Keys(r.by), func(a, b string) int { return cmp.Or(r.by[b]-r.by[a], strings.Compare(a, b)) }) {
		who = append(who, fmt.Sprintf("%s (%d)", by, r.by[by]))
	}
	line := fmt.Sprintf("%s: %d writes in a row by %s", name, r.count, strings.Join(who[:min(len(who), 4)], ", "))
	if last := lastChange(of, r.last); last != "" {
		line += "; the last: " + last
	}
	return line
}

// lastChange says what an event changed.
func lastChange(of *resource.Resource, e *store.Event) string {
	if of == nil || e.Type != store.Updated {
		return ""
	}
	var texts [2]string
	for i, record := range []store.Record{*e.Previous, e.Record} {
		var err error
		if texts[i], err = view.Text(of.Storage, record); err != nil {
			return ""
		}
	}
	var changed []string
	for _, change := range Shown(of, history.DiffText(texts[0], texts[1])) {
		changed = append(changed, change.String())
	}
	return strings.Join(changed, ", ")
}

// Shown returns the changes of an object as a log may show them: without the values of a Secret.
func Shown(of *resource.Resource, changes []history.Change) []history.Change {
	if of.Group != "" || of.Names.Plural != "secrets" {
		return changes
	}
	shown := slices.Clone(changes)
	for i, c := range shown {
		if strings.HasPrefix(c.Path, "metadata.") && !strings.HasPrefix(c.Path, "metadata.annotations") {
			continue
		}
		if shown[i].Is != nil {
			shown[i].Is = "(a secret)"
		}
		if shown[i].Was != nil {
			shown[i].Was = "(what was there)"
		}
	}
	return shown
}

// unwatched are the kinds that a controller creates for an owner and never watches: nothing wakes it
// when somebody changes such an object. A program that watches nothing is no controller.
func (f changes) unwatched(stats map[history.Counted]history.Counts) (lines []string) {
	type program struct{ user, agent string }
	watched := map[program]map[string]bool{}
	for of, counts := range stats {
		if of.Verb != "watch" || counts.Failures == counts.Requests {
			continue
		}
		p := program{of.User, history.ClientOf(of.User, of.UserAgent)}
		if watched[p] == nil {
			watched[p] = map[string]bool{}
		}
		watched[p][of.Group+"/"+of.Resource] = true
	}
	for o, count := range f.owned {
		name := history.ClientOf(o.user, o.agent)
		seen := watched[program{o.user, name}]
		if seen == nil || seen[o.of.Group+"/"+o.of.Names.Plural] {
			continue
		}
		lines = append(lines, fmt.Sprintf("%s has created %s for a %s and never watched %s: when somebody changes or deletes one, it does not learn of it",
			name, plural(int64(count), o.of.Names.Kind), o.owner, ObjectName(o.of.Group, o.of.Names.Plural, "", "", "")))
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}
