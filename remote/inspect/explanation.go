// Code generated from inspect/explanation.go by go test ./internal/description -run RemoteHasTheTypes -update. DO NOT EDIT.

package inspect

import (
	"encoding/json"
	"time"
)

// Explanation describes how a server processed one write, stage by stage. A field is zero if its stage had no
// effect or did not run.
type Explanation struct {
	Request ExplainedRequest `json:"request"`
	// Access is the result of the authorization; nil: the request is exempt from authorization, or
	// ended before it.
	Access *Access `json:"access,omitempty"`
	// Fault is the effect of an injected fault that struck the request; empty: none did.
	Fault string `json:"fault,omitempty"`
	// Attempts is how often the server tried the write. It tries again if another write of the object came in
	// between. The following fields are those of the last attempt.
	Attempts int `json:"attempts,omitempty"`

	// Pruned are the fields that were sent and are not in the schema, with their values. Defaulted are the
	// fields that were not sent and have a default. Read are the fields whose decoded value differs from the
	// sent one, for example 1000m that is decoded as 1.
	Pruned    []FieldValue  `json:"pruned,omitempty"`
	Defaulted []FieldValue  `json:"defaulted,omitempty"`
	Read      []FieldChange `json:"read,omitempty"`

	// Conflicts are the fields that an apply may not change, because others own them.
	Conflicts []FieldConflict `json:"conflicts,omitempty"`
	// Overtaken has the writes since the client read the object; nil: the request has no resourceVersion, or
	// the current one.
	Overtaken *Overtaken `json:"overtaken,omitempty"`

	// Admission has the plugins, policies, webhooks and functions that were called, in this order, and the
	// policies and webhooks that were not called. A plugin that is compiled into the server is listed only if
	// it changed or denied something.
	Admission []AdmissionStep `json:"admission,omitempty"`

	// Prepared are the changes by the rules of the kind before validation: a status that a write of the
	// object cannot set is reset, a cluster IP is allocated.
	Prepared []FieldChange `json:"prepared,omitempty"`
	// Refused are the errors for which the object was rejected, field by field.
	Refused []FieldError `json:"refused,omitempty"`
	// Ratcheted are errors that were accepted, because the update does not change the invalid values. Only
	// custom objects have it.
	Ratcheted []FieldError `json:"ratcheted,omitempty"`
	// Rules are the CEL rules of the schema, and the cost of each. The server does not evaluate them if a
	// value has the wrong type, or if a required field is missing.
	Rules []CELRule `json:"rules,omitempty"`

	// Changes are the fields that the write changes, with their owners. For a new object they are
	// all its fields; for a refused write there are none.
	Changes []FieldChange `json:"changes,omitempty"`
	// Unchanged is true if an update would change nothing, so that nothing is written.
	Unchanged bool `json:"unchanged,omitempty"`

	// Warnings are those of the answer, and Annotations those of the audit event.
	Warnings    []string          `json:"warnings,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Answer      Answer            `json:"answer"`

	// Omitted is the reason why the explanation has only the request and the answer.
	Omitted string `json:"omitted,omitempty"`
}

// ExplainedRequest is the write that is explained.
type ExplainedRequest struct {
	User      string `json:"user"`
	UserAgent string `json:"userAgent,omitempty"`
	// Verb is create, update, patch or delete. Patch is the type of a patch: apply, json, merge or strategic.
	Verb  string `json:"verb"`
	Patch string `json:"patch,omitempty"`
	// Object names the written object, such as websites.example.com/status default/blog. Version is the
	// version of its group.
	Object  string `json:"object"`
	Version string `json:"version,omitempty"`
	// Manager is the field manager, which owns the fields that the write sets.
	Manager string `json:"manager,omitempty"`
	DryRun  bool   `json:"dryRun,omitempty"`
}

// Access reports whether the user of a request may make it.
type Access struct {
	Allowed bool `json:"allowed"`
	// Reason is the reason of the authorizer. It names the binding and the role that allow the request.
	Reason string `json:"reason,omitempty"`
}

// FieldConflict is a field that an apply may not change without force.
type FieldConflict struct {
	Path string `json:"path"`
	// Manager is the field manager that owns the field. Owner names it as the server's message does: with its
	// operation, its version and its subresource.
	Manager string `json:"manager"`
	Owner   string `json:"owner"`
}

// Overtaken describes an update of an object that others have written since the client read it.
type Overtaken struct {
	// Sent is the resourceVersion that the client has sent. Is is the current one.
	Sent int64 `json:"sent"`
	Is   int64 `json:"is"`
	// By are the writes in between, the oldest first, as far as the history has them.
	By []InterveningWrite `json:"by,omitempty"`
}

// InterveningWrite is a write that was made after the client read the object and before its own
// write.
type InterveningWrite struct {
	Revision int64         `json:"revision"`
	By       string        `json:"by,omitempty"` // the program, or the user
	Verb     string        `json:"verb,omitempty"`
	Changes  []FieldChange `json:"changes,omitempty"`
}

// The kinds of an AdmissionStep.
const (
	Plugin   = "plugin"   // compiled into the server
	Policy   = "policy"   // with one binding and one parameter
	Webhook  = "webhook"  // one call
	Function = "function" // of the option WithAdmission
)

// The outcomes of an AdmissionStep, and of a WebhookCall.
const (
	Allowed = "allowed"
	Changed = "changed"
	Denied  = "refused"
	Failed  = "failed"     // it did not respond; the failurePolicy decides about the write
	Skipped = "not called" // the message has the reason
)

// AdmissionStep is the result of one plugin, policy, webhook or function in admission.
type AdmissionStep struct {
	Kind  string `json:"kind"`
	Phase string `json:"phase"` // mutating or validating
	Name  string `json:"name"`
	// Configuration is the webhook configuration that contains the webhook. Binding and Params are
	// those of a policy; Params is empty if it has none.
	Configuration string `json:"configuration,omitempty"`
	Binding       string `json:"binding,omitempty"`
	Params        string `json:"params,omitempty"`
	// Again is true for the second call of a plugin or webhook, because another one has changed the object
	// since (reinvocation).
	Again bool `json:"again,omitempty"`

	// Outcome is [Allowed], [Changed], [Denied], [Failed] or [Skipped]. The validationActions of a binding
	// may let a write pass that its policy denies.
	Outcome string `json:"outcome"`
	// Message is the reason of the outcome.
	Message string        `json:"message,omitempty"`
	Changes []FieldChange `json:"changes,omitempty"`
	// Patch, Warnings and Annotations are those of a webhook's response.
	Patch       json.RawMessage   `json:"patch,omitempty"`
	Warnings    []string          `json:"warnings,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	// Expressions are the validations of a policy. Cost is their CEL cost together. Actions are the
	// validationActions of its binding.
	Expressions []Expression `json:"expressions,omitempty"`
	Cost        int64        `json:"cost,omitempty"`
	Actions     []string     `json:"actions,omitempty"`
	// Latency is how long a call took; in JSON in nanoseconds.
	Latency time.Duration `json:"latency,omitempty"`
}

