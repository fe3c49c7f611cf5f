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

// swift checks the rules that are declared on Go types, by a shorter way than upstream. Upstream
// copies both objects of an update, and then compares each part of one with the other as a
// whole, from the outside in. Here nothing is copied but the new object, which shares with the
// old one what is the same in both, so that each comparison ends where it begins. An object that
// breaks a rule upstream checks again: it has the words.
type swift struct {
	registryrest.DeclarativeValidationStrategy
	scheme *runtime.Scheme
}

// declared is the strategy of a kind, whose declared rules are checked by the shorter way.
type declared struct {
	resource.Strategy
	swift
}

// declaredStatus is declared for a subresource.
type declaredStatus struct {
	registryrest.RESTUpdateStrategy
	swift
}

// informed is the strategy of a kind as it judges one write; nil: it is the strategy itself.
func informed(scheme *runtime.Scheme, s resource.Strategy) func(resource.Informed) resource.Strategy {
	declares, ok := s.(registryrest.DeclarativeValidationStrategy)
	if !ok {
		return nil
	}
	return func(resource.Informed) resource.Strategy { return declared{s, swift{declares, scheme}} }
}

// informedStatus is informed for a subresource.
func informedStatus(scheme *runtime.Scheme, s registryrest.RESTUpdateStrategy) func(resource.Informed) registryrest.RESTUpdateStrategy {
	declares, ok := s.(registryrest.DeclarativeValidationStrategy)
	if !ok {
		return nil
	}
	return func(resource.Informed) registryrest.RESTUpdateStrategy {
		return declaredStatus{s, swift{declares, scheme}}
	}
}

// ValidateDeclaratively implements registryrest.DeclarativeValidationStrategy.
func (s swift) ValidateDeclaratively(ctx context.Context, obj, old runtime.Object, errs field.ErrorList, op operation.Type,
	config registryrest.DeclarativeValidationConfig) field.ErrorList {
	if len(errs) == 0 && passes(ctx, s.scheme, obj, old, op, config) {
		return nil
	}
	return s.DeclarativeValidationStrategy.ValidateDeclaratively(ctx, obj, old, errs, op, config)
}

// passes tells of an object that it breaks no rule that is declared on its type in the
// version of the request. It may break none if it does not.
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

// of is the object in the version. It may share memory with the object.
func (v inVersion) of(obj runtime.Object) (runtime.Object, error) {
	return v.objects.ConvertToVersion(resource.Shallow(obj), v.version)
}
