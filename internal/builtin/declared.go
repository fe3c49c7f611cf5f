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

// fastValidation checks updates faster than upstream does. Upstream's rules compare parts of the old
// object with parts of the new one again and again: the strategy whole specs, and the rules that are
// declared on Go types every part again on each level. fastValidation shows them the old object as one
// that shares with the new object what is the same in both, so that a comparison of two
// parts sees at once that they are the same. Upstream copies both objects for the declared rules;
// fastValidation does not. If an object breaks one of them, upstream checks it again and words the
// errors.
type fastValidation struct {
	registryrest.DeclarativeValidationStrategy
	scheme *runtime.Scheme

	old, like runtime.Object // like is likeOld of old; nil: nobody has asked yet
}

// likeOld returns the old object as one that shares with the new one what is the same in both, and with
// the old one all else. It is for rules, which alter neither object.
func (s *fastValidation) likeOld(obj, old runtime.Object) runtime.Object {
	if s.like == nil || s.old != old {
		s.old, s.like = old, typed.Like(old, obj).(runtime.Object)
	}
	return s.like
}

// declared is the strategy of a kind with fastValidation of its declared rules.
type declared struct {
	resource.Strategy
	*fastValidation
}

// ValidateUpdate implements registryrest.RESTUpdateStrategy.
func (d declared) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	return d.Strategy.ValidateUpdate(ctx, obj, d.likeOld(obj, old))
}

// declaredStatus is declared for a subresource.
type declaredStatus struct {
	registryrest.RESTUpdateStrategy
	*fastValidation
}

// ValidateUpdate implements registryrest.RESTUpdateStrategy.
func (d declaredStatus) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	return d.RESTUpdateStrategy.ValidateUpdate(ctx, obj, d.likeOld(obj, old))
}

// informed returns what makes the strategy of a kind for one write, or nil if the strategy
// itself will do.
func informed(scheme *runtime.Scheme, s resource.Strategy) func(resource.Informed) resource.Strategy {
	declares, ok := s.(registryrest.DeclarativeValidationStrategy)
	if !ok {
		return nil
	}
	return func(resource.Informed) resource.Strategy {
		return declared{s, &fastValidation{DeclarativeValidationStrategy: declares, scheme: scheme}}
	}
}

// informedStatus is informed for a subresource.
func informedStatus(scheme *runtime.Scheme, s registryrest.RESTUpdateStrategy) func(resource.Informed) registryrest.RESTUpdateStrategy {
	declares, ok := s.(registryrest.DeclarativeValidationStrategy)
	if !ok {
		return nil
	}
	return func(resource.Informed) registryrest.RESTUpdateStrategy {
		return declaredStatus{s, &fastValidation{DeclarativeValidationStrategy: declares, scheme: scheme}}
	}
}

// ValidateDeclaratively implements registryrest.DeclarativeValidationStrategy.
func (s *fastValidation) ValidateDeclaratively(ctx context.Context, obj, old runtime.Object, errs field.ErrorList, op operation.Type,
	config registryrest.DeclarativeValidationConfig) field.ErrorList {
	if len(errs) == 0 && s.passes(ctx, obj, old, op, config) {
		return nil
	}
	return s.DeclarativeValidationStrategy.ValidateDeclaratively(ctx, obj, old, errs, op, config)
}

// passes tells whether an object passes all rules that are declared on its type in the
// version of the request. It may return false for an object that does.
func (s *fastValidation) passes(ctx context.Context, obj, old runtime.Object, op operation.Type, config registryrest.DeclarativeValidationConfig) (ok bool) {
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
	versions := inVersion{runtime.UnsafeObjectConvertor(s.scheme), schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}}
	is, err := versions.of(obj)
	if err != nil {
		return false
	}
	switch op {
	case operation.Create:
		return len(s.scheme.Validate(ctx, config.Options, is, subresources...)) == 0
	case operation.Update:
		was, err := versions.of(s.likeOld(obj, old))
		if err != nil {
			return false
		}
		was = typed.Like(was, is).(runtime.Object) // the conversion has copied a part
		return len(s.scheme.ValidateUpdate(ctx, config.Options, is, was, subresources...)) == 0
	}
	return false
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
