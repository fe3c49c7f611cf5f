package builtin

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	registryrest "k8s.io/apiserver/pkg/registry/rest"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/typed"
)

// fastValidation checks the rules that are declared on Go types, faster than upstream does.
// Upstream copies both objects of an update, and then compares every part of one with that of
// the other, on each level anew. fastValidation copies only the new object, and makes the copy
// share with the old object what is the same in both, so that a comparison of two parts sees at
// once that they are the same. If an object breaks a rule, upstream checks it again and words
// the errors.
type fastValidation struct {
	registryrest.DeclarativeValidationStrategy
	scheme *runtime.Scheme
}

// declared is the strategy of a kind with fastValidation of its declared rules.
type declared struct {
	resource.Strategy
	fastValidation
}

// declaredStatus is declared for a subresource.
type declaredStatus struct {
	registryrest.RESTUpdateStrategy
	fastValidation
}

// informed returns what makes the strategy of a kind for one write, or nil if the strategy
// itself will do.
func informed(scheme *runtime.Scheme, s resource.Strategy) func(resource.Informed) resource.Strategy {
	declares, ok := s.(registryrest.DeclarativeValidationStrategy)
	if !ok {
		return nil
	}
	return func(resource.Informed) resource.Strategy { return declared{s, fastValidation{declares, scheme}} }
}

// informedStatus is informed for a subresource.
func informedStatus(scheme *runtime.Scheme, s registryrest.RESTUpdateStrategy) func(resource.Informed) registryrest.RESTUpdateStrategy {
	declares, ok := s.(registryrest.DeclarativeValidationStrategy)
	if !ok {
		return nil
	}
	return func(resource.Informed) registryrest.RESTUpdateStrategy {
		return declaredStatus{s, fastValidation{declares, scheme}}
	}
}

// ValidateDeclaratively implements registryrest.DeclarativeValidationStrategy.
func (s fastValidation) ValidateDeclaratively(ctx context.Context, obj, old runtime.Object, errs field.ErrorList, op operation.Type,
	config registryrest.DeclarativeValidationConfig) field.ErrorList {
	if len(errs) == 0 && passes(ctx, s.scheme, obj, old, op, config) {
		return nil
	}
	return s.DeclarativeValidationStrategy.ValidateDeclaratively(ctx, obj, old, errs, op, config)
}

// passes tells whether an object passes all rules that are declared on its type in the
// version of the request. It may return false for an object that does.
func passes(ctx context.Context, scheme *runtime.Scheme, obj, old runtime.Object, op operation.Type,
	config registryrest.DeclarativeValidationConfig) (ok bool) {
	info, found := apirequest.RequestInfoFrom(ctx)
	if !found || config.SubresourceGVKMapper != nil || strings.Contains(info.Subresource, "/") {
		return false
	}
	defer func() { // upstream makes an error of a panic
		if recover() != nil {
			ok = false
		}
	}()
	var subresources []string
	if info.Subresource != "" {
		subresources = []string{info.Subresource}
	}
	versions := inVersion{runtime.UnsafeObjectConvertor(scheme), schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}}
	if op == operation.Create {
		is, err := versions.of(obj)
		return err == nil && len(scheme.Validate(ctx, config.Options, is, subresources...)) == 0
	}
	if op != operation.Update {
		return false
	}
	is, err := versions.of(obj.DeepCopyObject())
	if err != nil {
		return false
	}
	was, err := versions.of(old)
	if err != nil {
		return false
	}
	typed.Share(is, was)
	return len(scheme.ValidateUpdate(ctx, config.Options, is, was, subresources...)) == 0
}

// inVersion converts objects to a version.
type inVersion struct {
	objects runtime.ObjectConvertor
	version schema.GroupVersion
}

// of returns the object in the version. The two may share memory.
func (v inVersion) of(obj runtime.Object) (runtime.Object, error) {
	return v.objects.ConvertToVersion(resource.Shallow(obj), v.version)
}
