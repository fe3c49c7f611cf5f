package server

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/admission/plugins"
	"github.com/fakecluster/fakecluster/internal/lifecycle"
	"github.com/fakecluster/fakecluster/internal/metadata"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/write"
	"github.com/fakecluster/fakecluster/store"
)

// quotas has the ResourceQuotas of a server. Its writes are charged to them, and a
// controller measures them.
type quotas struct {
	state
	own      *ownWrites
	resource *resource.Resource
	measured plugins.Quotas
	// kept says that the controller of quotas acts.
	kept  bool
	exact *exact
}

// exact has the revisions of quotas, by key, at which their status is what a measurement
// would find. Other quotas are measured before their status is changed by adding or
// subtracting.
//
// A revision is set and advanced under the lock of the store or by the controller; the mutex is
// held for a look-up only.
type exact struct {
	mu sync.Mutex
	at map[string]int64
}

func (e *exact) set(key string, revision int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.at[key] = revision
}

func (e *exact) is(key string, revision int64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.at[key] == revision
}

// advance records that a quota is as exact at a revision as it was at an earlier one.
func (e *exact) advance(key string, from, to int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.at[key] == from {
		e.at[key] = to
	}
}

func (e *exact) forget(key string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.at, key)
}

func newQuotas(of state, own *ownWrites, kinds builtinKinds) *quotas {
	q := &quotas{state: of, own: own, kept: kinds.acting[lifecycle.ResourceQuotaController], exact: &exact{at: map[string]int64{}}}
	for _, res := range kinds.all {
		if res.GroupResource() == corev1.Resource("resourcequotas") {
			q.resource = res
		}
	}
	q.measured = plugins.NewQuotas(q, kinds.inTree.Configuration())
	return q
}

// Stored implements plugins.QuotaCluster.
func (q *quotas) Stored(r *resource.Resource, namespace string) ([]runtime.Object, error) {
	list, err := q.store.List(r.PrefixOf(namespace), store.ListOptions{})
	if err != nil {
		return nil, err
	}
	return q.memory.DecodeAll(r.Storage, list.Records)
}

// Count implements plugins.QuotaCluster.
func (q *quotas) Count(r *resource.Resource, namespace string) (int, error) {
	scan, err := q.store.Scan(r.PrefixOf(namespace), store.ListOptions{Limit: 1})
	return scan.Len() + int(scan.Remaining), err
}

// decode returns a copy of a quota, in the type that clients see.
func (q *quotas) decode(record store.Record) (*corev1.ResourceQuota, error) {
	v := written(q.resource)
	current, err := q.memory.Decode(v, record)
	if err != nil {
		return nil, err
	}
	obj, err := shown(v, current.Object)
	if err != nil {
		return nil, err
	}
	return obj.DeepCopyObject().(*corev1.ResourceQuota), nil
}

// charged is what the pipeline asks about quotas; nil: the plugin ResourceQuota is off.
func (q *quotas) charged(choice plugins.Options) *write.Quotas {
	if !choice.ResourceQuota() {
		return nil
	}
	return &write.Quotas{
		Resource: q.resource, Account: q.Account,
		Varies: func(r *resource.Resource) bool { return plugins.ChangesUsage(r.GroupResource()) },
		Always: choice.Configuration().LimitsResources(),
	}
}

// Account is write.Quotas.Account.
func (q *quotas) Account(ctx context.Context, u write.Use, records []store.Record) (write.Account, error) {
	var out write.Account
	all := make([]corev1.ResourceQuota, len(records))
	for i, record := range records {
		rq, err := q.decode(record)
		if err != nil {
			return out, err
		}
		all[i] = *rq
	}
	charged := map[string]*corev1.ResourceQuota{}
	if u.Judged != nil {
		after, err := q.measured.Charge(u.Judged, all)
		if err != nil || u.Judged.IsDryRun() {
			return out, err
		}
		for i := range after {
			charged[after[i].Name] = &after[i]
		}
		for i := range all {
			if rq := charged[all[i].Name]; rq != nil {
				// On a real server the server sends a request to itself, and admission judges it.
				update, err := q.stage(ctx, apiServer, records[i], rq)
				if err != nil {
					return out, err
				}
				out.Charges = append(out.Charges, update...)
			}
		}
	}
	of := u.Resource.GroupResource()
	if !q.kept || u.Was.Revision == 0 || u.Is != nil && !plugins.ChangesUsage(of) {
		return out, nil
	}
	var was runtime.Object
	if plugins.ChangesUsage(of) {
		decoded, err := q.memory.Decode(u.Resource.Storage, u.Was)
		if err != nil {
			return out, err
		}
		was = decoded.Object
	}
	for i := range all {
		rq, record := &all[i], records[i]
		if record.Key == u.Was.Key {
			continue // it is the object itself
		}
		effect, err := q.measured.Effect(of, was, u.Is, rq)
		if err != nil {
			return out, err
		}
		isCharged := charged[rq.Name]
		switch {
		case !effect.Changes, isCharged != nil && effect.Exact && plugins.SameUse(isCharged.Status.Used, effect.Used):
			continue
		case isCharged == nil && effect.Exact && q.exact.is(record.Key, record.Revision):
			rq.Status.Used = effect.Used
			update, err := q.stage(ctx, quotaController, record, rq)
			if errors.Is(err, write.ErrObsolete) || ctx.Err() != nil {
				return out, err
			}
			if err == nil {
				out.Releases = append(out.Releases, update...)
				continue
			}
			// Admission refuses it. That is no reason to refuse the write.
		}
		out.Unmeasured = append(out.Unmeasured, record.Key)
	}
	return out, nil
}

