package crd

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// Objects implements resource.Codec.
func (c *codec) Objects() resource.Objects {
	return customObjects{objectConverter: objectConverter{c}}
}

// External implements resource.Codec.
func (c *codec) External(obj runtime.Object) (runtime.Object, error) {
	out := &unstructured.Unstructured{}
	out.SetGroupVersionKind(c.kind)
	return out, c.Objects().Convert(obj, out, nil)
}

// Copy implements resource.Codec.
func (c *codec) Copy(obj runtime.Object) runtime.Object { return obj.DeepCopyObject() }

// customObjects implements resource.Objects for the objects of a definition.
type customObjects struct {
	creater
	typer
	objectConverter
}

// Convert implements runtime.ObjectConvertor: it converts in to the version of out. As on a real server, it does not
// prune.
func (o customObjects) Convert(in, out, _ any) error {
	from, ok := in.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("input type %T in not valid for unstructured conversion to %T", in, out)
	}
	to, ok := out.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("output type %T in not valid for unstructured conversion from %T", out, in)
	}
	kind, target := from.GroupVersionKind(), to.GroupVersionKind().GroupVersion()
	if kind.Group != target.Group { // a plugin has changed it
		return errUnsuitable(kind, target)
	}
	converted, err := o.reversion(from.DeepCopy(), target.Version)
	if err != nil {
		return err
	}
	to.SetUnstructuredContent(converted.UnstructuredContent())
	return nil
}
