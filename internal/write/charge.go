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

// Use is a write that may change how much of its quotas a namespace uses.
type Use struct {
	Resource  *resource.Resource
	Namespace string
	// Attributes returns the write as the plugin ResourceQuota gets it; nil: the plugin does
	// not get the write.
	Attributes func() *restadmission.Write
	// Old is the record that the write replaces or removes; the zero value for a create.
	Old store.Record
	// New is the new state of the object, which must not be altered; nil for a delete.
	New runtime.Object
}

// Charge has the changes of quotas by a write (package quota). They commit together with the write, so that a write that
// fails later changes none. The zero value changes none.
type Charge struct {
	// Before are the updates that charge quotas before the write, and After those that release what the
	// write no longer uses.
	Before, After []store.Update
	// Unmeasured are the keys of quotas that must be measured again after the write.
	Unmeasured []string
	// Keys is the prefix of the keys of the namespace's quotas. Require has the conditions of the charge. If a quota has
	// changed, the pipeline calls Charge again.
	Keys    string
	Require []store.Precondition
}

// use is a write before its commit. A create has no former record, a delete no obj. current is the object that admission
// compared with in an update; nil: admission was not called.
type use struct {
	obj, current runtime.Object
	former       store.Record
}

func (u use) creates() bool { return u.former.Revision == 0 }

// charge evaluates the new state of an object by the quotas of the namespace. It is the last stage before the commit, as
// ResourceQuota is the last of upstream's admission plugins.
func (a attempt) charge(u use) (Charge, error) {
	if a.request.Namespace == "" || a.projection != nil || a.execution.stage != nil {
		return Charge{}, nil
	}
	if a.request.MeasuresQuotaLater || a.request.isDryRun() && !u.creates() && u.current == nil {
		return Charge{}, nil
	}
	use := Use{Resource: a.version.Resource, Namespace: a.request.Namespace, Old: u.former, New: u.obj}
	switch {
	case u.creates():
		use.Attributes = func() *restadmission.Write { return a.admissionWrite(admission.Create, u.obj, nil) }
	case u.current != nil:
		use.Attributes = func() *restadmission.Write { return a.admissionWrite(admission.Update, u.obj, u.current) }
	}
	for range maxAttempts {
		c, err := a.execution.server.Charge(a.ctx, use)
		if err != nil {
			a.observe.Denied("ResourceQuota", err)
		}
		if !errors.Is(err, ErrObsolete) { // a quota has changed since it was read
			return c, err
		}
		if err := a.inTime(); err != nil {
			return c, err
		}
	}
	return Charge{}, errOvertaken
}

// commitCharged commits a write together with its charge, and returns both. If a quota has changed meanwhile, it charges
// the quotas again, at most maxAttempts times. It commits nothing after the request has ended, because its client may
// have another answer.
func (a attempt) commitCharged(u use, c Charge, commit func(Charge) (store.Record, error)) (store.Record, Charge, error) {
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
func (c Charge) commitWith(w store.Write) store.Write {
	w.Before, w.After = c.Before, c.After
	w.Require = append(w.Require[:len(w.Require):len(w.Require)], c.Require...)
	return w
}

// noted returns the commit with the quotas that it has updated.
func (c Charge) noted(commit Commit) Commit {
	commit.Charged, commit.Unmeasured = c.Keys != "", c.Unmeasured
	return commit
}

// isOutdated reports whether a commit failed because a quota has changed.
func (c Charge) isOutdated(err error) bool {
	var changed *store.PreconditionError
	return c.Keys != "" && errors.As(err, &changed) && strings.HasPrefix(changed.Key, c.Keys)
}

// Stage carries out an update without its commit. It returns the update of the store, for another write to commit
// together with its own; nil if nothing changes. The request must have a Revision.
func (p *Pipeline) Stage(ctx context.Context, s Server, r *Request) (*store.Update, error) {
	var staged *store.Update
	_, err := p.execute(ctx, &execution{request: r, server: s, stage: func(u store.Update) { staged = &u }})
	return staged, err
}
