package write

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"

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
	// Charge judges a write by the quotas of its namespace, of which there is at least one. It
	// returns the updates that charge the quotas for the write.
	Charge func(ctx context.Context, w *restadmission.Write, quotas []store.Record) ([]store.Update, error)

	// unlimited is a revision at which the cluster had no quota; 0: no such revision is
	// known.
	unlimited atomic.Int64
}

// charge is what quotas are charged for a write. It commits together with the write, so that
// a write that is refused later charges nothing.
type charge struct {
	quotas  string // what the keys of the namespace's quotas begin with; empty: none were asked
	require []store.Precondition
	updates []store.Update
	// unlimited is the revision since which there are no quotas; 0: there are, or may be.
	unlimited int64
}

// charge asks the quotas of the namespace whether they allow what the new state of an object
// uses. For a create current is nil. It is the last stage before the commit, as upstream's
// plugin ResourceQuota is the last one of admission.
func (a attempt) charge(obj, current runtime.Object) (charge, error) {
	q := a.p.Quotas
	if q == nil || a.request.Namespace == "" || a.request.SkipAdmission || a.projection != nil {
		return charge{}, nil
	}
	if since := q.unlimited.Load(); since != 0 && !a.request.isDryRun() {
		// If there is a quota by now, the commit fails, and the quota is asked.
		prefix := q.Resource.Prefix
		return charge{quotas: prefix, unlimited: since, require: []store.Precondition{{Key: prefix, Revision: since, Prefix: true}}}, nil
	}
	for {
		c, err := a.chargeOnce(obj, current)
		if !errors.Is(err, ErrObsolete) { // a quota has changed since it was read
			return c, err
		}
		if a.ctx.Err() != nil {
			return c, a.ctx.Err()
		}
	}
}

func (a attempt) chargeOnce(obj, current runtime.Object) (charge, error) {
	q := a.p.Quotas
	c := charge{quotas: q.Resource.PrefixOf(a.request.Namespace)}
	list, err := a.p.Store.List(c.quotas, store.ListOptions{})
	if err != nil {
		return c, err
	}
	operation := admission.Create
	if current != nil {
		operation = admission.Update
	}
	if len(list.Records) > 0 {
		if c.updates, err = q.Charge(a.ctx, a.asked(operation, obj, current), list.Records); err != nil {
			return c, err
		}
	} else if all, err := a.p.Store.Scan(q.Resource.Prefix, store.ListOptions{Limit: 1}); err == nil && all.Len() == 0 {
		q.unlimited.Store(all.Revision)
	}
	if operation == admission.Create || len(c.updates) > 0 {
		// The controller that measures quotas relies on this: an object that is created after the
		// quota has got a limit is charged for it.
		c.require = []store.Precondition{{Key: c.quotas, Revision: list.Revision, Prefix: true}}
	}
	return c, nil
}

// commitCharged commits a write together with its charge. If a quota has changed meanwhile,
// it makes the charge again. It ends, because each further attempt means that another write
// has succeeded.
func (a attempt) commitCharged(c charge, obj, current runtime.Object, commit func(charge) (store.Record, error)) (store.Record, error) {
	for {
		record, err := commit(c)
		if !c.isOutdated(err) {
			if err == nil && c.unlimited != 0 {
				since := record.Revision // so that the next commit looks at fewer changes
				if strings.HasPrefix(record.Key, c.quotas) {
					since = 0 // it is a quota
				}
				a.p.Quotas.unlimited.CompareAndSwap(c.unlimited, since)
			}
			return record, err
		}
		if c.unlimited != 0 {
			a.p.Quotas.unlimited.CompareAndSwap(c.unlimited, 0)
		}
		if a.ctx.Err() != nil {
			return record, a.ctx.Err()
		}
		if c, err = a.charge(obj, current); err != nil {
			return record, err
		}
	}
}

// commitWith returns a write that commits together with the charge.
func (c charge) commitWith(w store.Write) store.Write {
	w.Before = c.updates
	w.Require = append(w.Require[:len(w.Require):len(w.Require)], c.require...)
	return w
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
	r.staged = &staged
	_, err := p.Run(ctx, r)
	return staged, err
}
