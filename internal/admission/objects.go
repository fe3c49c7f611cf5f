package admission

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/internal/faultinjection"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// objects implements admission.ObjectInterfaces for one kind.
type objects struct {
	resource.Objects
	cluster Cluster
	ctx     context.Context // of the write
}

// Convert implements runtime.ObjectConvertor. It reports a fault that has struck the conversion itself, because callers
// replace or ignore the error.
func (o objects) Convert(in, out, with any) error {
	err := o.Objects.Convert(in, out, with)
	faultinjection.Observe(o.ctx, err)
	return err
}

func (o objects) GetObjectCreater() runtime.ObjectCreater     { return o }
func (o objects) GetObjectTyper() runtime.ObjectTyper         { return o }
func (o objects) GetObjectDefaulter() runtime.ObjectDefaulter { return o }
func (o objects) GetObjectConvertor() runtime.ObjectConvertor { return o }

func (o objects) GetEquivalentResourceMapper() runtime.EquivalentResourceMapper {
	return equivalents{o.cluster.Registry()}
}

// equivalents returns the resources of the same objects in other versions and groups: events are also events of
// events.k8s.io/v1.
type equivalents struct{ registry *resource.Registry }

// EquivalentResourcesFor implements runtime.EquivalentResourceMapper. The result includes the resource itself.
func (e equivalents) EquivalentResourcesFor(gvr schema.GroupVersionResource, subresource string) []schema.GroupVersionResource {
	r := e.registry.Resource(gvr.Group, gvr.Resource)
	if r == nil {
		return nil
	}
	var versions []schema.GroupVersionResource
	for _, same := range e.registry.Sharing(r) {
		for _, v := range same.Versions {
			if v.Served && (subresource == "" || v.Subresource[subresource] != nil) {
				versions = append(versions, v.GroupVersionResource())
			}
		}
	}
	return versions
}

// KindFor implements runtime.EquivalentResourceMapper.
func (e equivalents) KindFor(gvr schema.GroupVersionResource, subresource string) schema.GroupVersionKind {
	r := e.registry.Resource(gvr.Group, gvr.Resource)
	if r == nil {
		return schema.GroupVersionKind{}
	}
	v := r.Version(gvr.Version)
	if v == nil || !v.Served {
		return schema.GroupVersionKind{}
	}
	if subresource == "" {
		return v.Kind()
	}
	s := v.Subresource[subresource]
	switch {
	case s == nil:
		return schema.GroupVersionKind{}
	case s.Projection != nil:
		return s.Projection.View().Kind()
	}
	return v.Kind()
}
