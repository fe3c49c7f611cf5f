package quota

import (
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"

	"github.com/fakecluster/fakecluster/internal/metadata"
	"github.com/fakecluster/fakecluster/internal/write"
	"github.com/fakecluster/fakecluster/store"
)

// exact has the revisions of quotas, by key, at which a measurement would find their status. Other quotas are measured
// before their status is changed by adding or subtracting.
//
// The controller sets a revision; it is advanced under the lock of the store. The mutex is held for look-ups only.
type exact struct {
	mu        sync.Mutex
	revisions map[string]int64
}

func (e *exact) set(key string, revision int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.revisions[key] = revision
}

func (e *exact) has(key string, revision int64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.revisions[key] == revision
}

// advance records that a quota is as exact at a revision as it was at an earlier one.
func (e *exact) advance(key string, from, to int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.revisions[key] == from {
		e.revisions[key] = to
	}
}

func (e *exact) forget(key string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.revisions, key)
}

// Measure sets the status of a quota to the limits of its spec and the current use, and reports whether anything has
// changed. If the use changes by the passage of time, again is the time when it does; otherwise it is zero. If Measure
// fails for some resources, it has measured the others.
func (q *Quotas) Measure(rq *corev1.ResourceQuota) (changed bool, again time.Time, err error) {
	changed, err = q.measure(rq)
	if err != nil || !q.limitsPods(rq) {
		return changed, again, err
	}
	stored, err := q.stored(q.served(pods), rq.Namespace)
	return changed, countsLess(q.Cluster.Now(), stored...), err
}

// MarkExact records that a measurement has found the status of a quota.
func (q *Quotas) MarkExact(record store.Record) { q.exact.set(record.Key, record.Revision) }

// IsExact reports whether a measurement would find the status of a quota.
func (q *Quotas) IsExact(record store.Record) bool { return q.exact.has(record.Key, record.Revision) }

// Forget forgets a quota that is deleted.
func (q *Quotas) Forget(key string) { q.exact.forget(key) }

// Later returns the keys of the quotas whose use decreases later, because a commit has begun the graceful deletion of a
// pod, and the time when it decreases.
func (q *Quotas) Later(c write.Commit) (keys []string, due time.Time) {
	if c.Deleted || c.Resource.GroupResource() != pods {
		return nil, due
	}
	list, err := q.Store.List(q.Resource.PrefixOf(c.Namespace), store.ListOptions{})
	if err != nil || len(list.Records) == 0 || !isBeingDeleted(c.Record.Value) {
		return nil, due
	}
	pod, err := q.Memory.Decode(c.Resource.Storage, c.Record)
	if err != nil {
		return nil, due
	}
	if due = countsLess(q.Cluster.Now(), pod.Object); due.IsZero() {
		return nil, due
	}
	for _, record := range list.Records {
		if rq, err := q.decode(record); err == nil && q.limitsPods(rq) {
			keys = append(keys, record.Key)
		}
	}
	return keys, due
}

// isBeingDeleted reports whether the JSON of an object has a deletionTimestamp. Objects without the word, which are
// most, are not parsed.
func isBeingDeleted(text string) bool {
	return strings.Contains(text, `"deletionTimestamp"`) && metadata.Get(text, "deletionTimestamp").Exists()
}

// definitions is the resource whose objects define kinds that a quota may count.
var definitions = apiextensions.Resource("customresourcedefinitions")

// Affected returns the keys of the quotas whose use may have changed with a commit that has not charged
// them.
func (q *Quotas) Affected(c write.Commit) ([]string, error) {
	if c.Resource.GroupResource() == definitions {
		return q.naming("count/" + c.Name)
	}
	updated := !c.Deleted && c.Previous.Revision != 0
	if c.Namespace == "" || !c.Deleted && !(updated && changesUsage(c.Resource.GroupResource())) {
		return nil, nil
	}
	list, err := q.Store.List(q.Resource.PrefixOf(c.Namespace), store.ListOptions{})
	if err != nil || len(list.Records) == 0 {
		return nil, err
	}
	affects := func(rq *corev1.ResourceQuota) (bool, error) {
		return q.limits(rq, c.Resource.GroupResource()), nil
	}
	if updated {
		v := c.Resource.Storage
		before, err := q.Memory.Decode(v, c.Previous)
		if err != nil {
			return nil, err
		}
		after, err := q.Memory.Decode(v, c.Record)
		if err != nil {
			return nil, err
		}
		affects = func(rq *corev1.ResourceQuota) (bool, error) {
			effect, err := q.effect(c.Resource.GroupResource(), before.Object, after.Object, rq)
			return effect.Changes, err
		}
	}
	var keys []string
	for _, record := range list.Records {
		rq, err := q.decode(record)
		if err != nil {
			return keys, err
		}
		affected, err := affects(rq)
		if err != nil {
			return keys, err
		}
		if affected {
			keys = append(keys, record.Key)
		}
	}
	return keys, nil
}

// naming returns the keys of the quotas in all namespaces that name a resource.
func (q *Quotas) naming(name string) ([]string, error) {
	list, err := q.Store.List(q.Resource.Prefix, store.ListOptions{})
	var keys []string
	for _, record := range list.Records {
		if strings.Contains(record.Value, `"`+name+`"`) {
			keys = append(keys, record.Key)
		}
	}
	return keys, err
}
