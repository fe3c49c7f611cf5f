package write

import (
	"context"
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	restadmission "github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// Quotas limit what the objects of a namespace use.
type Quotas struct {
	// Resource is that of the quotas.
	Resource *resource.Resource
	// Varies tells whether updates of the objects of a resource can change what they use.
	Varies func(*resource.Resource) bool
	// Always says that Account is asked about namespaces without quotas, too.
	Always bool
	// Account judges a write by the quotas of its namespace and says what it changes of them.
	Account func(ctx context.Context, u Use, quotas []store.Record) (Account, error)
}

// Use is a write that may change how much of its quotas a namespace uses.
type Use struct {
	Resource *resource.Resource
	// Judged is the write in the form that the plugin ResourceQuota judges; nil: the plugin does
	// not see the write.
	Judged *restadmission.Write
	// Was is the record that the write replaces or removes; the zero value for a create.
	Was store.Record
	// Is is the new state of the object, which is not to be altered; nil for a delete.
	Is runtime.Object
}

// Account is what a write changes in quotas.
type Account struct {
	// Charges are the updates that charge quotas before the write, and Releases those that
	// bring them up to date after it. They commit together with the write.
	Charges, Releases []store.Update
	// Unmeasured are the keys of quotas that must be measured again after the write.
	Unmeasured []string
}

// charge is what a write changes in quotas. It commits together with the write, so that a write
// that is refused later changes none.
type charge struct {
	Account
	charged bool   // quotas were asked, or there are none
	quotas  string // what the keys of the namespace's quotas begin with; empty: none were asked
	require []store.Precondition
}

// use is a write that is about to commit. A create has no record, and a delete has no obj.
// Current is the object with which admission has judged an update; nil: admission was not asked.
type use struct {
	obj, current runtime.Object
	was          store.Record
}

func (u use) creates() bool { return u.was.Revision == 0 }

// charge asks the quotas of the namespace whether they allow what the new state of an object
// uses. It is the last stage before the commit, as upstream's plugin ResourceQuota is the last
// one of admission. It also finds out what the quotas get back.
func (a attempt) charge(u use) (charge, error) {
	q := a.p.Quotas
	if q == nil || a.request.Namespace == "" || a.projection != nil || a.stage != nil {
		return charge{}, nil
	}
	if a.request.SettlesLater || a.request.isDryRun() && !u.creates() && u.current == nil {
		return charge{}, nil
	}
	for range maxAttempts {
		c, err := a.chargeOnce(u)
		if !errors.Is(err, ErrObsolete) { // a quota has changed since it was read
			return c, err
		}
		if err := a.inTime(); err != nil {
			return c, err
		}
	}
	return charge{}, errOvertaken
}

func (a attempt) chargeOnce(u use) (charge, error) {
	q := a.p.Quotas
	c := charge{charged: true, quotas: q.Resource.PrefixOf(a.request.Namespace)}
	list, err := a.p.Store.List(c.quotas, store.ListOptions{})
	if err != nil {
		return c, err
	}
	updates := u.obj != nil && !u.creates()
	if len(list.Records) > 0 || q.Always {
		asked := Use{Resource: a.version.Resource, Was: u.was, Is: u.obj}
		switch {
		case u.creates():
			asked.Judged = a.asked(admission.Create, u.obj, nil)
		case u.current != nil:
			asked.Judged = a.asked(admission.Update, u.obj, u.current)
		}
		if c.Account, err = q.Account(a.ctx, asked, list.Records); err != nil {
			a.explainPlugin("ResourceQuota", err)
			return c, err
		}
	}
	if !updates || len(c.Charges) > 0 || q.Varies(a.version.Resource) {
		// The controller that measures quotas relies on this: since a quota has had a limit, it
		// has been charged for every object that was created, and knows of every one that is gone.
		c.require = []store.Precondition{{Key: c.quotas, Revision: list.Revision, Prefix: true}}
	}
	return c, nil
}

// commitCharged commits a write together with what it changes in quotas, and returns that. If a
// quota has changed meanwhile, it asks the quotas again, maxAttempts times at most. It commits nothing
// once the request has ended: its client may have another answer by now.
func (a attempt) commitCharged(u use, c charge, commit func(charge) (store.Record, error)) (store.Record, charge, error) {
	for range maxAttempts {
		if err := a.inTime(); err != nil {
			return store.Record{}, c, err
		}
		record, err := commit(c)
		if !c.isOutdated(err) {
			return record, c, keeping(err)
		}
		if c, err = a.charge(u); err != nil {
			return record, c, err
		}
	}
	return store.Record{}, c, errOvertaken
}

// commitWith returns a write that commits together with the charge.
func (c charge) commitWith(w store.Write) store.Write {
	w.Before, w.After = c.Charges, c.Releases
	w.Require = append(w.Require[:len(w.Require):len(w.Require)], c.require...)
	return w
}

// noted returns a commit, with what it has done to its quotas.
func (c charge) noted(of Commit) Commit {
	of.Charged, of.Unmeasured = c.charged, c.Unmeasured
	return of
}

// isOutdated tells whether a commit failed because a quota has changed.
func (c charge) isOutdated(err error) bool {
	var changed *store.PreconditionError
	return c.quotas != "" && errors.As(err, &changed) && strings.HasPrefix(changed.Key, c.quotas)
}

// Stage carries out an update without its commit. It returns the update of the store, which
// another write commits together with itself; nil if nothing changes. The request must have a
// Revision.
func (p *Pipeline) Stage(ctx context.Context, r Request) (*store.Update, error) {
	var staged *store.Update
	_, err := p.run(ctx, r, func(u store.Update) { staged = &u })
	return staged, err
}
