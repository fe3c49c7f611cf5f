package policy

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
)

// invocationKey identifies an invocation.
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

// reinvocation is the state between the two rounds of a write. The second round repeats the invocations whose policy has
// the reinvocationPolicy IfNeeded and that a later change has followed.
type reinvocation struct {
	admission.ReinvocationContext
	output runtime.Object // the object after the policies

	invokedBefore []invocationKey
	again         map[invocationKey]bool
}

// reinvocationOf returns the reinvocation of a write.
func reinvocationOf(c admission.ReinvocationContext) *reinvocation {
	const plugin = "MutatingAdmissionPolicy"
	r, ok := c.Value(plugin).(*reinvocation)
	if ok {
		return r
	}
	r = &reinvocation{ReinvocationContext: c, again: map[invocationKey]bool{}}
	c.SetValue(plugin, r)
	return r
}

// begin checks whether other plugins have changed the object after the policies.
func (r *reinvocation) begin(obj runtime.Object) {
	if r.IsReinvoke() && !equality.Semantic.DeepEqual(r.output, obj) {
		r.require()
	}
}

// end stores the object after the policies.
func (r *reinvocation) end(obj runtime.Object) {
	r.output = nil
	if obj != nil {
		r.output = obj.DeepCopyObject()
	}
}

// skips reports whether the second round skips an invocation.
func (r *reinvocation) skips(i invocation) bool { return r.IsReinvoke() && !r.again[i.key()] }

// invoked records an invocation, and whether it has changed the object.
func (r *reinvocation) invoked(i invocation, changed bool) {
	if changed {
		r.changed()
	}
	if i.policy.Spec.ReinvocationPolicy == "IfNeeded" {
		r.invokedBefore = append(r.invokedBefore, i.key())
	}
}

// changed requests a second round.
func (r *reinvocation) changed() {
	r.require()
	r.SetShouldReinvoke()
}

// require makes the second round repeat all invocations whose reinvocationPolicy is IfNeeded.
func (r *reinvocation) require() {
	for _, key := range r.invokedBefore {
		r.again[key] = true
	}
	r.invokedBefore = nil
}
