package write

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	registryrest "k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"

	restadmission "github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/observe"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// Pipeline carries out writes. It is safe for concurrent use. Its fields must not change.
type Pipeline struct {
	Store *store.Store
	// Memory has decoded objects of the store.
	Memory *resource.Memory
	// Now is the clock for the times of objects.
	Now    func() metav1.Time
	Random *Random
	// Namespaces is the resource of Namespaces.
	Namespaces *resource.Resource
	// WithoutNamespaceLifecycle lets objects be written into namespaces that do not
	// exist or are being deleted.
	WithoutNamespaceLifecycle bool

	// Registry returns the served kinds, up to date with the definitions in the store.
	Registry func() (*resource.Registry, error)
	// Chain returns the current admission chain: plugins, policies, webhooks and functions.
	Chain func() *restadmission.Chain
	// Cluster reads the state of the cluster for admission.
	Cluster restadmission.Cluster
	// MayCreate rejects an update or an apply that would create an object if the user may not create it; nil: all users
	// may.
	MayCreate func(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) error
}

// Server is what the pipeline calls around the commit of a write. It may write through the same pipeline: so it is an
// argument of each write, and a pipeline is complete before there is a server.
type Server interface {
	// Charge evaluates a write by the quotas of its namespace, and returns the changes of the quotas.
	Charge(ctx context.Context, u Use) (Charge, error)
	// Committed is called after each commit, before the write returns, with a context that the client does not cancel.
	Committed(ctx context.Context, c Commit)
}

// execution is what the attempts at a write share.
type execution struct {
	request *Request
	server  Server
	// stage receives an update in place of the store; nil: the store commits it.
	stage func(store.Update)
	// marked has the object after an attempt has set its deletionTimestamp without a grace period.
	marked Result
}

// attempt is one attempt at a write: the request with everything that it depends on. It is passed by value, so a stage
// cannot change what its caller sees. Two fields are set later: receive takes the name from the object in the body, if
// the request does not have one, and run copies the options of a delete.
type attempt struct {
	p       *Pipeline
	request *Request
	// execution is that of the write; nil: nothing is written, as in Act, Review and Connect.
	execution *execution
	ctx       context.Context
	chain     *restadmission.Chain
	version   *resource.Version
	// projection shows the object as another kind at the subresource that is written; nil:
	// the subresource shows the object itself.
	projection resource.Projection
	// view is the kind of the body if that is not the kind of the object (see Act and Connect);
	// or nil.
	view *resource.Version
	// name is the object's name as admission sees it; empty if the server has not
	// generated it yet.
	name string
	// unmanaged: the object is stored without its managedFields, because it is too large with them.
	unmanaged bool
	// deletion has the options of a delete after the kind has changed them: admission sees the grace period of a Pod.
	deletion *metav1.DeleteOptions
	// observe gets the reports of the stages.
	observe *observe.Write
}

func (p *Pipeline) attempt(ctx context.Context, r *Request, v *resource.Version) attempt {
	a := attempt{p: p, request: r, ctx: ctx, chain: p.Chain(), version: v, name: r.Name,
		observe: observe.From(ctx).Write(v, r.Subresource, r.isDryRun())}
	if r.SkipAdmission {
		a.chain = &restadmission.Chain{}
	}
	if s := v.Subresource[r.Subresource]; s != nil {
		a.projection = s.Projection
	}
	return a
}

// run makes the attempt.
func (a attempt) run() (Result, error) {
	a.observe.Attempt(a.request.Manager)
	switch change := a.request.Change.(type) {
	case Create:
		obj, err := change.Object.in(a.ctx, a.request, a.version)
		if err != nil {
			return Result{}, err
		}
		return a.createNew(obj)
	case Delete:
		a.deletion = change.Options.DeepCopy()
		return a.remove()
	case Replace:
		return a.replace(change)
	case Patch:
		return a.update(edit{
			change: func(shown resource.Decoded) (resource.Decoded, bool, error) { return a.patch(change, shown) },
			owners: afterAdmission, // as a real server does for a patch
		})
	case Apply:
		return a.update(edit{
			change: func(shown resource.Decoded) (resource.Decoded, bool, error) { return a.apply(change, shown) },
			create: a.appliedNew(change),
			owners: afterAdmission,
		})
	case Put:
		return a.putDirectly(change)
	case Drop:
		return a.dropDirectly(change)
	}
	return Result{}, fmt.Errorf("unknown type of a change: %T", a.request.Change)
}

