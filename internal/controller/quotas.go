package controller

import (
	"errors"
	"time"

	"github.com/tidwall/gjson"
	corev1 "k8s.io/api/core/v1"

	"github.com/fakecluster/fakecluster/internal/write"
	"github.com/fakecluster/fakecluster/store"
)

var quotaKind = kind{"", "resourcequotas"}

// QuotaController is the identity of the controller that measures quotas, and of the updates that release usage.
var QuotaController = ServiceAccount("resourcequota-controller")

// measurer measures quotas. It is implemented by *quota.Quotas.
type measurer interface {
	Measure(rq *corev1.ResourceQuota) (changed bool, again time.Time, err error)
	MarkExact(quota store.Record)
	IsExact(quota store.Record) bool
	Forget(key string)
	Later(c write.Commit) (keys []string, due time.Time)
	Affected(c write.Commit) ([]string, error)
}

// quotaResync is the interval at which the real controller measures all quotas (--resource-quota-sync-period). A status
// of another client stays at most that long.
const quotaResync = 5 * time.Minute

// resourceQuotas sets hard and used in the status of ResourceQuotas. Most commits update their quotas themselves (see
// package quota). This controller measures a quota by the existing objects where that is not enough: if another client
// has written to the quota, if it limits devices, if a namespace is emptied or a definition deleted, and when the grace
// period of a pod ends. A status of another client stays until then, or for five minutes.
func resourceQuotas() *controller {
	return &controller{
		identity: QuotaController,
		follows: []followed{
			{kind: quotaKind, concerns: func(s *step, c change) error {
				k := c.key()
				switch {
				case c.Deleted:
					s.server.Quotas.Forget(c.Record.Key)
				case limits(c.Record.Value) != limits(c.Previous.Value):
					s.enqueue(k)
				case s.queue.syncing != item{s.controller, k} && !s.server.Quotas.IsExact(c.Record): // written by another client
					s.enqueueAt(k, s.now().Add(quotaResync))
				}
				return nil
			}},
			{kind: anyKind, concerns: func(s *step, c change) error {
				s.enqueueQuotas(c.Unmeasured)
				// A pod that is being deleted counts until the end of its grace period.
				keys, again := s.server.Quotas.Later(c.Commit)
				for _, k := range keys {
					s.enqueueAt(s.quotaKey(k), again)
				}
				if c.Charged {
					return nil
				}
				keys, err := s.server.Quotas.Affected(c.Commit)
				s.enqueueQuotas(keys)
				return err
			}},
		},
		resume: func(s *step, _ int64) error {
			v, err := s.version(quotaKind)
			if err != nil {
				return err
			}
			records, err := s.records(v.Resource, "")
			for _, q := range records {
				s.enqueue(s.quotaKey(q.Key))
			}
			return err
		},
		sync: syncQuota,
	}
}

// limits returns the limits in the spec of a quota.
func limits(quota string) string { return gjson.Get(quota, "spec").Raw }

// quotaKey returns the key of the quota with a store key.
func (s *step) quotaKey(stored string) key {
	v, err := s.version(quotaKind)
	if err != nil {
		return key{} // without the resource there are no quotas
	}
	return key{namespace: v.Resource.NamespaceOf(stored), name: v.Resource.NameOf(stored)}
}

func (s *step) enqueueQuotas(stored []string) {
	for _, k := range stored {
		s.enqueue(s.quotaKey(k))
	}
}

// syncQuota updates the status of a quota. It ends when it has written the status without another write meanwhile, or
// when it finds the status right and unchanged since it was read. Concurrent creates and deletes of objects need no
// more: each of them updates the quota in its commit, or enqueues another measurement.
func syncQuota(s *step, k key) error {
	v, err := s.version(quotaKind)
	if err != nil {
		return err
	}
	began := s.server.Records.Revision()
	rq, err := copyOf[*corev1.ResourceQuota](s, quotaKind, k.namespace, k.name)
	if err != nil {
		return err
	}
	former, err := revisionOf(rq)
	if err != nil {
		return err
	}
	changed, again, measured := s.server.Quotas.Measure(rq)
	if changed {
		if err := s.update(quotaKind, rq, "status"); err != nil {
			return err
		}
	}
	current, err := s.record(v.Resource, k.namespace, k.name)
	if err != nil || measured != nil {
		return errors.Join(err, measured)
	}
	// The quota must not have changed since it was read, because objects that are created or removed meanwhile change
	// it. If the status was written, that must have been the only write since then.
	if current.Revision != former && (!changed || s.server.Records.Revision() != began+1) {
		return errConflict
	}
	s.server.Quotas.MarkExact(current)
	if !again.IsZero() {
		s.syncAgainBy(again)
	}
	return nil
}
