package webhook

import (
	"context"
	"fmt"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	upstream "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"

	"github.com/fakecluster/fakecluster/internal/admission"
)

// Mutate implements admission.Plugin.
func (w *Webhooks) Mutate(ctx context.Context, write *admission.Write) error {
	if len(w.mutating) == 0 || rules.IsExemptAdmissionConfigurationResource(write) {
		return nil
	}
	m := &mutation{write: write, reinvocation: reinvocationOf(write)}
	m.reinvocation.begin(write.GetObject())
	for i, hook := range w.mutating {
		if err := m.admit(ctx, hook, i); err != nil {
			return err
		}
	}
	if m.patched && !m.versioned.Dirty {
		write.Change() // the object was converted from the version of a webhook
	} else if m.patched {
		if err := write.Replace(m.versioned.VersionedObject.Object()); err != nil {
			return err
		}
	}
	m.reinvocation.end(write.GetObject())
	return nil
}

// mutation is a write during the calls of mutating webhooks. Its objects have the version of the last webhook.
type mutation struct {
	write        *admission.Write
	reinvocation *reinvocation
	versioned    *upstream.VersionedAttributes // nil before the first call
	patched      bool
}

// in implements versions. It converts the object from the version of the last webhook.
func (m *mutation) in(kind schema.GroupVersionKind) (*upstream.VersionedAttributes, error) {
	var err error
	if m.versioned == nil {
		m.versioned, err = upstream.NewVersionedAttributes(m.write, kind, m.write)
	} else {
		err = upstream.ConvertVersionedAttributes(m.versioned, kind, m.write)
	}
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return m.versioned, nil
}

// admit calls the webhook at an index if it matches the write.
func (m *mutation) admit(ctx context.Context, hook *webhook, place int) error {
	var attr upstream.Attributes = m.write
	if m.versioned != nil {
		attr = m.versioned
	}
	to, err := hook.match(ctx, m.write, attr, m, admission.Mutating)
	if err != nil {
		return err
	}
	if to == nil || m.reinvocation.second && !m.reinvocation.again[hook.id] {
		return nil // the second round calls only webhooks of the first one
	}
	versioned, err := m.in(to.kind)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	note := annotator{attr: versioned, hook: hook, place: fmt.Sprintf("round_%d_index_%d", m.reinvocation.number(), place)}
	changed, err := m.call(ctx, hook, versioned, to, note)
	if changed {
		m.reinvocation.changed()
		m.write.GetReinvocationContext().SetShouldReinvoke()
	}
	if p := hook.ReinvocationPolicy; p != nil && *p == admissionregistrationv1.IfNeededReinvocationPolicy {
		m.reinvocation.called[hook.id] = true
	}
	if err == nil {
		return nil
	}
	failedOpen, err := hook.applyFailurePolicy(ctx, err)
	if failedOpen {
		note.failedOpen()
	}
	return err
}

// call calls the webhook and applies its patch.
func (m *mutation) call(ctx context.Context, hook *webhook, attr *upstream.VersionedAttributes, to *invocation, note annotator) (changed bool, err error) {
	c := call{began: time.Now(), before: attr.VersionedObject.Object(), again: m.reinvocation.second}
	defer func() {
		note.mutated(changed)
		c.after, c.changed = attr.VersionedObject.Object(), changed
		hook.record(m.write, c, err)
	}()
	resp, err := hook.call(ctx, m.write, attr, to, true)
	c.response = resp
	if err != nil || len(resp.Patch) == 0 {
		return false, err
	}
	patch, err := jsonpatch.DecodePatch(resp.Patch)
	if err != nil {
		return false, hook.failed(fmt.Errorf("received undecodable patch in webhook response: %w", err))
	}
	if len(patch) == 0 {
		return false, nil
	}
	before := attr.VersionedObject.Object()
	if before == nil {
		return false, apierrors.NewInternalError(fmt.Errorf(
			"admission webhook %q attempted to modify the object, which is not supported for this operation", hook.Name))
	}
	if resp.patchType != admissionv1.PatchTypeJSONPatch {
		return false, hook.failed(fmt.Errorf("unsupported patch type %q", resp.patchType))
	}
	after, err := m.apply(patch, attr)
	if err != nil {
		return false, apierrors.NewInternalError(err)
	}
	changed = !equality.Semantic.DeepEqual(before, after)
	note.patched(patch)
	attr.UpdateObject(after)
	m.patched = true
	m.write.GetObjectDefaulter().Default(after)
	return changed, nil
}

// apply returns the object with a patch applied.
func (m *mutation) apply(patch jsonpatch.Patch, attr *upstream.VersionedAttributes) (runtime.Object, error) {
	serializer := json.NewSerializerWithOptions(json.DefaultMetaFactory, m.write.GetObjectCreater(), m.write.GetObjectTyper(), json.SerializerOptions{})
	object := attr.VersionedObject.Object()
	before, err := runtime.Encode(serializer, object)
	if err != nil {
		return nil, err
	}
	after, err := patch.Apply(before)
	if err != nil {
		return nil, err
	}
	var patched runtime.Object = &unstructured.Unstructured{}
	if _, isMap := object.(*unstructured.Unstructured); !isMap {
		if patched, err = m.write.GetObjectCreater().New(attr.VersionedKind); err != nil {
			return nil, err
		}
	}
	patched, _, err = serializer.Decode(after, nil, patched)
	return patched, err
}
