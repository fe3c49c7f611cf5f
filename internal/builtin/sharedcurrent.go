package builtin

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	registryrest "k8s.io/apiserver/pkg/registry/rest"
	api "k8s.io/kubernetes/pkg/apis/core"
	discoveryapi "k8s.io/kubernetes/pkg/apis/discovery"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// On a real server each request decodes its own current object. Here it is shared, and nothing may alter it. Some of
// upstream's strategies do alter it, some only for a moment. The strategies in this file pass them a copy of the part
// that they alter.

// endpointSliceStrategy is the strategy of EndpointSlices. Upstream's removes the metadata of the
// current object while it compares the rest.
type endpointSliceStrategy struct {
	resource.Strategy
	registryrest.DeclarativeValidationStrategy
}

// PrepareForUpdate implements RESTUpdateStrategy.
func (s endpointSliceStrategy) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	if current, ok := old.(*discoveryapi.EndpointSlice); ok {
		copied := *current
		old = &copied
	}
	s.Strategy.PrepareForUpdate(ctx, obj, old)
}

// podStrategy is the strategy of Pods. Upstream's assigns the current status to the new object, and then removes fields
// of volume mounts from it.
type podStrategy struct {
	resource.Strategy
	registryrest.DeclarativeValidationStrategy
	registryrest.ResetFieldsStrategy
	registryrest.RESTGracefulDeleteStrategy
}

// PrepareForUpdate implements RESTUpdateStrategy.
func (s podStrategy) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	if current, ok := old.(*api.Pod); ok {
		copied := *current
		copied.Status = *current.Status.DeepCopy()
		old = &copied
	}
	s.Strategy.PrepareForUpdate(ctx, obj, old)
}

// podSubresourceStrategy is the strategy of a subresource of Pods. Upstream's assigns the current spec or status to
// the new object, and then removes unused fields from it.
type podSubresourceStrategy struct {
	registryrest.RESTUpdateStrategy
	registryrest.DeclarativeValidationStrategy
	registryrest.ResetFieldsStrategy // nil: the subresource resets no fields
}

// PrepareForUpdate implements RESTUpdateStrategy.
func (s podSubresourceStrategy) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	if current, ok := old.(*api.Pod); ok {
		copied := *current
		copied.Spec, copied.Status = *current.Spec.DeepCopy(), *current.Status.DeepCopy()
		old = &copied
	}
	s.RESTUpdateStrategy.PrepareForUpdate(ctx, obj, old)
}