// Expression is one validation of a policy.
type Expression struct {
	Index      int    `json:"index"`
	Expression string `json:"expression"`
	True       bool   `json:"true"`
	Message    string `json:"message,omitempty"` // of a refusal or of an error
}

// FieldError is a validation error of a field.
type FieldError struct {
	Path    string `json:"path"`
	Type    string `json:"type,omitempty"` // of the cause, such as FieldValueInvalid
	Message string `json:"message"`
	// Node is the node of the schema that the value violates, such as
	// openAPIV3Schema.properties.spec.properties.replicas, and Schema is that node without the
	// schemas of the fields below it. Both are empty for kinds without a schema, and for metadata.
	Node   string          `json:"node,omitempty"`
	Schema json.RawMessage `json:"schema,omitempty"`
	// Rule is the CEL rule that the value violates; empty: the error is not from a rule.
	Rule string `json:"rule,omitempty"`
	// Cost is what the rule has cost.
	Cost int64 `json:"cost,omitempty"`
}

// CELRule is a CEL rule of a schema, and what its evaluation cost.
type CELRule struct {
	Node string `json:"node"`
	Rule string `json:"rule"`
	// Cost is what the rule has cost for the whole object; 0: there was no value to evaluate it for.
	Cost int64 `json:"cost"`
	// Refuses are the paths of the fields that violate the rule.
	Refuses []string `json:"refuses,omitempty"`
}

// Answer is the response of the server.
type Answer struct {
	Code    int    `json:"code"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}