// stage returns the update that writes the new status of a quota, or none if the status is
// the same.
func (q *quotas) stage(ctx context.Context, by Agent, record store.Record, rq *corev1.ResourceQuota) ([]store.Update, error) {
	w := by.write(q.resource, rq.Namespace, rq.Name)
	w.Subresource, w.Revision = "status", record.Revision
	w.Change = write.Replace{Object: source(func() runtime.Object { return rq })}
	update, err := q.own.stage(ctx, by, w, rq)
	if err != nil || update == nil {
		return nil, err
	}
	text := update.Make
	update.Make = func(revision int64) string {
		q.exact.advance(record.Key, record.Revision, revision)
		return text(revision)
	}
	return []store.Update{*update}, nil
}

// Quotas implements lifecycle.Server.
func (q *quotas) Quotas() *resource.Resource { return q.resource }

// MeasureQuota implements lifecycle.Server.
func (q *quotas) MeasureQuota(rq *corev1.ResourceQuota) (changed bool, again time.Time, err error) {
	changed, err = q.measured.Measure(rq)
	if err != nil || !q.measured.LimitsPods(rq) {
		return changed, again, err
	}
	pods, err := q.Stored(q.catalogue.Load().Resource("", "pods"), rq.Namespace)
	return changed, plugins.CountsLess(q.now().Time, pods...), err
}

// MarkQuotaExact, IsQuotaExact and ForgetQuota implement lifecycle.Server.
func (q *quotas) MarkQuotaExact(of store.Record) { q.exact.set(of.Key, of.Revision) }

func (q *quotas) IsQuotaExact(of store.Record) bool { return q.exact.is(of.Key, of.Revision) }

func (q *quotas) ForgetQuota(c lifecycle.Change) {
	if c.Deleted {
		q.exact.forget(c.Record.Key)
	}
}

// QuotasLater implements lifecycle.Server.
func (q *quotas) QuotasLater(c lifecycle.Change) (keys []string, at time.Time) {
	if c.Deleted || c.Resource.GroupResource() != corev1.Resource("pods") {
		return nil, at
	}
	list, err := q.store.List(q.resource.PrefixOf(c.Namespace), store.ListOptions{})
	if err != nil || len(list.Records) == 0 || !isBeingDeleted(c.Record.Value) {
		return nil, at
	}
	pod, err := q.memory.Decode(c.Resource.Storage, c.Record)
	if err != nil {
		return nil, at
	}
	if at = plugins.CountsLess(q.now().Time, pod.Object); at.IsZero() {
		return nil, at
	}
	for _, record := range list.Records {
		if rq, err := q.decode(record); err == nil && q.measured.LimitsPods(rq) {
			keys = append(keys, record.Key)
		}
	}
	return keys, at
}

// isBeingDeleted tells whether the JSON of an object says when it is deleted. Most objects do not have the
// word at all, and are not parsed.
func isBeingDeleted(text string) bool {
	return strings.Contains(text, `"deletionTimestamp"`) && metadata.Get(text, "deletionTimestamp").Exists()
}

// QuotasConcerned implements lifecycle.Server.
func (q *quotas) QuotasConcerned(c lifecycle.Change) ([]string, error) {
	if c.Resource == q.catalogue.definitions {
		return q.naming("count/" + c.Name)
	}
	updated := !c.Deleted && c.Previous.Revision != 0
	if c.Namespace == "" || !c.Deleted && !(updated && plugins.ChangesUsage(c.Resource.GroupResource())) {
		return nil, nil
	}
	list, err := q.store.List(q.resource.PrefixOf(c.Namespace), store.ListOptions{})
	if err != nil || len(list.Records) == 0 {
		return nil, err
	}
	concerned := func(rq *corev1.ResourceQuota) (bool, error) {
		return q.measured.Limits(rq, c.Resource.GroupResource()), nil
	}
	if updated {
		v := c.Resource.Storage
		was, err := q.memory.Decode(v, c.Previous)
		if err != nil {
			return nil, err
		}
		is, err := q.memory.Decode(v, c.Record)
		if err != nil {
			return nil, err
		}
		concerned = func(rq *corev1.ResourceQuota) (bool, error) {
			effect, err := q.measured.Effect(c.Resource.GroupResource(), was.Object, is.Object, rq)
			return effect.Changes, err
		}
	}
	var keys []string
	for _, record := range list.Records {
		rq, err := q.decode(record)
		if err != nil {
			return keys, err
		}
		isConcerned, err := concerned(rq)
		if err != nil {
			return keys, err
		}
		if isConcerned {
			keys = append(keys, record.Key)
		}
	}
	return keys, nil
}

// naming returns the keys of the quotas in all namespaces that name a resource.
func (q *quotas) naming(name string) ([]string, error) {
	list, err := q.store.List(q.resource.Prefix, store.ListOptions{})
	var keys []string
	for _, record := range list.Records {
		if strings.Contains(record.Value, `"`+name+`"`) {
			keys = append(keys, record.Key)
		}
	}
	return keys, err
}
