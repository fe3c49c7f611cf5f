package controller

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/write"
)

// change is a change of an object, which is decoded on demand.
type change struct {
	write.Commit
	server *Server
	kind   kind
	obj    runtime.Object // set if there is no Commit: the object exists when the controller begins
}

// key returns the key of the object.
func (c change) key() key { return key{namespace: c.Namespace, name: c.Name} }

// created reports whether the object is new to the controller.
func (c change) created() bool { return c.Previous.Value == "" }

// after returns the object after the change; nil if it was deleted.
func after[T runtime.Object](c change) (now T, err error) {
	if c.obj != nil {
		return as[T](c.obj)
	}
	if c.Deleted {
		return now, nil
	}
	v, err := c.server.version(c.kind)
	if err != nil {
		return now, err
	}
	current, err := c.server.Memory.Decode(v, c.Record)
	if err != nil {
		return now, err
	}
	obj, err := v.External(current.Object)
	if err != nil {
		return now, err
	}
	return as[T](obj)
}

// earlier returns the object before the change; nil if it is new.
func earlier[T runtime.Object](c change) (before T, err error) {
	if c.created() {
		return before, nil
	}
	v, err := c.server.version(c.kind)
	if err != nil {
		return before, err
	}
	obj, err := v.Codec.DecodeStored(c.Previous) // the memory has only the current state of an object
	if err != nil {
		return before, err
	}
	obj, err = v.External(obj)
	if err != nil {
		return before, err
	}
	return as[T](obj)
}
