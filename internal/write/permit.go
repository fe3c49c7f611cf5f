package write

import "k8s.io/apimachinery/pkg/runtime"

// mayWrite refuses an object by which the user would grant more than that user may. The current
// object is nil for a create.
func (a attempt) mayWrite(obj, current runtime.Object) error {
	if a.version.MayWrite == nil || a.request.Subresource != "" {
		return nil
	}
	return a.version.MayWrite(a.ctx, obj, current)
}

// mayCreate refuses an update or an apply that creates an object, if the user may only change
// objects.
func (a attempt) mayCreate() error {
	if a.p.MayCreate == nil {
		return nil
	}
	return a.p.MayCreate(a.ctx, a.version.GroupVersionResource(), a.request.Namespace, a.request.Name)
}
