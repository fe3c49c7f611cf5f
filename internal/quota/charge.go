package quota

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	quotaapi "k8s.io/apiserver/pkg/admission/plugin/resourcequota/apis/resourcequota"

	"github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/write"
	"github.com/fakecluster/fakecluster/store"
)

// Options configures New.
type Options struct {
	Cluster admission.Cluster
	Store   *store.Store
	Memory  *resource.Memory
	// Resource is the resource of ResourceQuotas.
	Resource *resource.Resource
	// Limited are the resources that may not be used without a quota.
	Limited []quotaapi.LimitedResource
}

// Quotas are the ResourceQuotas of a server. They are safe for concurrent use.
type Quotas struct {
	Options
	evaluators
	exact *exact
}

// New returns the quotas of a server.
func New(o Options) *Quotas {
	return &Quotas{o, evaluators{o.Cluster, o.Store, o.Memory, o.Limited}, &exact{revisions: map[string]int64{}}}
}

// Stager prepares the updates of quotas that commit together with a write.
type Stager interface {
	// ReleasesQuotas reports whether the controller of quotas acts, so that quotas get back what is no longer used.
	ReleasesQuotas() bool
	// StageQuota prepares the update of a quota's status, which commits together with another write; nil: the status stays
	// the same. The request has no field manager. The server itself makes a charge, as the plugin does, and the
	// controller of quotas makes a release.
	StageQuota(ctx context.Context, release bool, w write.Request, rq *corev1.ResourceQuota) (*store.Update, error)
}

// Charge evaluates a write by the quotas of its namespace, and returns their changes, which by prepares.
func (q *Quotas) Charge(ctx context.Context, by Stager, u write.Use) (write.Charge, error) {
	c := write.Charge{Keys: q.Resource.PrefixOf(u.Namespace)}
	list, err := q.Store.List(c.Keys, store.ListOptions{})
	if err != nil {
		return c, err
	}
	if len(list.Records) > 0 || len(q.Limited) > 0 {
		if err := q.charge(ctx, by, u, list.Records, &c); err != nil {
			return c, err
		}
	}
	isUpdate := u.New != nil && u.Old.Revision != 0
	if !isUpdate || len(c.Before) > 0 || changesUsage(u.Resource.GroupResource()) {
		// The controller that measures quotas relies on this: a quota with a limit was charged for every object created
		// since, and changed for every object deleted since.
		c.Require = []store.Precondition{{Key: c.Keys, Revision: list.Revision, Prefix: true}}
	}
	return c, nil
}

// charge charges the quotas with the records, and releases what a write no longer uses of them.
func (q *Quotas) charge(ctx context.Context, by Stager, u write.Use, records []store.Record, c *write.Charge) error {
	quotas := make([]corev1.ResourceQuota, len(records))
	for i, record := range records {
		rq, err := q.decode(record)
		if err != nil {
			return err
		}
		quotas[i] = *rq
	}
	charged := map[string]*corev1.ResourceQuota{}
	if u.Attributes != nil {
		attributes := u.Attributes()
		after, err := q.evaluators.charge(attributes, quotas)
		if err != nil || attributes.IsDryRun() {
			return err
		}
		for i := range after {
			charged[after[i].Name] = &after[i]
		}
		for i := range quotas {
			if rq := charged[quotas[i].Name]; rq != nil {
				// On a real server the server sends a request to itself, and admission sees it.
				update, err := q.stage(ctx, by, false, records[i], rq)
				if err != nil {
					return err
				}
				c.Before = append(c.Before, update...)
			}
		}
	}
	resource := u.Resource.GroupResource()
	if !by.ReleasesQuotas() || u.Old.Revision == 0 || u.New != nil && !changesUsage(resource) {
		return nil
	}
	var before runtime.Object
	if changesUsage(resource) {
		decoded, err := q.Memory.Decode(u.Resource.Storage, u.Old)
		if err != nil {
			return err
		}
		before = decoded.Object
	}
	for i := range quotas {
		rq, record := &quotas[i], records[i]
		if record.Key == u.Old.Key {
			continue // it is the object itself
		}
		effect, err := q.effect(resource, before, u.New, rq)
		if err != nil {
			return err
		}
		isCharged := charged[rq.Name]
		switch {
		case !effect.Changes, isCharged != nil && effect.Exact && sameUse(isCharged.Status.Used, effect.Used):
			continue
		case isCharged == nil && effect.Exact && q.exact.has(record.Key, record.Revision):
			rq.Status.Used = effect.Used
			update, err := q.stage(ctx, by, true, record, rq)
			if errors.Is(err, write.ErrObsolete) || ctx.Err() != nil {
				return err
			}
			if err == nil {
				c.After = append(c.After, update...)
				continue
			}
			// Admission rejects the release. That is no reason to reject the write.
		}
		c.Unmeasured = append(c.Unmeasured, record.Key)
	}
	return nil
}

// stage returns the update that writes the new status of a quota, or none if the status is
// the same.
func (q *Quotas) stage(ctx context.Context, by Stager, release bool, record store.Record, rq *corev1.ResourceQuota) ([]store.Update, error) {
	update, err := by.StageQuota(ctx, release, write.Request{
		Version: q.Resource.Storage, Namespace: rq.Namespace, Name: rq.Name, Subresource: "status", Revision: record.Revision,
		Change: write.Replace{Object: write.Made(func(v *resource.Version) (resource.Decoded, error) {
			obj, err := v.Internal(rq)
			return resource.Decoded{Object: obj}, err
		})},
	}, rq)
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

// decode returns a copy of a quota, in the type that clients see.
func (q *Quotas) decode(record store.Record) (*corev1.ResourceQuota, error) {
	v := q.Resource.Storage
	current, err := q.Memory.Decode(v, record)
	if err != nil {
		return nil, err
	}
	obj, err := v.External(current.Object)
	if err != nil {
		return nil, err
	}
	return obj.DeepCopyObject().(*corev1.ResourceQuota), nil
}
