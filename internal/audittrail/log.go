package audittrail

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/audit/policy"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// Log is the audit log of a server, as kube-apiserver writes it with its flags --audit-policy-file and --audit-log-path.
type Log struct {
	// Policy selects which requests are logged, and at which level.
	Policy *auditinternal.Policy
	// To receives the events, each as a line of JSON, before the response to their request is sent.
	To io.Writer
}

// writer writes the events of a log. Unlike a real server it applies the policy when it writes an event,
// because the event of a request begins before its user is authenticated.
type writer struct {
	policy audit.PolicyRuleEvaluator

	mu      sync.Mutex
	to      io.Writer
	started map[types.UID]bool // watches whose start is in the log
}

func newWriter(l *Log) *writer {
	if l == nil {
		return nil
	}
	return &writer{policy: policy.NewPolicyRuleEvaluator(l.Policy), to: l.To, started: map[types.UID]bool{}}
}

// write writes the part of an event that the policy selects.
func (l *writer) write(e *auditinternal.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.started[e.AuditID] {
		if err := l.line(received(e)); err != nil {
			return err
		}
	}
	if e.Stage == auditinternal.StageResponseStarted {
		l.started[e.AuditID] = true
	} else {
		delete(l.started, e.AuditID)
	}
	return l.line(e)
}

// received returns the event of the stage RequestReceived.
func received(e *auditinternal.Event) *auditinternal.Event {
	r := e.DeepCopy()
	r.Stage, r.StageTimestamp = auditinternal.StageRequestReceived, e.RequestReceivedTimestamp
	r.ResponseStatus, r.RequestObject, r.ResponseObject, r.Annotations = nil, nil, nil, nil
	return r
}

func (l *writer) line(e *auditinternal.Event) error {
	config := l.policy.EvaluatePolicyRule(attributesOf(e))
	if config.Level == auditinternal.LevelNone || slices.Contains(config.OmitStages, e.Stage) {
		return nil
	}
	var out auditv1.Event
	if err := auditv1.Convert_audit_Event_To_v1_Event(e, &out, nil); err != nil {
		return fmt.Errorf("converting an audit event: %w", err)
	}
	out.SetGroupVersionKind(auditv1.SchemeGroupVersion.WithKind("Event"))
	out.Level = auditv1.Level(config.Level)
	if config.Level.Less(auditinternal.LevelRequest) {
		out.RequestObject, out.Annotations = nil, withoutPatches(out.Annotations)
	}
	if config.Level.Less(auditinternal.LevelRequestResponse) {
		out.ResponseObject = nil
	}
	if config.OmitManagedFields {
		out.RequestObject, out.ResponseObject = withoutManagedFields(out.RequestObject), withoutManagedFields(out.ResponseObject)
	}
	text, err := json.Marshal(&out)
	if err != nil {
		return fmt.Errorf("encoding an audit event: %w", err)
	}
	if _, err := l.to.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("writing the audit log: %w", err)
	}
	return nil
}

// attributesOf returns the attributes of a request that a policy matches.
func attributesOf(e *auditinternal.Event) authorizer.Attributes {
	path, _, _ := strings.Cut(e.RequestURI, "?")
	a := authorizer.AttributesRecord{
		User: &user.DefaultInfo{Name: e.User.Username, Groups: e.User.Groups}, Verb: e.Verb, Path: path, ResourceRequest: e.ObjectRef != nil,
	}
	if ref := e.ObjectRef; ref != nil {
		a.Namespace, a.Name, a.Subresource = ref.Namespace, ref.Name, ref.Subresource
		a.APIGroup, a.APIVersion, a.Resource = ref.APIGroup, ref.APIVersion, ref.Resource
	}
	return a
}

// withoutPatches removes annotations with the patches of webhooks, which are part of the request.
func withoutPatches(annotations map[string]string) map[string]string {
	isPatch := func(key, _ string) bool { return strings.HasPrefix(key, mutating.PatchAuditAnnotationPrefix) }
	kept := maps.Clone(annotations)
	maps.DeleteFunc(kept, isPatch)
	return kept
}

// withoutManagedFields removes the managedFields from an object, or from the items of a
// list.
func withoutManagedFields(obj *runtime.Unknown) *runtime.Unknown {
	if obj == nil {
		return nil
	}
	var content map[string]any
	if err := utiljson.Unmarshal(obj.Raw, &content); err != nil {
		return obj // a JSON patch is a list
	}
	items, _ := content["items"].([]any)
	for _, one := range append(items, content) {
		if one, ok := one.(map[string]any); ok {
			if metadata, ok := one["metadata"].(map[string]any); ok {
				delete(metadata, "managedFields")
			}
		}
	}
	text, err := json.Marshal(content)
	if err != nil {
		return obj
	}
	return &runtime.Unknown{Raw: text, ContentType: obj.ContentType}
}
