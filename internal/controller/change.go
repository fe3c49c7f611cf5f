package controller

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/lifecycle"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// change is a change of an object, which is decoded only if the controller asks for it.
type change struct {
	lifecycle.Change
	server  Server
	version *resource.Version
	obj     runtime.Object // the object, if there is no Change: it is there already when the controller begins
}

// created tells whether the object is new to the controller.
func (c change) created() bool { return c.Previous.Value == "" }

// is returns the object as it is, or nil if it has been deleted.
func is[T runtime.Object](c change) (now T, err error) {
	if c.obj != nil {
		return as[T](c.obj)
	}
	if c.Deleted {
		return now, nil
	}
	obj, err := c.server.Of(c.version, c.Record)
	if err != nil {
		return now, err
	}
	return as[T](obj)
}

// was returns the object as it was before, or nil if it is new.
func was[T runtime.Object](c change) (before T, err error) {
	if c.created() {
		return before, nil
	}
	obj, err := c.server.Before(c.version, c.Previous)
	if err != nil {
		return before, err
	}
	return as[T](obj)
}
