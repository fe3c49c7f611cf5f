package builtin

import (
	"context"

	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	registryrest "k8s.io/apiserver/pkg/registry/rest"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// declaredRules checks the declarative validation rules on the Go types of a kind, in one write. For an update upstream
// copies both objects, and the rules compare them again at each level. declaredRules passes an old object that shares
// equal parts with the new one, so that most comparisons end at once. If an object breaks a rule, upstream checks it
// again and returns the errors.
type declaredRules struct {
	registryrest.DeclarativeValidationStrategy
	scheme *runtime.Scheme
	old    runtime.Object // set by ValidateUpdate; nil: a create
}

// ValidateDeclaratively implements registryrest.DeclarativeValidationStrategy.
func (d *declaredRules) ValidateDeclaratively(ctx context.Context, obj, old runtime.Object, errs field.ErrorList, op operation.Type,
	config registryrest.DeclarativeValidationConfig) field.ErrorList {
	if len(errs) == 0 && d.passes(ctx, obj, op, config) {
		return nil
	}
	return d.DeclarativeValidationStrategy.ValidateDeclaratively(ctx, obj, old, errs, op, config)
}

// passes reports whether an object passes all declarative rules of its type in the version of the request. It may return
// false for an object that does.
func (d *declaredRules) passes(ctx context.Context, obj runtime.Object, op operation.Type, config registryrest.DeclarativeValidationConfig) (ok bool) {
	info, found := apirequest.RequestInfoFrom(ctx)
	if !found || config.SubresourceGVKMapper != nil || op != operation.Create && d.old == nil {
		return false
	}
	defer func() { // upstream turns a panic into an error
		if recover() != nil {
			ok = false
		}
	}()
	var subresources []string
	if info.Subresource != "" {
		subresources = []string{info.Subresource}
	}
	version := schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
	objects := runtime.UnsafeObjectConvertor(d.scheme)
	shown, err := objects.ConvertToVersion(obj, version)
	if err != nil {
		return false
	}
	if op == operation.Create {
		return len(d.scheme.Validate(ctx, config.Options, shown, subresources...)) == 0
	}
	former, err := objects.ConvertToVersion(d.old, version)
	if err != nil {
		return false
	}
	former = resource.Sharing(former, shown) // the conversion has copied parts
	return len(d.scheme.ValidateUpdate(ctx, config.Options, shown, former, subresources...)) == 0
}

// declared is the strategy of a kind with declarative rules, for one write.
type declared struct {
	resource.Strategy
	*declaredRules
}

// ValidateUpdate implements registryrest.RESTUpdateStrategy.
func (d declared) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	d.old = resource.Sharing(old, obj)
	return d.Strategy.ValidateUpdate(ctx, obj, d.old)
}

// declaredOfSubresource is declared for a subresource.
type declaredOfSubresource struct {
	registryrest.RESTUpdateStrategy
	*declaredRules
}

// ValidateUpdate implements registryrest.RESTUpdateStrategy.
func (d declaredOfSubresource) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	d.old = resource.Sharing(old, obj)
	return d.RESTUpdateStrategy.ValidateUpdate(ctx, obj, d.old)
}

// informed returns a function that returns the strategy of a kind for one write; nil: the kind has no declarative rules.
func informed(scheme *runtime.Scheme, s resource.Strategy) func(resource.Informed) resource.Strategy {
	rules, ok := s.(registryrest.DeclarativeValidationStrategy)
	if !ok {
		return nil
	}
	return func(resource.Informed) resource.Strategy { return declared{s, &declaredRules{rules, scheme, nil}} }
}

// informedOfSubresource is informed for a subresource.
func informedOfSubresource(scheme *runtime.Scheme, s registryrest.RESTUpdateStrategy) func(resource.Informed) registryrest.RESTUpdateStrategy {
	rules, ok := s.(registryrest.DeclarativeValidationStrategy)
	if !ok {
		return nil
	}
	return func(resource.Informed) registryrest.RESTUpdateStrategy {
		return declaredOfSubresource{s, &declaredRules{rules, scheme, nil}}
	}
}
