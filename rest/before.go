package rest

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	registryrest "k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"

	"github.com/fakecluster/fakecluster/rest/resource"
)

// beforeUpdate sets what the server keeps itself, lets the strategy prepare the
// object, and validates it.
//
// It is upstream's registry/rest.BeforeUpdate but for one thing: metadata that
// the strategy knows to be unchanged is not validated again. On maps that takes
// as long as the schema does.
func (w *write) beforeUpdate(obj, old runtime.Object) error {
	strategy := w.strategy()
	if s, ok := strategy.(resource.MetadataStrategy); !ok || !s.MetadataUnchanged(obj, old) {
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
		return apierrors.NewInvalid(w.version.Resource.GroupKind(), metadata.GetName(), errs)
	}
	for _, text := range strategy.WarningsOnUpdate(w.ctx, obj, old) {
		warning.AddWarning(w.ctx, "", text)
	}
	strategy.Canonicalize(obj)
	return nil
}
