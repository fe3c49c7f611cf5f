package write

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// Act carries out an action with the object of the request. The stages before the action are those of a create.
func (p *Pipeline) Act(ctx context.Context, r *Request, action *resource.Action, sent *Sent) (runtime.Object, error) {
	decoded, err := sent.decode(ctx, r, action.View, action.Accepts...)
	if err != nil {
		return nil, err
	}
	obj := decoded.Object
	a := p.attempt(apirequest.WithNamespace(ctx, r.Namespace), r, r.Version)
	a.view = action.View
	metadata, err := a.receive(obj, action.KeepsMetadata)
	if err != nil {
		return nil, err
	}
	dropDuplicateOwners(a.ctx, metadata, beforeAdmission)
	managed, err := a.manageFields(resource.Decoded{Object: obj}, resource.Decoded{})
	if err != nil {
		return nil, err
	}
	obj = managed.Object
	admitted, err := a.mutatingAdmission(admission.Create, obj, nil)
	if err != nil {
		return nil, err
	}
	if admitted.replaced {
		if err := dropDuplicateOwnersOf(a.ctx, obj, afterAdmission); err != nil {
			return nil, err
		}
	}
	validate := func(_ context.Context, obj runtime.Object) error {
		return a.validatingAdmission(admission.Create, obj, nil)
	}
	name := a.name
	if r.Subresource == "" { // the name is not in the path, and admission may have changed it
		if metadata, err = meta.Accessor(obj); err != nil {
			return nil, apierrors.NewInternalError(err)
		}
		name = metadata.GetName()
	}
	return action.Do(a.ctx, name, obj, validate, a.operationOptions(admission.Create).(*metav1.CreateOptions))
}

// Review returns the answer to the object of the request, such as a SubjectAccessReview. Nothing is stored. Of admission
// only webhooks are called, and only if the emulated release does so.
func (p *Pipeline) Review(ctx context.Context, r *Request, sent *Sent) (runtime.Object, error) {
	decoded, err := sent.decode(ctx, r, r.Version)
	if err != nil {
		return nil, err
	}
	obj := decoded.Object
	a := p.attempt(apirequest.WithNamespace(ctx, r.Namespace), r, r.Version)
	metadata, err := a.receive(obj, false)
	if err != nil {
		return nil, err
	}
	dropDuplicateOwners(a.ctx, metadata, beforeAdmission)
	managed, err := a.manageFields(resource.Decoded{Object: obj}, resource.Decoded{})
	if err != nil {
		return nil, err
	}
	a.chain = a.chain.ForReviews()
	if _, err := a.mutate(admission.Create, managed.Object, nil); err != nil {
		return nil, err
	}
	return a.version.Unstored.Review(a.ctx, managed.Object, func(_ context.Context, obj runtime.Object) error {
		return a.validateByChain(admission.Create, obj, nil)
	})
}

// Connect calls admission for a connection. options are of the kind of view.
func (p *Pipeline) Connect(ctx context.Context, r *Request, view *resource.Version, options runtime.Object) error {
	a := p.attempt(ctx, r, r.Version)
	if a.chain.Skips(a.version.Resource) {
		return nil
	}
	a.view = view
	w := a.admissionWrite(admission.Connect, options, nil)
	if err := a.chain.Mutate(a.ctx, w); err != nil {
		return err
	}
	return a.chain.Validate(a.ctx, a.admissionWrite(admission.Connect, options, nil))
}
