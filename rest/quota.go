package rest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/fakecluster/fakecluster/internal/admission/intree"
	"github.com/fakecluster/fakecluster/internal/history"
	"github.com/fakecluster/fakecluster/internal/lifecycle"
	"github.com/fakecluster/fakecluster/internal/metadata"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/view"
	"github.com/fakecluster/fakecluster/internal/write"
	"github.com/fakecluster/fakecluster/store"
)

// quotas has the ResourceQuotas of a server. Its writes are charged to them, and a
// controller measures them.
type quotas struct {
	cluster
	resource *resource.Resource
	measured intree.Quotas
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

func newQuotas(c cluster, kinds builtinKinds) quotas {
	q := quotas{cluster: c, kept: kinds.acting[lifecycle.ResourceQuotaController], exact: &exact{at: map[string]int64{}}}
	for _, res := range kinds.all {
		if res.GroupResource() == corev1.Resource("resourcequotas") {
			q.resource = res
		}
	}
	q.measured = intree.NewQuotas(q, kinds.inTree.Configuration())
	return q
}

// Stored implements intree.QuotaCluster.
func (q quotas) Stored(r *resource.Resource, namespace string) ([]runtime.Object, error) {
	list, err := q.store.List(r.PrefixOf(namespace), store.ListOptions{})
	if err != nil {
		return nil, err
	}
	return q.memory.DecodeAll(r.Storage, list.Records)
}

// Count implements intree.QuotaCluster.
func (q quotas) Count(r *resource.Resource, namespace string) (int, error) {
	scan, err := q.store.Scan(r.PrefixOf(namespace), store.ListOptions{Limit: 1})
	return scan.Len() + int(scan.Remaining), err
}

// decode returns a copy of a quota, in the type that clients see.
func (q quotas) decode(record store.Record) (*corev1.ResourceQuota, error) {
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

// Account is write.Quotas.Account.
func (r reactions) Account(ctx context.Context, u write.Use, records []store.Record) (write.Account, error) {
	var out write.Account
	all := make([]corev1.ResourceQuota, len(records))
	for i, record := range records {
		rq, err := r.quotas.decode(record)
		if err != nil {
			return out, err
		}
		all[i] = *rq
	}
	charged := map[string]*corev1.ResourceQuota{}
	if u.Judged != nil {
		after, err := r.quotas.measured.Charge(u.Judged, all)
		if err != nil || u.Judged.IsDryRun() {
			return out, err
		}
		for i := range after {
			charged[after[i].Name] = &after[i]
		}
		for i := range all {
			if rq := charged[all[i].Name]; rq != nil {
				// On a real server the server sends a request to itself, and admission judges it.
				update, err := r.stage(ctx, apiServer, records[i], rq)
				if err != nil {
					return out, err
				}
				out.Charges = append(out.Charges, update...)
			}
		}
	}
	of := u.Resource.GroupResource()
	if !r.quotas.kept || u.Was.Revision == 0 || u.Is != nil && !intree.ChangesUsage(of) {
		return out, nil
	}
	var was runtime.Object
	if intree.ChangesUsage(of) {
		decoded, err := r.memory.Decode(u.Resource.Storage, u.Was)
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
		effect, err := r.quotas.measured.Effect(of, was, u.Is, rq)
		if err != nil {
			return out, err
		}
		isCharged := charged[rq.Name]
		switch {
		case !effect.Changes, isCharged != nil && effect.Exact && intree.SameUse(isCharged.Status.Used, effect.Used):
			continue
		case isCharged == nil && effect.Exact && r.quotas.exact.is(record.Key, record.Revision):
			rq.Status.Used = effect.Used
			update, err := r.stage(ctx, quotaController, record, rq)
			if errors.Is(err, write.ErrObsolete) || ctx.Err() != nil {
				return out, err
			}
			if err == nil {
				out.Releases = append(out.Releases, update...)
				continue
			}
			// Admission refuses it. That is no reason to refuse the write.
		}
		out.Unsettled = append(out.Unsettled, record.Key)
	}
	return out, nil
}

// stage returns the update that writes the new status of a quota, or none if the status is
// the same.
func (r reactions) stage(ctx context.Context, by controller, record store.Record, rq *corev1.ResourceQuota) ([]store.Update, error) {
	w := by.write(r.quotas.resource, rq.Namespace, rq.Name)
	w.Subresource, w.Revision = "status", record.Revision
	w.Change = write.Replace{Object: func(v *resource.Version) (resource.Decoded, error) {
		obj, err := judged(v, rq)
		return resource.Decoded{Object: obj}, err
	}}
	entry := r.history.Prepare(ofController(ctx, by, "update", w))
	ctx = r.inform(apirequest.WithUser(history.With(write.Detached(ctx), entry), by.user), w)
	update, err := r.writes.Stage(ctx, w)
	if err != nil || update == nil {
		return nil, err
	}
	text, committed := update.Make, update.Committed
	update.Make = func(revision int64) string {
		r.quotas.exact.advance(record.Key, record.Revision, revision)
		return text(revision)
	}
	update.Committed = func(record store.Record) {
		committed(record)
		tellResult(entry, write.Result{}, nil)
		// An error could only come from the audit trail: the write has been committed.
		_ = r.trail.record(ctx, r.now().Time, by.userAgent(), "update", w, func(context.Context) (write.Result, error) {
			text, err := view.Text(w.Version, record)
			return write.Result{Version: w.Version, Text: text, Object: rq}, err
		})
	}
	return []store.Update{*update}, nil
}

// Quotas implements lifecycle.Server.
func (r reactions) Quotas() *resource.Resource { return r.quotas.resource }

// MeasureQuota implements lifecycle.Server.
func (r reactions) MeasureQuota(rq *corev1.ResourceQuota) (changed bool, again time.Time, err error) {
	changed, err = r.quotas.measured.Measure(rq)
	if err != nil || !r.quotas.measured.LimitsPods(rq) {
		return changed, again, err
	}
	pods, err := r.quotas.Stored(r.catalogue.Load().Resource("", "pods"), rq.Namespace)
	return changed, intree.CountsLess(r.now().Time, pods...), err
}

// QuotaIsExact and ForgetQuota implement lifecycle.Server.
func (r reactions) QuotaIsExact(q store.Record) { r.quotas.exact.set(q.Key, q.Revision) }

func (r reactions) ForgetQuota(c lifecycle.Change) {
	if c.Deleted {
		r.quotas.exact.forget(c.Record.Key)
	}
}

// QuotasLater implements lifecycle.Server.
func (r reactions) QuotasLater(c lifecycle.Change) (keys []string, at time.Time) {
	if c.Deleted || c.Resource.GroupResource() != corev1.Resource("pods") || !isBeingDeleted(c.Record.Value) {
		return nil, at
	}
	list, err := r.store.List(r.quotas.resource.PrefixOf(c.Namespace), store.ListOptions{})
	if err != nil || len(list.Records) == 0 {
		return nil, at
	}
	pod, err := r.memory.Decode(c.Resource.Storage, c.Record)
	if err != nil {
		return nil, at
	}
	if at = intree.CountsLess(r.now().Time, pod.Object); at.IsZero() {
		return nil, at
	}
	for _, record := range list.Records {
		if rq, err := r.quotas.decode(record); err == nil && r.quotas.measured.LimitsPods(rq) {
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
func (r reactions) QuotasConcerned(c lifecycle.Change) ([]string, error) {
	if c.Resource == r.catalogue.definitions {
		return r.quotas.naming("count/" + c.Name)
	}
	updated := !c.Deleted && c.Previous.Revision != 0
	if c.Namespace == "" || !c.Deleted && !(updated && intree.ChangesUsage(c.Resource.GroupResource())) {
		return nil, nil
	}
	list, err := r.store.List(r.quotas.resource.PrefixOf(c.Namespace), store.ListOptions{})
	if err != nil || len(list.Records) == 0 {
		return nil, err
	}
	concerned := func(rq *corev1.ResourceQuota) (bool, error) {
		return r.quotas.measured.Limits(rq, c.Resource.GroupResource()), nil
	}
	if updated {
		v := c.Resource.Storage
		was, err := r.memory.Decode(v, c.Previous)
		if err != nil {
			return nil, err
		}
		is, err := r.memory.Decode(v, c.Record)
		if err != nil {
			return nil, err
		}
		concerned = func(rq *corev1.ResourceQuota) (bool, error) {
			effect, err := r.quotas.measured.Effect(c.Resource.GroupResource(), was.Object, is.Object, rq)
			return effect.Changes, err
		}
	}
	var keys []string
	for _, record := range list.Records {
		rq, err := r.quotas.decode(record)
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
func (q quotas) naming(name string) ([]string, error) {
	list, err := q.store.List(q.resource.Prefix, store.ListOptions{})
	var keys []string
	for _, record := range list.Records {
		if strings.Contains(record.Value, `"`+name+`"`) {
			keys = append(keys, record.Key)
		}
	}
	return keys, err
}
