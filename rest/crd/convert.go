package crd

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// convert makes u, which it may change, an object of the given version: as its
// definition says, and pruned by the schema of that version.
func (c *codec) convert(u *unstructured.Unstructured, version string) (*unstructured.Unstructured, error) {
	to := schema.GroupVersion{Group: c.kind.Group, Version: version}.String()
	if u.GetAPIVersion() == to {
		return u, nil
	}
	from := u.GroupVersionKind().GroupVersion()
	if _, ok := c.schemas[version]; !ok {
		return nil, fmt.Errorf("request to convert CR to an invalid group/version: %s", to)
	}
	if _, ok := c.schemas[from.Version]; !ok || from.Group != c.kind.Group {
		return nil, fmt.Errorf("request to convert CR from an invalid group/version: %s", from)
	}
	u.SetAPIVersion(to)
	_, err := c.coerce(u, coerceOptions{})
	return u, err
}

// objectConverter is a codec as field management sees it.
type objectConverter struct{ *codec }

// Convert implements runtime.ObjectConvertor. Field management converts by
// version alone.
func (c objectConverter) Convert(in, out, _ any) error {
	return fmt.Errorf("cannot convert %T to %T", in, out)
}

// ConvertToVersion implements runtime.ObjectConvertor. It converts a copy.
func (c objectConverter) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	kind := in.GetObjectKind().GroupVersionKind()
	to, ok := target.KindForGroupVersionKinds([]schema.GroupVersionKind{kind})
	if !ok {
		return nil, fmt.Errorf("%v is unstructured and is not suitable for converting to %q", kind, target)
	}
	u, ok := in.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("%T is no custom object", in)
	}
	if kind.GroupVersion() == to.GroupVersion() {
		return u, nil
	}
	return c.convert(u.DeepCopy(), to.Version)
}

// ConvertFieldLabel implements runtime.ObjectConvertor.
func (c objectConverter) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return c.codec.ConvertFieldLabel(label, value)
}

// Default implements runtime.ObjectDefaulter.
func (c objectConverter) Default(in runtime.Object) {
	if u, ok := in.(*unstructured.Unstructured); ok {
		c.setDefaults(u)
	}
}
