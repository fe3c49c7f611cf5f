package write

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// shownAs is the version of what the write changes: that of the object, of the kind that
// the subresource shows it as, or of what was sent in its place.
func (a attempt) shownAs() *resource.Version {
	switch {
	case a.view != nil:
		return a.view
	case a.projection != nil:
		return a.projection.View()
	}
	return a.version
}

// project is the current object as the write shows it, for a change to start from.
func (a attempt) project(current resource.Decoded) (resource.Decoded, error) {
	if a.projection == nil {
		return current, nil
	}
	shown, err := a.projection.Before(current.Object)
	return resource.Decoded{Object: shown}, err
}

// unproject is the object with what the write has made of its projection.
func (a attempt) unproject(current, wanted resource.Decoded) (resource.Decoded, error) {
	if a.projection == nil {
		return wanted, nil
	}
	obj, err := a.projection.Into(current.Object, wanted.Object)
	return resource.Decoded{Object: obj}, err
}

// projections are an object and the current one, which is nil for a create, as the
// second phase of admission sees them.
func (a attempt) projections(obj, current runtime.Object) (is, was runtime.Object, err error) {
	if a.projection == nil {
		return obj, current, nil
	}
	if is, err = a.projection.Of(obj); err != nil {
		return nil, nil, err
	}
	if was, err = a.projection.Of(current); err != nil { // it had nothing to show yet
		was, err = a.projection.Before(current)
	}
	return is, was, err
}
