package builtin

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	registryrest "k8s.io/apiserver/pkg/registry/rest"
	api "k8s.io/kubernetes/pkg/apis/core"
	discoveryapi "k8s.io/kubernetes/pkg/apis/discovery"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// On a real server each request decodes the current object for itself. Here it is shared, and
// nobody may alter it while others read it. The strategies in this file are upstream's that do
// alter it, if only for a moment or to what it is anyway: they are given a copy of that part.

// spareSlice is the strategy of EndpointSlices. Upstream's takes away the metadata of the current
// object while it compares the rest.
type spareSlice struct {
	resource.Strategy
	registryrest.DeclarativeValidationStrategy
}

// PrepareForUpdate implements RESTUpdateStrategy.
func (s spareSlice) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	if current, ok := old.(*discoveryapi.EndpointSlice); ok {
		spare := *current
		old = &spare
	}
	s.Strategy.PrepareForUpdate(ctx, obj, old)
}

// sparePodStatus is the strategy of the status of Pods. Upstream's makes the current spec the new
// one, and then removes from it the fields that are not in use.
type sparePodStatus struct {
	registryrest.RESTUpdateStrategy
	registryrest.DeclarativeValidationStrategy
	registryrest.ResetFieldsStrategy
}

// PrepareForUpdate implements RESTUpdateStrategy.
func (s sparePodStatus) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	if current, ok := old.(*api.Pod); ok {
		spare := *current
		spare.Spec = *current.Spec.DeepCopy()
		old = &spare
	}
	s.RESTUpdateStrategy.PrepareForUpdate(ctx, obj, old)
}
