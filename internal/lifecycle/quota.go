package lifecycle

import (
	"context"

	"github.com/tidwall/gjson"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

// noteQuotas adds the quotas that are to be measured after a change.
func (r *Reactor) noteQuotas(list *tasks, c Change) {
	if !r.acting[ResourceQuotaController] {
		return
	}
	if c.Resource == r.server.Quotas() && !c.Deleted && limits(c.Record.Value) != limits(c.Previous.Value) {
		list.add(measureQuota, c.Record.Key)
	}
	keys, err := r.server.QuotasConcerned(c)
	if err != nil {
		klog.ErrorS(err, "The quotas that a write concerns are not known; the next related write tries again", "key", c.Record.Key)
	}
	list.add(measureQuota, keys...)
}

// limits are those in the spec of a quota.
func limits(quota string) string { return gjson.Get(quota, "spec").Raw }

// measureQuota brings the status of a quota up to date.
func (r *Reactor) measureQuota(ctx context.Context, key string) error {
	res := r.server.Quotas()
	for {
		began := r.server.Revision()
		obj, was, err := r.server.Get(ctx, res, res.NamespaceOf(key), res.NameOf(key))
		if err != nil {
			return err
		}
		quota := obj.(*corev1.ResourceQuota)
		changed, measured := r.server.MeasureQuota(quota)
		if !changed {
			// An object may have been created and charged after the quota was read and before
			// the objects were counted. What was counted says nothing of the quota then.
			_, is, err := r.server.Get(ctx, res, res.NamespaceOf(key), res.NameOf(key))
			if err != nil {
				return err
			}
			if measured != nil || is.Revision == was.Revision {
				return measured
			}
			continue
		}
		if err := r.server.Update(ctx, res, "status", was, quota); err != nil {
			return err
		}
		if measured != nil || r.server.Revision() == began+1 {
			return measured // nobody else has written meanwhile
		}
	}
}
