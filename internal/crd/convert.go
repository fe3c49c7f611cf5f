package crd

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// convert converts u, which it may change, to a version, and prunes it by the schema of that version. It is for objects
// on their way from or to the store, where they have no resourceVersion on a real server, so it hides the
// resourceVersion from a webhook.
func (c *codec) convert(u *unstructured.Unstructured, version string) (*unstructured.Unstructured, error) {
	if u.GetAPIVersion() == (schema.GroupVersion{Group: c.kind.Group, Version: version}).String() {
		return u, nil
	}
	revision := c.withoutRevision(u)
	u, err := c.reversion(u, version)
	if err != nil {
		return nil, err
	}
	u.SetResourceVersion(revision)
	_, err = c.coerce(u, coerceOptions{})
	return u, err
}

// withoutRevision removes the resourceVersion of an object that a webhook will convert, and returns it.
func (c *codec) withoutRevision(u *unstructured.Unstructured) string {
	revision := u.GetResourceVersion()
	if c.webhook != nil {
		u.SetResourceVersion("")
	}
	return revision
}

// reversion is convert for field management: it neither prunes nor hides the resourceVersion.
func (c *codec) reversion(u *unstructured.Unstructured, version string) (*unstructured.Unstructured, error) {
	to := schema.GroupVersion{Group: c.kind.Group, Version: version}
	if u.GetAPIVersion() == to.String() {
		return u, nil
	}
	if err := c.checkVersions(u, to); err != nil {
		return nil, err
	}
	if c.webhook == nil {
		u.SetAPIVersion(to.String())
		return u, nil
	}
	out, err := c.webhook.ConvertToVersion(u, to)
	if err != nil {
		return nil, err
	}
	return out.(*unstructured.Unstructured), nil
}

// View implements resource.Codec for objects that were written in another version under the current schema, if both
// versions have the same schema. Conversion without a webhook then changes only the apiVersion, because pruning and
// defaulting again changes nothing.
//
// It also returns earlier results of a webhook.
func (c *codec) View(record store.Record) (string, bool) {
	if c.webhook != nil {
		return c.conversions.Text(record)
	}
	identity := resource.IdentityOf(record)
	from, content, ok := strings.Cut(identity, "/")
	if !ok || c.identities[from] != identity {
		return "", false
	}
	if _, same, _ := strings.Cut(c.identities[c.kind.Version], "/"); same != content {
		return "", false
	}
	rest, ok := strings.CutPrefix(record.Value, `{"apiVersion":"`+c.kind.Group+"/"+from+`",`)
	if !ok {
		return "", false
	}
	return `{"apiVersion":"` + c.kind.Group + "/" + c.kind.Version + `",` + rest, true
}

// convertAll converts several objects to the version of the codec; a webhook
// gets them all in one call.
func (c *codec) convertAll(items []*unstructured.Unstructured) error {
	to := c.kind.GroupVersion()
	if c.webhook == nil {
		for i, u := range items {
			converted, err := c.convert(u, to.Version)
			if err != nil {
				return err
			}
			items[i] = converted
		}
		return nil
	}
	var list unstructured.UnstructuredList
	list.SetGroupVersionKind(c.kind.GroupVersion().WithKind(c.kind.Kind + "List"))
	var places []int
	var revisions []string
	for i, u := range items {
		if u.GetAPIVersion() != to.String() {
			if err := c.checkVersions(u, to); err != nil {
				return err
			}
			revisions = append(revisions, c.withoutRevision(u))
			list.Items, places = append(list.Items, *u), append(places, i)
		}
	}
	if len(places) == 0 {
		return nil
	}
	out, err := c.webhook.ConvertToVersion(&list, to)
	if err != nil {
		return err
	}
	converted := out.(*unstructured.UnstructuredList)
	for n, place := range places {
		u := &converted.Items[n]
		u.SetResourceVersion(revisions[n])
		if _, err := c.coerce(u, coerceOptions{}); err != nil {
			return err
		}
		items[place] = u
	}
	return nil
}

// checkVersions rejects versions that the definition does not have.
func (c *codec) checkVersions(u *unstructured.Unstructured, to schema.GroupVersion) error {
	from := u.GroupVersionKind().GroupVersion()
	if _, ok := c.schemas[to.Version]; !ok {
		return fmt.Errorf("request to convert CR to an invalid group/version: %s", to)
	}
	if _, ok := c.schemas[from.Version]; !ok || from.Group != c.kind.Group {
		return fmt.Errorf("request to convert CR from an invalid group/version: %s", from)
	}
	return nil
}

// objectConverter is a codec in the form that field management needs.
type objectConverter struct{ *codec }

// Convert implements runtime.ObjectConvertor. Field management converts by
// version alone.
func (c objectConverter) Convert(in, out, _ any) error {
	return fmt.Errorf("cannot convert %T to %T", in, out)
}

// ConvertToVersion implements runtime.ObjectConvertor. It converts a copy and, as on a real server, does not prune it.
// So the copy may have fields that the schema of the other version lacks. Field management then fails; for writes other
// than an apply, managedFields stay unchanged.
func (c objectConverter) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	kind := in.GetObjectKind().GroupVersionKind()
	to, ok := target.KindForGroupVersionKinds([]schema.GroupVersionKind{kind})
	if !ok {
		return nil, errUnsuitable(kind, target)
	}
	u, ok := in.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("%T is not a custom object", in)
	}
	if kind.GroupVersion() == to.GroupVersion() {
		return u, nil
	}
	return c.reversion(u.DeepCopy(), to.Version)
}

// errUnsuitable returns the error for an object of another group than that of the definition.
func errUnsuitable(kind schema.GroupVersionKind, target runtime.GroupVersioner) error {
	return fmt.Errorf("%v is unstructured and is not suitable for converting to %q", kind, target)
}

// ConvertFieldLabel implements runtime.ObjectConvertor.
func (c objectConverter) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return c.codec.ConvertFieldLabel(label, value)
}

// Default implements runtime.ObjectDefaulter, which cannot return an error. An object that lacks too many defaults is
// rejected before it is stored.
func (c objectConverter) Default(in runtime.Object) {
	if u, ok := in.(*unstructured.Unstructured); ok {
		_ = c.setDefaults(u)
	}
}
