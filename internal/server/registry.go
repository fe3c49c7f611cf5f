package server

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/klog/v2"

	"github.com/fakecluster/fakecluster/internal/crd"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// registry has the kinds that a server serves: the built-in ones and those of the definitions in the store.
type registry struct {
	store       *store.Store
	builtin     []*resource.Resource // in the order of discovery
	definitions *resource.Resource   // in builtin
	outside     crd.Outside
	memory      *resource.Memory

	current atomic.Pointer[resource.Registry]
}

// newRegistry returns a registry that serves the given kinds until it is refreshed.
func newRegistry(s *store.Store, kinds builtinKinds, outside crd.Outside, memory *resource.Memory, served *resource.Registry) *registry {
	c := &registry{store: s, builtin: kinds.ordered, definitions: kinds.definitions, outside: outside, memory: memory}
	c.current.Store(served)
	return c
}

// Load returns the kinds that are served now.
func (c *registry) Load() *resource.Registry { return c.current.Load() }

// fresh returns the served kinds after it has read the definitions in the store.
func (c *registry) fresh() (*resource.Registry, error) {
	err := c.refresh()
	return c.Load(), err
}

// forFork returns the kinds that a fork at a revision begins with: those that the origin serves.
func (c *registry) forFork(revision int64) *resource.Registry {
	// A compiled definition is valid for the same record of the fork, even if the origin is at another revision. One
	// with a conversion webhook is compiled again; only Since is taken over.
	origin := c.Load()
	shared, stale := origin.Definitions("*"), origin.Revision > revision
	for i, d := range shared {
		if d.Resource != nil && d.Resource.ConvertedByWebhook {
			again := *d
			again.Record.Revision = 0
			shared[i], stale = &again, true
		}
	}
	if stale {
		return resource.NewRegistry(0, c.builtin, shared)
	}
	return origin
}

// refresh brings the registry up to date with the definitions in the store. If several goroutines call it, the newest
// definitions win, and none of them waits.
func (c *registry) refresh() error {
	for {
		former := c.Load()
		next, err := c.next(former)
		if err != nil || next == former || c.current.CompareAndSwap(former, next) {
			return err
		}
	}
}

// next returns the registry that follows former; the same one if nothing has been written since. It reads only the
// definitions that have changed.
func (c *registry) next(former *resource.Registry) (*resource.Registry, error) {
	if former.Revision == 0 {
		return c.whole(former)
	}
	if c.store.Revision() <= former.Revision {
		return former, nil
	}
	changes, err := c.store.Watch(c.definitions.Prefix, former.Revision)
	newest := map[string]*store.Event{} // by key
	for err == nil {
		var events []*store.Event
		if events, err = changes.Poll(); len(events) == 0 {
			break
		}
		for _, e := range events {
			newest[e.Record.Key] = e
		}
	}
	var compacted *store.CompactedError
	if errors.As(err, &compacted) {
		return c.whole(former)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the definitions: %w", err)
	}
	if len(newest) == 0 {
		return former.At(changes.Revision()), nil
	}
	var changed []*resource.Definition
	var gone []string
	for key, e := range newest {
		if e.Type == store.Deleted {
			gone = append(gone, strings.TrimPrefix(key, c.definitions.Prefix))
			continue
		}
		d, err := c.definition(former, e.Record)
		if err != nil {
			return nil, err
		}
		changed = append(changed, d)
	}
	return former.With(changes.Revision(), changed, gone), nil
}

// whole returns the registry of all definitions in the store. It reuses unchanged ones of the former registry.
func (c *registry) whole(former *resource.Registry) (*resource.Registry, error) {
	definitions, err := c.store.List(c.definitions.Prefix, store.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading the definitions: %w", err)
	}
	if definitions.Revision <= former.Revision {
		return former, nil
	}
	compiled := make([]*resource.Definition, 0, len(definitions.Records))
	for _, record := range definitions.Records {
		d, err := c.definition(former, record)
		if err != nil {
			return nil, err
		}
		compiled = append(compiled, d)
	}
	return resource.NewRegistry(definitions.Revision, c.builtin, compiled), nil
}

// definition compiles a definition, unless the earlier registry has it.
func (c *registry) definition(earlier *resource.Registry, record store.Record) (*resource.Definition, error) {
	former := earlier.Definition(strings.TrimPrefix(record.Key, c.definitions.Prefix))
	if former != nil && former.Record.Revision == record.Revision {
		return former, nil
	}
	definition, err := c.memory.Decode(c.definitions.Storage, record)
	if err != nil {
		return nil, err
	}
	outside := c.outside
	if former != nil && former.Record.Revision != 0 { // 0: inherited by a fork, and to be compiled again
		outside.Former = former.Resource
	}
	d, err := crd.Compile(record, definition.Object.(*apiextensions.CustomResourceDefinition), outside)
	if err != nil {
		// Validation rejects such definitions. If it misses one, the definition is not served.
		klog.ErrorS(err, "A definition cannot be served", "definition", d.Name)
	}
	if d.Resource != nil {
		d.Resource.Since = since(earlier, d, record)
	}
	return d, nil
}

// since returns the revision at which the history of a definition's objects begins: the one that established the
// definition. Later changes of the definition do not change it.
func since(earlier *resource.Registry, d *resource.Definition, record store.Record) int64 {
	former := earlier.Definition(d.Name)
	if former != nil && former.Resource != nil && former.Resource.Since > record.Revision {
		former = nil // the origin of a fork is ahead of it, and has created the definition again
	}
	switch {
	case former != nil && former.Resource != nil && former.Resource.Prefix == d.Resource.Prefix && !former.Resource.Unlisted:
		return former.Resource.Since
	case former == nil && earlier.Revision == 0:
		return record.Created // the best guess for a store that had content
	default:
		return record.Revision
	}
}
