package write

import "k8s.io/apimachinery/pkg/runtime"

// mayWrite rejects an object with which the user would grant more rights than the user has. current is nil for a create.
func (a attempt) mayWrite(obj, current runtime.Object) error {
	if a.version.MayWrite == nil || a.request.Subresource != "" {
		return nil
	}
	return a.version.MayWrite(a.ctx, obj, current)
}

// mayCreate rejects an update or an apply that would create an object, if the user may not create it.
func (a attempt) mayCreate() error {
	if a.p.MayCreate == nil {
		return nil
	}
	return a.p.MayCreate(a.ctx, a.version.GroupVersionResource(), a.request.Namespace, a.request.Name)
}
