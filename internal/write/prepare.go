package write

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	registryrest "k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// prepareAndValidateCreate calls the strategy to prepare a new object and to validate it. It follows upstream's
// registry/rest.BeforeCreate, but skips the validation of metadata that MetadataIsValid accepts. For objects that are
// maps, that validation takes as long as the one by the schema.
func (a attempt) prepareAndValidateCreate(created *resource.Decoded) error {
	obj, strategy := created.Object, a.version.Strategy
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	kind, err := statedKind(strategy, obj)
	if err != nil {
		return err
	}
	if err := registryrest.EnsureObjectNamespaceMatchesRequestNamespace(a.request.Namespace, metadata); err != nil {
		return err
	}
	isValid := a.version.MetadataIsValid != nil && a.version.MetadataIsValid(obj, nil)
	if a.version.Informed != nil {
		strategy = a.version.Informed(resource.Informed{Facts: &created.Facts, ValidMetadata: isValid})
	}
	if !isValid {
		return registryrest.BeforeCreate(strategy, a.ctx, obj)
	}
	strategy.PrepareForCreate(a.ctx, obj)
	if errs := strategy.Validate(a.ctx, obj); len(errs) > 0 {
		return apierrors.NewInvalid(kind, metadata.GetName(), errs)
	}
	for _, text := range strategy.WarningsOnCreate(a.ctx, obj) {
		warning.AddWarning(a.ctx, "", text)
	}
	strategy.Canonicalize(obj)
	return nil
}

// prepareAndValidateUpdate restores metadata that clients cannot change, and calls the strategy to prepare the object
// and to validate it. It follows upstream's registry/rest.BeforeUpdate, but skips the validation of metadata that
// MetadataIsValid accepts.
func (a attempt) prepareAndValidateUpdate(updated *resource.Decoded, from resource.Decoded) error {
	obj, current := updated.Object, from.Object
	isValid := a.version.MetadataIsValid != nil && a.version.MetadataIsValid(obj, current)
	strategy := a.informedStrategy(resource.Informed{Facts: &updated.Facts, Former: from.Facts, ValidMetadata: isValid})
	if !isValid {
		return registryrest.BeforeUpdate(strategy, a.ctx, obj, current)
	}
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	before, err := meta.Accessor(current)
	if err != nil {
		return err
	}
	kind, err := statedKind(strategy, obj)
	if err != nil {
		return err
	}
	metadata.SetGeneration(before.GetGeneration())
	strategy.PrepareForUpdate(a.ctx, obj, current)
	if errs := strategy.ValidateUpdate(a.ctx, obj, current); len(errs) > 0 {
		return apierrors.NewInvalid(kind, metadata.GetName(), errs)
	}
	for _, text := range strategy.WarningsOnUpdate(a.ctx, obj, current) {
		warning.AddWarning(a.ctx, "", text)
	}
	strategy.Canonicalize(obj)
	return nil
}

// updateStrategy returns the strategy of the object, or of the subresource that is updated.
func (a attempt) updateStrategy() registryrest.RESTUpdateStrategy {
	if a.request.Subresource == "" {
		return a.version.Strategy
	}
	return a.version.Subresource[a.request.Subresource].Strategy
}

// informedStrategy returns the updateStrategy with the facts about the objects.
func (a attempt) informedStrategy(informed resource.Informed) registryrest.RESTUpdateStrategy {
	if a.request.Subresource == "" && a.version.Informed != nil {
		return a.version.Informed(informed)
	}
	if s := a.version.Subresource[a.request.Subresource]; s != nil && s.Informed != nil {
		return s.Informed(informed)
	}
	return a.updateStrategy()
}

// statedKind returns the kind in an object before its strategy prepares it. Validation errors have this kind. It fails
// for an object without a kind.
func statedKind(typer runtime.ObjectTyper, obj runtime.Object) (schema.GroupKind, error) {
	kinds, _, err := typer.ObjectKinds(obj)
	if err != nil {
		return schema.GroupKind{}, apierrors.NewInternalError(err)
	}
	return kinds[0].GroupKind(), nil
}
