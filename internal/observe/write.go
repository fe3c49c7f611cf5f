package observe

import (
	"context"
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// Write observes one attempt at a write. It belongs to the attempt, and is not safe for concurrent use.
type Write struct {
	*Request
	version     *resource.Version // of the request
	subresource string
	dryRun      bool

	// before is the object before its strategy prepares it; nil: the write is not explained.
	before map[string]any
	// status is the status that the strategy may drop; nil: none.
	status any
}

// Write returns the observer of an attempt at a write, in a version.
func (r *Request) Write(v *resource.Version, subresource string, dryRun bool) *Write {
	return &Write{Request: r, version: v, subresource: subresource, dryRun: dryRun}
}

// Attempt reports that an attempt at the write begins, with its field manager. It resets what earlier attempts have
// reported.
func (w *Write) Attempt(manager string) {
	w.explanation.note(func(noted *inspect.Explanation) {
		*noted = inspect.Explanation{Request: noted.Request, Access: noted.Access, Fault: noted.Fault, Attempts: noted.Attempts + 1}
		noted.Request.Manager, noted.Request.DryRun = manager, w.dryRun
	})
}

// Decoded reports how the body of the request was decoded, with a serializer of its media type.
func (r *Request) Decoded(v *resource.Version, body []byte, mediaType string, serializer runtime.Decoder, obj runtime.Object) {
	e := r.explanation
	if e == nil || obj == nil {
		return
	}
	if metadata, err := meta.Accessor(obj); err == nil {
		e.named(metadata.GetName())
	}
	read := shown(v, obj)
	if read == nil {
		return
	}
	sent := mapOf(body)
	if sent == nil && v.Typed && strings.Contains(mediaType, "protobuf") {
		if obj, _, err := serializer.Decode(body, nil, nil); err == nil {
			sent = Map(obj)
		}
	} else if sent == nil {
		if inJSON, err := yaml.YAMLToJSON(body); err == nil {
			sent = mapOf(inJSON)
		}
	}
	e.read(sent, read)
}

// Patched reports how the JSON of the patched object was decoded.
func (w *Write) Patched(v *resource.Version, patched []byte, obj runtime.Object) {
	if e := w.explanation; e != nil && obj != nil {
		e.read(mapOf(patched), shown(v, obj))
	}
}

// Merged reports the result of merging a patch into an object. Both are in the version v.
func (w *Write) Merged(v *resource.Version, into runtime.Object, patch map[string]any, merged runtime.Object, err error) {
	e := w.explanation
	if e == nil {
		return
	}
	e.conflicts(causesOf(err))
	if merged != nil {
		e.merged(shown(v, into), patch, shown(v, merged))
	}
}

// Denied reports that a plugin that is part of the pipeline has denied the write.
func (w *Write) Denied(plugin string, err error) {
	if w.Explains() {
		w.Step(inspect.AdmissionStep{Kind: inspect.Plugin, Phase: "validating", Name: plugin, Outcome: inspect.Denied, Message: err.Error()})
	}
}

// Preparing reports the object before its strategy prepares it.
func (w *Write) Preparing(obj runtime.Object) {
	if w.Explains() {
		w.before = shown(w.version, obj)
	}
	w.status = w.sentStatus(obj)
}

// Prepared reports the object after its strategy has prepared it, and the strategy's error. current is nil for a create.
func (w *Write) Prepared(ctx context.Context, obj, current runtime.Object, err error) {
	e := w.explanation
	if e == nil {
		return
	}
	changes := Changes(w.before, shown(w.version, obj))
	validated := resource.Validated{Subresource: w.subresource, Object: obj, Old: current, Refused: refusals(causesOf(err))}
	if w.version.Explain != nil {
		w.version.Explain(ctx, &validated)
	}
	e.note(func(noted *inspect.Explanation) {
		noted.Prepared = append(noted.Prepared, changes...)
		noted.Refused, noted.Ratcheted, noted.Rules = validated.Refused, validated.Ratcheted, validated.Rules
	})
}

// Changed reports the object before its commit. current is nil for a create.
func (w *Write) Changed(obj, current runtime.Object) {
	e := w.explanation
	if e == nil {
		return
	}
	var before map[string]any
	if current != nil {
		before = shown(w.version, current)
	}
	e.changed(before, shown(w.version, obj))
}

// Unchanged reports that nothing is committed, because the write does not change the object.
func (w *Write) Unchanged(obj runtime.Object) {
	w.explanation.note(func(noted *inspect.Explanation) { noted.Unchanged = true })
	if !w.dryRun {
		w.Entry.Unchanged()
		w.compareStatus(obj)
	}
}

// Created reports that a new object has been committed.
func (w *Write) Created(obj runtime.Object) { w.compareStatus(obj) }

// shown returns the JSON of an object in a version; nil: it cannot be encoded.
func shown(v *resource.Version, obj runtime.Object) map[string]any {
	text, err := v.Codec.Encode(obj)
	if err != nil {
		return nil
	}
	return mapOf(text)
}

// causesOf returns the causes in the Status of an error.
func causesOf(err error) []metav1.StatusCause {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	return status.Status().Details.Causes
}
