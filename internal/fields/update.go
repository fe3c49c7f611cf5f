package fields

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Update computes the owners after a create, an update or a patch. For a create, the live object has only apiVersion and
// kind.
//
// former has the owners before, as Before returns them. Update ignores metadata.managedFields of the objects.
func (e *Engine) Update(live, obj map[string]any, former *Managed, manager string, now time.Time) Result {
	if len(former.entries) == 0 && hasUID(live) {
		return Result{Managed: NoManagers} // the object has no managers yet
	}
	p := e.pass(live, now)
	if !e.hasKind(obj) {
		p.decline("an object of another version")
	}
	return p.updated(obj, former, manager)
}

// Views returns the live object and the new one in a version. It may leave out what is equal in both: fields and entries
// of maps, also in a pair of items with the same keys, but neither items of lists nor their keys.
type Views func(apiVersion string) (live, obj map[string]any, err error)

// UpdateViews is Update for objects that are not trees. The live object must have managers, unless the object is new.
func (e *Engine) UpdateViews(views Views, former *Managed, manager string, now time.Time) Result {
	p := e.passAt(now)
	p.views = views
	return p.updated(nil, former, manager)
}

func (p *pass) updated(obj map[string]any, former *Managed, manager string) Result {
	entries := p.update(obj, former.entries, manager)
	if p.declined != "" {
		return Result{Declined: p.declined}
	}
	return Result{Managed: p.managed(entries, former)}
}

// managed returns the Managed of entries; the former one if it has the same entries.
func (e *Engine) managed(entries []*entry, former *Managed) *Managed {
	if slices.Equal(entries, former.entries) && former.isMade(e.Listed) {
		return former
	}
	return newManaged(entries, e.Listed)
}

func hasUID(obj map[string]any) bool {
	metadata, _ := obj["metadata"].(map[string]any)
	uid, _ := metadata["uid"].(string)
	return uid != ""
}

// update computes the entries after an update. It does not alter the given ones.
func (p *pass) update(obj map[string]any, entries []*entry, manager string) []*entry {
	if manager == "" {
		manager = "unknown"
	}
	self := &entry{manager: manager, operation: Update, apiVersion: p.APIVersion, subresource: p.Subresource, time: p.now}
	entries = p.reconcile(entries)
	main := p.compare(obj)
	if p.declined != "" {
		return nil
	}
	p.applyReset(main)
	self.set, self.reconciled = main.changed, main.tree

	out := make([]*entry, 0, len(entries)+1)
	found := false
	for _, e := range entries {
		in := p.versioned(e.apiVersion, obj)
		if p.declined != "" {
			return nil
		}
		if e.isOf(self) && self.set != nil {
			found = true
			out = append(out, e.with(union(self.set, difference(e.set, in.removed))).withTime(p.now))
			continue
		}
		if left := difference(difference(e.set, intersection(e.set, in.changed)), in.removed); left != nil {
			out = append(out, e.with(left))
		}
	}
	if !found && self.set != nil {
		out = append(out, self)
	}
	return p.cap(out)
}

// maxUpdaters is the maximum number of entries of updates.
const maxUpdaters = 10

// ancient is the manager of merged old entries.
const ancient = "ancient-changes"

// cap merges the oldest entries of updates beyond maxUpdaters into one entry for each version.
func (p *pass) cap(entries []*entry) []*entry {
	var updaters []*entry
	for _, e := range entries {
		if e.operation == Update {
			updaters = append(updaters, e)
		}
	}
	if len(updaters) <= maxUpdaters {
		return entries
	}
	slices.SortFunc(updaters, func(a, b *entry) int {
		return cmp.Or(strings.Compare(a.time, b.time), strings.Compare(a.identifier(), b.identifier()))
	})
	firsts := map[string]*entry{}
	left := len(updaters)
	for i := 0; i < len(updaters) && left > maxUpdaters; i++ {
		e := updaters[i]
		first := firsts[e.apiVersion]
		if first == nil {
			firsts[e.apiVersion] = e
			continue
		}
		bucket := &entry{manager: ancient, operation: Update, apiVersion: e.apiVersion}
		index := slices.IndexFunc(entries, bucket.isOf)
		if index < 0 {
			if index = slices.IndexFunc(entries, first.isOf); index < 0 {
				p.decline("more updaters than there may be")
				return nil
			}
			bucket.set, bucket.reconciled = entries[index].set, entries[index].reconciled
		} else {
			bucket = entries[index]
		}
		current := slices.IndexFunc(entries, e.isOf)
		if current < 0 {
			p.decline("more updaters than there may be")
			return nil
		}
		entries = slices.Clone(entries)
		entries[index] = bucket.with(union(entries[current].set, bucket.set)).withTime(e.time)
		entries = slices.Delete(entries, current, current+1)
		left--
	}
	return entries
}
