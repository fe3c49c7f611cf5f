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
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	registryrest "k8s.io/apiserver/pkg/registry/rest"

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
	// Activity counts the writes of Run; nil: they are not counted.
	Activity *Activity
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

// Run carries out a write for a server. It tries again if another write came first:
//
//   - The object was changed, deleted or created since it was read: the next attempt reads it again. So an apply, or an
//     update that may create, can become a create and an update again.
//   - The definition of its kind or its namespace has changed: the next attempt uses the newest registry. If the kind
//     is no longer served, Run fails with ErrNotServed.
//   - The updated object is too large for etcd: the next attempt stores it without its
//     managedFields, unless the write is an apply, which needs them.
//
// In the first two cases another write has succeeded. Run stops trying when the context ends, with its error, or after
// maxAttempts. A request with a Revision is tried once: in the first two cases Run fails with ErrObsolete.
func (p *Pipeline) Run(ctx context.Context, s Server, r *Request) (Result, error) {
	p.Activity.Begin()
	defer p.Activity.End()
	return p.execute(ctx, &execution{request: r, server: s})
}

// execute makes attempts at a write, as Run says.
func (p *Pipeline) execute(ctx context.Context, e *execution) (Result, error) {
	r := e.request
	if namespace, ok := apirequest.NamespaceFrom(ctx); !ok || namespace != r.Namespace {
		ctx = apirequest.WithNamespace(ctx, r.Namespace)
	}
	version, unmanaged := r.Version, false
	for range maxAttempts {
		a := p.attempt(ctx, r, version)
		a.execution, a.unmanaged = e, unmanaged
		result, err := a.run()
		var tooLarge *tooLargeError
		switch {
		case err == nil:
			result.Version = version
			return result, nil
		case errors.As(err, &tooLarge) && !unmanaged && r.mayLeaveFields():
			unmanaged = true
		case !isObsolete(err):
			return Result{}, err
		case ctx.Err() != nil:
			return Result{}, ctx.Err()
		case r.Revision != 0:
			conflict := apierrors.NewConflict(version.Resource.GroupResource(), r.Name, errModified)
			return Result{}, fmt.Errorf("%w: %w", ErrObsolete, conflict)
		case isOutdated(err):
			if version, err = p.renew(version, r); err != nil {
				return Result{}, err
			}
		}
	}
	return Result{}, errOvertaken
}

// attempt is one attempt at a write: the request with everything that it depends on. It is passed by value, so a stage
// cannot change what its caller sees. Of a write, two fields are set later: receive
// takes the name from the object in the body, if the request does not have one, and run copies the options of a delete.
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
