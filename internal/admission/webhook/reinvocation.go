package webhook

import (
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/admission"
)

// pluginName is the key of the reinvocation in the reinvocation context of a write.
const pluginName = "MutatingAdmissionWebhook"

// reinvocation records which webhooks are called again, because the object has changed since their
// call: by another webhook or, between the rounds, by another plugin.
type reinvocation struct {
	second bool
	output runtime.Object  // of the first round
	called map[string]bool // the webhooks called since the last change whose reinvocationPolicy is IfNeeded
	again  map[string]bool // the webhooks that will be called again
}

func reinvocationOf(write *admission.Write) *reinvocation {
	context := write.GetReinvocationContext()
	r, ok := context.Value(pluginName).(*reinvocation)
	if !ok {
		r = &reinvocation{called: map[string]bool{}, again: map[string]bool{}}
		context.SetValue(pluginName, r)
	}
	r.second = context.IsReinvoke()
	return r
}

func (r *reinvocation) number() int {
	if r.second {
		return 1
	}
	return 0
}

func (r *reinvocation) begin(obj runtime.Object) {
	if r.second && !equality.Semantic.DeepEqual(r.output, obj) {
		r.changed()
	}
}

// end stores the object for the second round, if a webhook may be called again.
func (r *reinvocation) end(obj runtime.Object) {
	if len(r.called) > 0 && obj != nil {
		r.output = obj.DeepCopyObject()
	}
}

func (r *reinvocation) changed() {
	maps.Copy(r.again, r.called)
	clear(r.called)
}