// inTime returns an error if the context has ended. The write calls it between stages that do not check the context; the
// time of such a stage is bounded by the size of the object.
func (a attempt) inTime() error { return a.ctx.Err() }

// newObject is an object to create.
type newObject struct {
	resource.Decoded
	// managed: the managedFields of the object already include this write.
	managed bool
	// owners is the text in the warning about duplicate ownerReferences.
	owners string
	// updates: the request is an update or an apply. The object is stored under the name of the request, even if
	// admission changes its name, and may have a resourceVersion. Metadata that a client cannot set is removed only
	// after admission.
	updates bool
}

// receive removes metadata that a client cannot set from the object of the request, unless keepsMetadata is true. It
// sets an empty namespace to that of the request, and fails for any other namespace.
func (a *attempt) receive(obj runtime.Object, keepsMetadata bool) (metav1.Object, error) {
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if a.name == "" {
		a.name = metadata.GetName()
	}
	if !keepsMetadata {
		registryrest.WipeObjectMetaSystemFields(metadata)
	}
	return metadata, registryrest.EnsureObjectNamespaceMatchesRequestNamespace(a.request.Namespace, metadata)
}

// create carries out the create of an object. It alters the object.
func (a attempt) create(n newObject) (Result, error) {
	require, err := a.admitNew(&n)
	if err != nil {
		return Result{}, err
	}
	return a.storeNew(n, require)
}

// admitNew is the first half of a create, up to mutating admission. It alters the object, and returns the conditions for
// the commit.
func (a *attempt) admitNew(n *newObject) (require []store.Precondition, err error) {
	// Its size, and the metadata that a client cannot set.
	if err := a.isBounded(n.Object); err != nil {
		return nil, err
	}
	metadata, err := a.receiveNew(*n)
	if err != nil {
		return nil, err
	}
	if n.owners == beforeAdmission {
		dropDuplicateOwners(a.ctx, metadata, beforeAdmission)
	}

	// Field management.
	if !n.managed {
		if n.Decoded, err = a.manageFields(n.Decoded, resource.Decoded{}); err != nil {
			return nil, err
		}
		if metadata, err = meta.Accessor(n.Object); err != nil {
			return nil, apierrors.NewInternalError(err)
		}
	}
	if err := a.inTime(); err != nil {
		return nil, err
	}

	// Mutating admission, and whether the user may grant what the object grants.
	admitted, err := a.mutatingAdmission(admission.Create, n.Object, nil)
	if err != nil {
		return nil, err
	}
	if n.owners == afterAdmission || admitted.replaced {
		dropDuplicateOwners(a.ctx, metadata, afterAdmission)
	}
	if a.unmanaged {
		metadata.SetManagedFields(nil)
	}
	if admitted.replaced {
		n.Decoded = resource.Decoded{Object: n.Object}
	}
	return admitted.require, a.mayWrite(n.Object, nil)
}

// storeNew is the second half of a create. It alters the object.
func (a attempt) storeNew(n newObject, require []store.Precondition) (result Result, err error) {
	metadata, err := meta.Accessor(n.Object)
	if err != nil {
		return Result{}, apierrors.NewInternalError(err)
	}

	// The metadata that the server sets.
	if err := a.fillMetadata(metadata, n); err != nil {
		return Result{}, err
	}

	// Allocation of cluster-wide values, then the kind's strategy, which prepares and validates the object.
	committed := false
	a.observe.Preparing(n.Object)
	done, err := a.allocate(n.Object, nil)
	if err != nil {
		return Result{}, err
	}
	defer func() { done(committed) }()
	err = a.prepareAndValidateCreate(&n.Decoded)
	a.observe.Prepared(a.ctx, n.Object, nil, err)
	if err != nil {
		return Result{}, err
	}
	if n.updates {
		if err := a.mayCreate(); err != nil {
			return Result{}, err
		}
	}

	// Validating admission.
	if err := a.validatingAdmission(admission.Create, n.Object, nil); err != nil {
		return Result{}, err
	}
	if err := a.inTime(); err != nil {
		return Result{}, err
	}

	// The commit. The storage of a real server rejects a resourceVersion, and a dry run does not
	// reach it.
	name := a.request.Name
	if !n.updates {
		name = metadata.GetName()
		if revision, err := (storage.APIObjectVersioner{}).ObjectResourceVersion(n.Object); err == nil && revision != 0 && !a.request.isDryRun() {
			return Result{}, storage.ErrResourceVersionSetOnCreate
		}
	}
	a.observe.Changed(n.Object, nil)
	result, err = a.commitCreate(name, n.Decoded, require)
	committed = err == nil
	return result, err
}

