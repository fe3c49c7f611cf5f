package lifecycle

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/store"
)

// Keeper is a controller that looks at one object after another and keeps others in line with
// it. The reactor says when: after each commit that concerns it, before the write returns.
type Keeper interface {
	Name() Controller
	// Watches are the resources whose changes may concern the controller.
	Watches() []schema.GroupResource
	// Note returns the keys of what the controller has to look at after a change of one of
	// these resources. What a key means only the controller knows.
	Note(c Change) ([]string, error)
	// All returns the keys of all that the controller has to look at when it begins to act.
	All() ([]string, error)
	// Keep looks at what a key means, and writes what is missing. It fails with ErrConflict
	// if something that it has read has changed meanwhile, and is called again. If time
	// alone makes a difference, again is when the controller has to look once more;
	// otherwise it is zero.
	Keep(ctx context.Context, key string) (again time.Time, err error)
}

// keepers are the keepers that act.
type keepers struct {
	all       []Keeper // in the order in which they look at a change
	byName    map[string]Keeper
	following map[schema.GroupResource][]Keeper
}

func newKeepers(acting []Keeper) keepers {
	k := keepers{all: acting, byName: map[string]Keeper{}, following: map[schema.GroupResource][]Keeper{}}
	for _, one := range acting {
		k.byName[string(one.Name())] = one
		for _, of := range one.Watches() {
			k.following[of] = append(k.following[of], one)
		}
	}
	return k
}

// noteKeepers adds the tasks of the keepers that a change concerns.
func (r *Reactor) noteKeepers(list *tasks, c Change) {
	if len(r.keepers.all) == 0 {
		return
	}
	for _, k := range r.keepers.following[c.Resource.GroupResource()] {
		keys, err := k.Note(c)
		if err != nil && !errors.Is(err, store.ErrClosed) {
			r.server.Tell(string(k.Name()), c.Record.Key, err)
		}
		list.add(string(k.Name()), keys...)
	}
}

// Begin has the keepers look at all that there is when the server starts.
func (r *Reactor) Begin(ctx context.Context) error {
	if len(r.keepers.all) == 0 {
		return nil
	}
	list := &tasks{}
	if err := r.resumeKeepers(list); err != nil {
		return err
	}
	r.work(ctx, list)
	return nil
}

// Again has a keeper look once more at all that there is, because something has changed that no
// commit tells of.
func (r *Reactor) Again(ctx context.Context, name Controller) {
	k := r.keepers.byName[string(name)]
	if k == nil {
		return // it does not act
	}
	keys, err := k.All()
	if err != nil {
		r.server.Tell(string(name), "", err)
		return
	}
	list := &tasks{}
	list.add(string(name), keys...)
	r.work(ctx, list)
}

func (r *Reactor) resumeKeepers(list *tasks) error {
	for _, k := range r.keepers.all {
		keys, err := k.All()
		if err != nil {
			return err
		}
		list.add(string(k.Name()), keys...)
	}
	return nil
}

// keep has a keeper do a task. If it has to look again later, an alarm calls it then.
func (r *Reactor) keep(ctx context.Context, t task) error {
	again, err := r.keepers.byName[t.kind].Keep(ctx, t.name)
	if err == nil && !again.IsZero() {
		r.doAt(t, again)
	}
	return err
}
