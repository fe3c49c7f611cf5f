package rest

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	registryrest "k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
)

// beforeCreate lets the strategy prepare a new object, and validates it. It is
// upstream's registry/rest.BeforeCreate, but for metadata that the strategy
// knows to be valid: on maps, validating it takes as long as the schema does.
func (w *write) beforeCreate(obj runtime.Object) error {
	strategy := w.version.Strategy
	if isValid := w.version.MetadataIsValid; isValid == nil || !isValid(obj, nil) {
		return registryrest.BeforeCreate(strategy, w.ctx, obj)
	}
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	strategy.PrepareForCreate(w.ctx, obj)
	if errs := strategy.Validate(w.ctx, obj); len(errs) > 0 {
		return invalid(strategy, obj, metadata.GetName(), errs)
	}
	for _, text := range strategy.WarningsOnCreate(w.ctx, obj) {
		warning.AddWarning(w.ctx, "", text)
	}
	strategy.Canonicalize(obj)
	return nil
}

// beforeUpdate sets what the server keeps itself, lets the strategy prepare the
// object, and validates it. It is upstream's registry/rest.BeforeUpdate, but for
// metadata that the strategy knows to be valid.
func (w *write) beforeUpdate(obj, old runtime.Object) error {
	strategy := w.strategy()
	if isValid := w.version.MetadataIsValid; isValid == nil || !isValid(obj, old) {
		return registryrest.BeforeUpdate(strategy, w.ctx, obj, old)
	}
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	was, err := meta.Accessor(old)
	if err != nil {
		return err
	}
	metadata.SetGeneration(was.GetGeneration())
	strategy.PrepareForUpdate(w.ctx, obj, old)
	if errs := strategy.ValidateUpdate(w.ctx, obj, old); len(errs) > 0 {
		return invalid(strategy, obj, metadata.GetName(), errs)
	}
	for _, text := range strategy.WarningsOnUpdate(w.ctx, obj, old) {
		warning.AddWarning(w.ctx, "", text)
	}
	strategy.Canonicalize(obj)
	return nil
}

// invalid is the refusal of an object under the kind that it says it is.
func invalid(typer runtime.ObjectTyper, obj runtime.Object, name string, errs field.ErrorList) error {
	kinds, _, err := typer.ObjectKinds(obj)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	return apierrors.NewInvalid(kinds[0].GroupKind(), name, errs)
}
