package webhook

import (
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	upstream "k8s.io/apiserver/pkg/admission"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/klog/v2"
)

// annotate adds an annotation to the audit event of the request.
func annotate(attr *upstream.VersionedAttributes, key, value string) {
	if err := attr.Attributes.AddAnnotation(key, value); err != nil {
		klog.Warningf("Failed to set admission audit annotation %s to %s: %v", key, value, err)
	}
}

// annotator adds the result of a call of a mutating webhook to the audit event.
type annotator struct {
	attr  *upstream.VersionedAttributes
	hook  *webhook
	place string // the round, and the index of the webhook
}

func (a annotator) failedOpen() {
	annotate(a.attr, "failed-open.mutation.webhook.admission.k8s.io/"+a.place, a.hook.Name)
}

func (a annotator) mutated(mutated bool) {
	value, err := utiljson.Marshal(struct {
		Configuration string `json:"configuration"`
		Webhook       string `json:"webhook"`
		Mutated       bool   `json:"mutated"`
	}{a.hook.configuration, a.hook.Name, mutated})
	if err == nil {
		annotate(a.attr, "mutation.webhook.admission.k8s.io/"+a.place, string(value))
	}
}

// patched adds the patch, if the audit level includes the bodies of requests.
func (a annotator) patched(patch jsonpatch.Patch) {
	value, err := utiljson.Marshal(struct {
		Configuration string          `json:"configuration"`
		Webhook       string          `json:"webhook"`
		Patch         jsonpatch.Patch `json:"patch,omitempty"`
		PatchType     string          `json:"patchType,omitempty"`
	}{a.hook.configuration, a.hook.Name, patch, string(admissionv1.PatchTypeJSONPatch)})
	if err != nil {
		return
	}
	if err := a.attr.Attributes.AddAnnotationWithLevel("patch.webhook.admission.k8s.io/"+a.place, string(value), auditinternal.LevelRequest); err != nil {
		klog.Warningf("Failed to set the patch annotation of webhook %s: %v", a.hook.Name, err)
	}
}
