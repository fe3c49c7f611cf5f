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

// Quotas are what limits the use of namespaces.
type Quotas struct {
	// Resource is that of the quotas.
	Resource *resource.Resource
	// Charge judges a write by the quotas of its namespace, of which there is at least one. It
	// returns the updates that charge the quotas for the write.
	Charge func(ctx context.Context, w *restadmission.Write, quotas []store.Record) ([]store.Update, error)

	// unlimited is a revision at which the cluster had no quota; 0: none is known.
	unlimited atomic.Int64
}

// charge is what a write has quotas charged with. It commits with the write or not at all, so
// that a write that is refused later, for whatever reason, has charged nothing.
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
		// Whoever measures a quota anew relies on this: an object that was created after the quota
		// had got a limit has been charged for it.
		c.require = []store.Precondition{{Key: c.quotas, Revision: list.Revision, Prefix: true}}
	}
	return c, nil
}

// commitCharged commits a write with what it is charged for. While other writes change the
// quotas, it asks these again: each time that it has to, another write has succeeded.
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

// commitWith is a write that commits with the charge.
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

// Stage carries out an update but for its commit, for which it returns what another write is to
// commit with itself; nil if the update changes nothing. The request names a revision.
func (p *Pipeline) Stage(ctx context.Context, r Request) (*store.Update, error) {
	var staged *store.Update
	r.staged = &staged
	_, err := p.Run(ctx, r)
	return staged, err
}
