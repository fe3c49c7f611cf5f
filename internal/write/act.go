package write

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	registryrest "k8s.io/apiserver/pkg/registry/rest"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// Act carries out an action with the object that was sent, which it alters. The stages before
// the action are those of a create.
func (p *Pipeline) Act(ctx context.Context, r Request, action *resource.Action, obj runtime.Object) (runtime.Object, error) {
	a := p.attempt(apirequest.WithNamespace(ctx, r.Namespace), &r, r.Version)
	a.view = action.View
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if a.name == "" {
		a.name = metadata.GetName()
	}
	if !action.KeepsMetadata {
		registryrest.WipeObjectMetaSystemFields(metadata)
	}
	if err := registryrest.EnsureObjectNamespaceMatchesRequestNamespace(r.Namespace, metadata); err != nil {
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
	validate := func(_ context.Context, obj runtime.Object) error {
		return a.validatingAdmission(admission.Create, &resource.Decoded{Object: obj}, nil, admitted)
	}
	return action.Do(a.ctx, a.name, obj, validate, a.operationOptions(admission.Create).(*metav1.CreateOptions))
}

// Connect asks admission about a connection with the options, which are of the view's kind.
func (p *Pipeline) Connect(ctx context.Context, r Request, view *resource.Version, options runtime.Object) error {
	a := p.attempt(ctx, &r, r.Version)
	if a.chain.Skips(a.version.Resource) {
		return nil
	}
	a.view = view
	asked := a.asked(admission.Connect, options, nil)
	if err := a.chain.Mutate(a.ctx, asked); err != nil {
		return err
	}
	return a.chain.Validate(a.ctx, a.asked(admission.Connect, options, nil))
}
