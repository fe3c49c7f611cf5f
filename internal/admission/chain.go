package admission

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/endpoints/handlers/fieldmanager"
	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/apiserver/pkg/warning"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// Plugin admits writes in two phases. An error rejects the write and is the response to the request.
type Plugin interface {
	// Mutate may change the object and reject the write.
	Mutate(ctx context.Context, w *Write) error
	// Validate may reject the write. It must not change the object.
	Validate(ctx context.Context, w *Write) error
}

// Chain has the admission plugins at one revision of the configuration. It is immutable. A plugin
// may be nil.
type Chain struct {
	// Revision is the revision of the newest write that the chain takes into account.
	Revision int64

	// First, InTree and Last are compiled into kube-apiserver. First is called before the namespace lifecycle.
	First     InTree
	InTree    InTree
	Policies  Plugin
	Webhooks  Plugin
	Functions Plugin
	Last      InTree

	// Off has which of Policies and Webhooks are off, by phase.
	Off struct{ Mutating, Validating Off }
}

// Off has which plugins are off in a phase.
type Off struct{ Policies, Webhooks bool }

// InTree is a Plugin that is compiled into kube-apiserver.
type InTree interface {
	Plugin
	// AppliesTo reports whether the plugin admits writes of a resource.
	AppliesTo(r *resource.Resource) bool
}

// Empty reports whether the chain has only compiled-in plugins.
func (c *Chain) Empty() bool {
	return c.Policies == nil && c.Webhooks == nil && c.Functions == nil
}

// Skips reports whether no plugin is called for writes of a resource.
func (c *Chain) Skips(r *resource.Resource) bool {
	return c.Empty() && !appliesTo(c.First, r) && !appliesTo(c.InTree, r) && !appliesTo(c.Last, r)
}

func appliesTo(p InTree, r *resource.Resource) bool { return p != nil && r != nil && p.AppliesTo(r) }

// ForReviews returns the chain for objects that are not stored, such as SubjectAccessReviews. Servers before 1.37 call
// webhooks for them.
func (c *Chain) ForReviews() *Chain {
	if utilfeature.DefaultFeatureGate.Enabled(features.ExcludeAdmissionWebhookVirtualResources) {
		return &Chain{}
	}
	return &Chain{Webhooks: c.Webhooks, Off: c.Off}
}

// Provision calls the plugins before the namespace lifecycle. They may create the namespace of a write.
func (c *Chain) Provision(ctx context.Context, w *Write) error { return c.First.Mutate(ctx, w) }

// Mutate is the first phase. If the plugins have made the managedFields invalid, it restores
// them.
func (c *Chain) Mutate(ctx context.Context, w *Write) error {
	metadata, err := meta.Accessor(w.GetObject())
	if err != nil { // a delete has no object
		return c.mutateTwice(ctx, w)
	}
	restore := keepManagedFields(metadata)
	if err := c.mutateTwice(ctx, w); err != nil || !w.replaced {
		return err
	}
	if err := managedfields.ValidateManagedFields(metadata.GetManagedFields()); err != nil {
		restore()
		warning.AddWarning(ctx, "", fmt.Sprintf(fieldmanager.InvalidManagedFieldsAfterMutatingAdmissionWarningFormat, err))
	}
	return nil
}

// keepManagedFields returns a function that restores the current managedFields of an object. It does not parse those of
// a map, which would take longer than calling a plugin.
func keepManagedFields(obj metav1.Object) (restore func()) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		fields := obj.GetManagedFields()
		return func() { obj.SetManagedFields(fields) }
	}
	metadata, _ := u.Object["metadata"].(map[string]any)
	fields, had := metadata["managedFields"]
	return func() {
		u.SetManagedFields(nil)
		if metadata, ok := u.Object["metadata"].(map[string]any); ok && had {
			metadata["managedFields"] = fields
		}
	}
}

// mutateTwice calls the plugins a second time if one of them has requested reinvocation.
func (c *Chain) mutateTwice(ctx context.Context, w *Write) error {
	if err := c.each(w, c.Off.Mutating, func(p Plugin) error { return p.Mutate(ctx, w) }); err != nil {
		return err
	}
	reinvocation := w.GetReinvocationContext()
	if !reinvocation.ShouldReinvoke() {
		return nil
	}
	reinvocation.SetIsReinvoke()
	return c.each(w, c.Off.Mutating, func(p Plugin) error { return p.Mutate(ctx, w) })
}

// Validate is the second phase.
func (c *Chain) Validate(ctx context.Context, w *Write) error {
	return c.each(w, c.Off.Validating, func(p Plugin) error { return p.Validate(ctx, w) })
}

// each passes the plugins that are not off to call, in order, until one rejects the write.
func (c *Chain) each(w *Write, off Off, call func(Plugin) error) error {
	if c.InTree != nil && appliesTo(c.InTree, w.Resource()) {
		if err := call(c.InTree); err != nil {
			return err
		}
	}
	if c.Policies != nil && !off.Policies {
		if err := call(c.Policies); err != nil {
			return err
		}
	}
	if c.Webhooks != nil && !off.Webhooks {
		if err := call(c.Webhooks); err != nil {
			return err
		}
	}
	if c.Functions != nil {
		if err := call(c.Functions); err != nil {
			return err
		}
	}
	if c.Last != nil && appliesTo(c.Last, w.Resource()) {
		return call(c.Last)
	}
	return nil
}
