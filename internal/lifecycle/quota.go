package lifecycle

import (
	"context"
	"time"

	"github.com/tidwall/gjson"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

// noteQuotas adds the quotas that must be measured after a change. Most changes have brought
// the quotas up to date when they committed.
func (r *Reactor) noteQuotas(list *tasks, c Change) {
	if !r.acting[ResourceQuotaController] {
		return
	}
	if c.Resource == r.server.Quotas() {
		if c.Deleted {
			r.server.Quota().Forget(c.Record.Key)
		}
		measure := task{measureQuota, c.Record.Key}
		switch {
		case c.Deleted:
		case limits(c.Record.Value) != limits(c.Previous.Value):
			list.add(measure.kind, measure.name)
		case list.doing != measure && !r.server.Quota().IsExact(c.Record): // the controller has not written it
			r.doAt(measure, r.server.Now().Add(quotaResync))
		}
	}
	list.add(measureQuota, c.Unmeasured...)
	if !c.Charged {
		keys, err := r.server.Quota().Affected(c)
		if err != nil {
			klog.ErrorS(err, "The quotas that a write concerns are not known; the next related write tries again", "key", c.Record.Key)
		}
		list.add(measureQuota, keys...)
	}
	// A pod that is being deleted counts until its grace period is over.
	keys, again := r.server.Quota().Later(c)
	for _, key := range keys {
		r.doAt(task{measureQuota, key}, again)
	}
}

// quotaResync is how often the real controller measures all quotas (--resource-quota-sync-period). A
// status that somebody else has written stays that long at most.
const quotaResync = 5 * time.Minute

// limits returns the limits in the spec of a quota.
func limits(quota string) string { return gjson.Get(quota, "spec").Raw }

// measureQuota brings the status of a quota up to date. It fails with ErrConflict if objects or the
// quota have changed meanwhile, so that the count may not fit the quota.
func (r *Reactor) measureQuota(ctx context.Context, key string) error {
	res := r.server.Quotas()
	began := r.server.Revision()
	obj, was, err := r.server.Get(ctx, res, res.NamespaceOf(key), res.NameOf(key))
	if err != nil {
		return err
	}
	quota := obj.(*corev1.ResourceQuota)
	changed, again, measured := r.server.Quota().Measure(quota)
	if changed {
		if err := r.server.Update(ctx, res, "status", was, quota); err != nil {
			return err
		}
	}
	_, is, err := r.server.Get(ctx, res, res.NamespaceOf(key), res.NameOf(key))
	if err != nil {
		return err
	}
	if measured != nil {
		return measured
	}
	// If the status has changed, this must have been the only write since the quota was read. If it
	// has not, the quota must be the one that was read: objects that are created or removed
	// meanwhile change it.
	if changed && r.server.Revision() != began+1 || !changed && is.Revision != was.Revision {
		return ErrConflict
	}
	r.server.Quota().MarkExact(is)
	if !again.IsZero() {
		r.doAt(task{measureQuota, key}, again)
	}
	return nil
}
