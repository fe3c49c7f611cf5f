package resource

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
)

// Objects creates, defaults and converts the objects of a kind, and returns their kinds. Admission uses it to convert an
// object to another version.
type Objects interface {
	runtime.ObjectCreater
	runtime.ObjectTyper
	runtime.ObjectDefaulter

	// Convert converts in to the version of out, and writes the result to out. It does not alter in, and out shares
	// nothing with it. It does not prune.
	runtime.ObjectConvertor
}

// Objects implements Codec.
func (c *TypedCodec) Objects() Objects { return typedObjects{c.scheme} }

// typedObjects are the objects of a scheme.
type typedObjects struct{ *runtime.Scheme }

// Convert implements runtime.ObjectConvertor. A scheme has no conversion from a
// type to itself, and its conversions share what they can.
func (o typedObjects) Convert(in, out, context any) error {
	from, ok := in.(runtime.Object)
	if !ok {
		return fmt.Errorf("input type %T is not an object", in)
	}
	from = from.DeepCopyObject()
	if reflect.TypeOf(in) == reflect.TypeOf(out) {
		reflect.ValueOf(out).Elem().Set(reflect.ValueOf(from).Elem())
		return nil
	}
	return o.Scheme.Convert(from, out, context)
}
