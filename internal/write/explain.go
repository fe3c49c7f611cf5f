package write

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/observe"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// The functions of this file tell the Recorder of a request what a stage has found. They do nothing
// if no explanation is wanted, and never change the outcome of the write.

func (a attempt) explainAttempt() {
	if to := a.request.Explained; to != nil {
		to.Attempt()
		to.Writes(a.request.Manager, a.request.isDryRun())
	}
}

// snapshot returns the object as it is, for a comparison later; nil: no explanation is wanted.
func (a attempt) snapshot(obj runtime.Object) map[string]any {
	if a.request.Explained == nil || obj == nil {
		return nil
	}
	return shown(a.version, obj)
}

// shown returns an object as JSON of a version.
func shown(v *resource.Version, obj runtime.Object) map[string]any {
	text, err := v.Codec.Encode(obj)
	if err != nil {
		return nil
	}
	return observe.MapOf(text)
}

// explainMerge tells what became of a patch that was merged into an object.
func (a attempt) explainMerge(into runtime.Object, patch map[string]any, merged runtime.Object, err error) {
	to := a.request.Explained
	if to == nil {
		return
	}
	to.Conflicts(causesOf(err))
	if merged != nil {
		v := a.shownAs()
		to.Merged(shown(v, into), patch, shown(v, merged))
	}
}

// explainPlugin tells that a plugin that is part of the pipeline has refused the write.
func (a attempt) explainPlugin(name string, err error) {
	if to := a.request.Explained; to != nil {
		to.Step(inspect.AdmissionStep{Kind: inspect.Plugin, Phase: "validating", Name: name, Outcome: inspect.Denied, Message: err.Error()})
	}
}

// explainStrategy tells what the kind has changed of an object, which was as given before, and what
// it has found wrong with it.
func (a attempt) explainStrategy(was map[string]any, obj, current runtime.Object, err error) {
	to := a.request.Explained
	if to == nil {
		return
	}
	to.Prepared(was, shown(a.version, obj))
	j := resource.Validated{Subresource: a.request.Subresource, Object: obj, Old: current, Refused: observe.Refusals(causesOf(err))}
	if a.version.Explain != nil {
		a.version.Explain(a.ctx, &j)
	}
	to.Judged(j.Refused, j.Ratcheted, j.Rules)
}

// explainChange tells what the write makes of the current object; nil: there is none.
func (a attempt) explainChange(current, obj runtime.Object) {
	to := a.request.Explained
	if to == nil {
		return
	}
	var was map[string]any
	if current != nil {
		was = shown(a.version, current)
	}
	to.Changed(was, shown(a.version, obj))
}

// causesOf returns the causes in the Status of an error.
func causesOf(err error) []metav1.StatusCause {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	return status.Status().Details.Causes
}
