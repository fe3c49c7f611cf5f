package write

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// shownAs returns the version of the object that the write changes: of the object itself, of its projection, or of the
// body of an Act or Connect.
func (a attempt) shownAs() *resource.Version {
	switch {
	case a.view != nil:
		return a.view
	case a.projection != nil:
		return a.projection.View()
	}
	return a.version
}

// project returns the current object in the form that the write shows, from which the change starts.
func (a attempt) project(current resource.Decoded) (resource.Decoded, error) {
	if a.projection == nil {
		return current, nil
	}
	shown, err := a.projection.Before(current.Object)
	return resource.Decoded{Object: shown}, err
}

// unproject returns the object with the changed projection written into it.
func (a attempt) unproject(current, wanted resource.Decoded) (resource.Decoded, error) {
	if a.projection == nil {
		return wanted, nil
	}
	obj, err := a.projection.Into(current.Object, wanted.Object)
	return resource.Decoded{Object: obj}, err
}

// projections returns an object and the current one, which is nil for a create, as the
// second phase of admission sees them.
func (a attempt) projections(obj, current runtime.Object) (after, before runtime.Object, err error) {
	if a.projection == nil {
		return obj, current, nil
	}
	if after, err = a.projection.Written(obj); err != nil {
		return nil, nil, err
	}
	before, err = a.projection.Written(current)
	return after, before, err
}
