package rest

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	restadmission "github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/admission/intree"
	"github.com/fakecluster/fakecluster/internal/lifecycle"
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
}

func newQuotas(c cluster, all []*resource.Resource) quotas {
	q := quotas{cluster: c}
	for _, res := range all {
		if res.GroupResource() == corev1.Resource("resourcequotas") {
			q.resource = res
		}
	}
	q.measured = intree.NewQuotas(q)
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

// Charge is write.Quotas.Charge.
func (r reactions) Charge(ctx context.Context, w *restadmission.Write, records []store.Record) ([]store.Update, error) {
	all := make([]corev1.ResourceQuota, len(records))
	of := map[string]store.Record{}
	for i, record := range records {
		rq, err := r.quotas.decode(record)
		if err != nil {
			return nil, err
		}
		all[i], of[rq.Name] = *rq, record
	}
	charged, err := r.quotas.measured.Charge(w, all)
	if err != nil || w.IsDryRun() {
		return nil, err
	}
	var updates []store.Update
	for i := range charged {
		update, err := r.stageCharge(ctx, of[charged[i].Name], &charged[i])
		if err != nil {
			return nil, err
		}
		if update != nil {
			updates = append(updates, *update)
		}
	}
	return updates, nil
}

// stageCharge makes the update that writes the new status of a quota. On a real server it
// is a request that the server sends to itself, and admission judges it.
func (r reactions) stageCharge(ctx context.Context, record store.Record, rq *corev1.ResourceQuota) (*store.Update, error) {
	w := apiServer.write(r.quotas.resource, rq.Namespace, rq.Name)
	w.Subresource, w.Revision = "status", record.Revision
	w.Change = write.Replace{Object: func(v *resource.Version) (resource.Decoded, error) {
		obj, err := judged(v, rq)
		return resource.Decoded{Object: obj}, err
	}}
	ctx = r.inform(apirequest.WithUser(write.Detached(ctx), apiServer.user), w)
	update, err := r.writes.Stage(ctx, w)
	if err != nil || update == nil {
		return update, err
	}
	committed := update.Committed
	update.Committed = func(record store.Record) {
		committed(record)
		// An error could only come from the audit trail: the write has been committed.
		_ = r.trail.record(ctx, r.now().Time, apiServer.userAgent(), "update", w, func(context.Context) (write.Result, error) {
			text, err := view.Text(w.Version, record)
			return write.Result{Version: w.Version, Text: text, Object: rq}, err
		})
	}
	return update, nil
}

// Quotas implements lifecycle.Server.
func (r reactions) Quotas() *resource.Resource { return r.quotas.resource }

// MeasureQuota implements lifecycle.Server.
func (r reactions) MeasureQuota(rq *corev1.ResourceQuota) (changed bool, err error) {
	return r.quotas.measured.Measure(rq)
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
	var was, is runtime.Object
	if updated {
		v := c.Resource.Storage
		before, err := r.memory.Decode(v, c.Previous)
		if err != nil {
			return nil, err
		}
		after, err := r.memory.Decode(v, c.Record)
		if err != nil {
			return nil, err
		}
		was, is = before.Object, after.Object
	}
	var keys []string
	for _, record := range list.Records {
		rq, err := r.quotas.decode(record)
		if err != nil {
			return keys, err
		}
		concerned, err := r.quotas.measured.Concerns(c.Resource.GroupResource(), was, is, rq)
		if err != nil {
			return keys, err
		}
		if concerned {
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
