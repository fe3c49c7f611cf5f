package rest

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// projection is what shows the object as another kind at the requested
// subresource, or nil.
func (r *request) projection() resource.Projection {
	if r.subresource == nil {
		return nil
	}
	return r.subresource.Projection
}

// viewed is the version in which the request speaks: that of the object, or of
// what the subresource shows it as.
func (r *request) viewed() *resource.Version {
	if p := r.projection(); p != nil {
		return p.View()
	}
	return r.version
}

// project is the JSON that the request shows for the JSON of an object.
func (r *request) project(text string) (string, error) {
	p := r.projection()
	if p == nil {
		return text, nil
	}
	obj, err := r.version.Codec.DecodeStored(store.Record{Value: text})
	if err != nil {
		return "", err
	}
	shown, err := p.Of(obj)
	if err != nil {
		return "", err
	}
	encoded, err := p.View().Codec.Encode(shown)
	return string(encoded), err
}

// throughProjection makes a change of what a subresource shows one of the object
// itself.
func (w *write) throughProjection(change func(runtime.Object) (runtime.Object, error)) func(runtime.Object) (runtime.Object, error) {
	p := w.projection()
	if p == nil {
		return change
	}
	return func(current runtime.Object) (runtime.Object, error) {
		w.applied = false
		before, err := p.Before(current)
		if err != nil {
			return nil, err
		}
		after, err := change(before)
		if err != nil {
			return nil, err
		}
		if after, err = w.manageFields(after, before); err != nil {
			return nil, err
		}
		if err := w.mutate(admission.Update, after, before, p.View()); err != nil {
			return nil, err
		}
		w.applied = true // the fields of the object follow from those of the projection
		return p.Into(current, after)
	}
}