// edit describes how an update changes an object.
type edit struct {
	// uid is the uid that the current object must have; empty: any.
	uid types.UID
	// change returns the wanted object for the current one, in the kind that the write shows. It must not alter the
	// current one. managed is as in newObject.
	change func(shown resource.Decoded) (wanted resource.Decoded, managed bool, err error)
	// create returns the object to create if none exists; nil: the update then fails.
	create func() (newObject, error)
	// owners is the text in the warning about duplicate ownerReferences of the wanted object. A Replace drops them
	// before the update begins.
	owners string
}

// update applies an edit to the current object, and commits the result.
func (a attempt) update(e edit) (Result, error) {
	// The current object, and the wanted one.
	record, current, err := a.load()
	if errors.Is(err, store.ErrNotFound) {
		return a.updateNothing(e, err)
	}
	if err != nil {
		return Result{}, err
	}
	if err := a.checkUID(e.uid, current.Object); err != nil {
		return Result{}, err
	}
	shown, err := a.project(current)
	if err != nil {
		return Result{}, err
	}
	wanted, managed, err := e.change(shown)
	if err != nil {
		return Result{}, err
	}
	if err := a.isBounded(wanted.Object); err != nil {
		return Result{}, err
	}

	// Field management.
	if !managed {
		if wanted, err = a.manageFields(wanted, shown); err != nil {
			return Result{}, err
		}
	}
	if err := a.inTime(); err != nil {
		return Result{}, err
	}

	// Mutating admission, whether the user may grant what the object grants, and the
	// resourceVersion that the request names.
	admitted, err := a.mutatingAdmission(admission.Update, wanted.Object, shown.Object)
	if err != nil {
		return Result{}, err
	}
	if e.owners == afterAdmission || admitted.replaced {
		if err := dropDuplicateOwnersOf(a.ctx, wanted.Object, afterAdmission); err != nil {
			return Result{}, err
		}
	}
	if a.unmanaged {
		metadata, err := meta.Accessor(wanted.Object)
		if err != nil {
			return Result{}, apierrors.NewInternalError(err)
		}
		metadata.SetManagedFields(nil)
	}
	if admitted.replaced {
		wanted = resource.Decoded{Object: wanted.Object}
	}
	obj, err := a.unproject(current, wanted)
	if err != nil {
		return Result{}, err
	}
	if err := a.mayWrite(obj.Object, current.Object); err != nil {
		return Result{}, err
	}
	if err := a.checkResourceVersion(obj.Object, record); err != nil {
		return Result{}, err
	}

	// Allocation of cluster-wide values, then the kind's strategy, which prepares and validates the object.
	committed := false
	a.observe.Preparing(obj.Object)
	done, err := a.allocate(obj.Object, current.Object)
	if err != nil {
		return Result{}, err
	}
	defer func() { done(committed) }()
	err = a.prepareAndValidateUpdate(&obj, current)
	a.observe.Prepared(a.ctx, obj.Object, current.Object, err)
	if err != nil {
		return Result{}, err
	}
	if obj.Object, err = a.keepTimestamps(obj.Object, current.Object); err != nil {
		return Result{}, err
	}

	// Validating admission.
	if err := a.validatingAdmission(admission.Update, obj.Object, current.Object); err != nil {
		return Result{}, err
	}
	if err := a.inTime(); err != nil {
		return Result{}, err
	}

	// The commit. It is a delete if the update removes the last finalizer of an object that is being deleted.
	a.observe.Changed(obj.Object, current.Object)
	if a.completesDeletion(obj.Object, current.Object) {
		return a.commitDelete(record, obj.Object, admitted.require)
	}
	stored, err := a.put(record, obj, current.Object, admitted.require)
	committed = err == nil
	return a.resultOf(stored, obj.Object, err)
}
