package policy

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
)

// invocationKey tells invocations apart.
type invocationKey struct {
	policy, binding string
	param           types.NamespacedName
}

func (i invocation) key() invocationKey {
	key := invocationKey{policy: i.policy.Name, binding: i.binding.Name}
	if i.param == nil {
		return key
	}
	if metadata, err := meta.Accessor(i.param); err == nil {
		key.param = types.NamespacedName{Namespace: metadata.GetNamespace(), Name: metadata.GetName()}
	}
	return key
}

// reinvocation is what is kept between the two times that policies are asked about
// one write. In the second, those are invoked that have been before, want to be
// again, and have not seen what was changed after them.
type reinvocation struct {
	admission.ReinvocationContext
	output runtime.Object // the object, as the policies left it

	invokedBefore []invocationKey
	again         map[invocationKey]bool
}

// reinvocationOf is that of a write.
func reinvocationOf(c admission.ReinvocationContext) *reinvocation {
	const plugin = "MutatingAdmissionPolicy"
	if known, ok := c.Value(plugin).(*reinvocation); ok {
		return known
	}
	r := &reinvocation{ReinvocationContext: c, again: map[invocationKey]bool{}}
	c.SetValue(plugin, r)
	return r
}

// begin takes note of what others have done to the object since the policies left it.
func (r *reinvocation) begin(obj runtime.Object) {
	if r.IsReinvoke() && !equality.Semantic.DeepEqual(r.output, obj) {
		r.require()
	}
}

// end remembers how the policies left the object.
func (r *reinvocation) end(obj runtime.Object) {
	r.output = nil
	if obj != nil {
		r.output = obj.DeepCopyObject()
	}
}

// skips tells whether an invocation is not to be made a second time.
func (r *reinvocation) skips(i invocation) bool { return r.IsReinvoke() && !r.again[i.key()] }

// invoked takes note of an invocation, and of whether it has changed the object for
// those before it.
func (r *reinvocation) invoked(i invocation, changed bool) {
	if changed {
		r.changed()
	}
	if i.policy.Spec.ReinvocationPolicy == "IfNeeded" {
		r.invokedBefore = append(r.invokedBefore, i.key())
	}
}

// changed asks for a second time.
func (r *reinvocation) changed() {
	r.require()
	r.SetShouldReinvoke()
}

// require has all invocations that want it made again.
func (r *reinvocation) require() {
	for _, key := range r.invokedBefore {
		r.again[key] = true
	}
	r.invokedBefore = nil
}
