package rest

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// projection returns what shows the object as another kind at the requested subresource, or
// nil.
func (r *request) projection() resource.Projection {
	if s := r.version.Subresource[r.info.Subresource]; s != nil {
		return s.Projection
	}
	return nil
}

// viewed returns the version of the objects in the request and its answer: that of the
// object, or of the kind that the subresource shows it as.
func (r *request) viewed() *resource.Version {
	if a := r.action(); a != nil {
		return a.View
	}
	if p := r.projection(); p != nil {
		return p.View()
	}
	return r.version
}

// project turns the JSON of an object into that of the kind which the requested subresource
// shows.
func (r *request) project(text string) (string, error) {
	p := r.projection()
	if p == nil {
		return text, nil
	}
	return r.projectBy(p, p.Project, text)
}

// projectWritten is project for an object that the request has written.
func (r *request) projectWritten(text string) (string, error) {
	p := r.projection()
	if p == nil {
		return text, nil
	}
	return r.projectBy(p, p.Written, text)
}

// projectBy returns the JSON of what a function of a projection makes of the JSON of an object.
func (r *request) projectBy(p resource.Projection, project func(runtime.Object) (runtime.Object, error), text string) (string, error) {
	obj, err := r.version.Codec.DecodeShown(text)
	if err != nil {
		return "", err
	}
	shown, err := project(obj)
	if err != nil {
		return "", err
	}
	encoded, err := p.View().Codec.Encode(shown)
	return string(encoded), err
}

// action returns the action of the request, or nil if a create stores its object.
func (r *request) action() *resource.Action {
	if s := r.version.Subresource[r.info.Subresource]; s != nil {
		return s.Action
	}
	return r.version.Unstored.Action
}
