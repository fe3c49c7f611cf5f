// Code generated from inspect/explanation.go by go test ./internal/description -run RemoteHasTheTypes -update. DO NOT EDIT.

package inspect

import (
	"encoding/json"
	"time"
)

// Explanation is how a server processed one write, stage by stage. A field is zero if its stage had
// no effect or did not run.
type Explanation struct {
	Request ExplainedRequest `json:"request"`
	// Access is the result of the authorization; nil: the request is exempt from authorization, or
	// ended before it.
	Access *Access `json:"access,omitempty"`
	// Fault is what a fault on purpose has done to the request.
	Fault string `json:"fault,omitempty"`
	// Attempts is how often the server tried, because other writes came in between. The following
	// fields are those of the last attempt.
	Attempts int `json:"attempts,omitempty"`

	// Pruned are the fields that were sent and are not in the schema, with their values. Defaulted
	// are those that were not sent and have a default. Read are those whose value is read
	// differently from how it was sent, for example 1000m as 1.
	Pruned    []FieldValue  `json:"pruned,omitempty"`
	Defaulted []FieldValue  `json:"defaulted,omitempty"`
	Read      []FieldChange `json:"read,omitempty"`

	// Conflicts are the fields that an apply may not change, because others own them.
	Conflicts []FieldConflict `json:"conflicts,omitempty"`
	// Overtaken has the writes since the client read the object; nil: the request has no
	// resourceVersion, or the present one.
	Overtaken *Overtaken `json:"overtaken,omitempty"`

	// Admission has the plugins, policies, webhooks and functions that were called, in this order,
	// and the policies and webhooks that were not called. A plugin that is compiled into the server
	// is listed only if it changed or refused something.
	Admission []AdmissionStep `json:"admission,omitempty"`

	// Prepared is what the kind itself changed before it validated the object: a status that a
	// write of the object cannot set, a cluster IP that was allocated.
	Prepared []FieldChange `json:"prepared,omitempty"`
	// Refused is what is wrong with the object, field by field.
	Refused []FieldError `json:"refused,omitempty"`
	// Ratcheted is what is wrong with the object and is accepted, because the update has not
	// changed it. Only custom objects have it.
	Ratcheted []FieldError `json:"ratcheted,omitempty"`
	// Rules are the CEL rules of the schema, and what each has cost. They are not evaluated if the
	// schema refuses the type of a value, or if something is missing.
	Rules []CELRule `json:"rules,omitempty"`

	// Changes are the fields that the write changes, with their owners. For a new object they are
	// all its fields; for a refused write there are none.
	Changes []FieldChange `json:"changes,omitempty"`
	// Unchanged says that an update would change nothing, so that nothing is written.
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
	// Verb is create, update, patch or delete, and Patch the type of a patch: apply, json, merge or
	// strategic.
	Verb  string `json:"verb"`
	Patch string `json:"patch,omitempty"`
	// Object names what is written, such as websites.example.com/status default/blog, and Version
	// the version of its group.
	Object  string `json:"object"`
	Version string `json:"version,omitempty"`
	// Manager becomes the owner of the fields that the write sets.
	Manager string `json:"manager,omitempty"`
	DryRun  bool   `json:"dryRun,omitempty"`
}

// Access reports whether the user of a request may make it.
type Access struct {
	Allowed bool `json:"allowed"`
	// Reason is that of the authorizer, which names the binding and the role that allow it.
	Reason string `json:"reason,omitempty"`
}

// FieldConflict is a field that an apply may not change without force.
type FieldConflict struct {
	Path string `json:"path"`
	// Manager owns the field. Owner names it as the server does: with its operation, its version
	// and its subresource.
	Manager string `json:"manager"`
	Owner   string `json:"owner"`
}

// Overtaken describes an update of an object that others have written since the client read it.
type Overtaken struct {
	// Sent is the resourceVersion that the client has sent, and Is the present one.
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
	// Again says that it was called a second time, because others have changed the object since.
	Again bool `json:"again,omitempty"`

	// Outcome is allowed, changed, refused, failed or not called. The validationActions of a
	// binding may let a write pass that its policy refuses.
	Outcome string `json:"outcome"`
	// Message is why.
	Message string        `json:"message,omitempty"`
	Changes []FieldChange `json:"changes,omitempty"`
	// Patch, Warnings and Annotations are those that a webhook has answered.
	Patch       json.RawMessage   `json:"patch,omitempty"`
	Warnings    []string          `json:"warnings,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	// Expressions are the validations of a policy, Cost what they have cost together, and Actions
	// what its binding does with a refusal.
	Expressions []Expression `json:"expressions,omitempty"`
	Cost        int64        `json:"cost,omitempty"`
	Actions     []string     `json:"actions,omitempty"`
	// Latency is the time that a call has taken, in nanoseconds.
	Latency time.Duration `json:"latency,omitempty"`
}

// Expression is one validation of a policy.
type Expression struct {
	Index      int    `json:"index"`
	Expression string `json:"expression"`
	True       bool   `json:"true"`
	Message    string `json:"message,omitempty"` // of a refusal or of an error
}

// FieldError is what is wrong with a field.
type FieldError struct {
	Path    string `json:"path"`
	Type    string `json:"type,omitempty"` // of the cause, such as FieldValueInvalid
	Message string `json:"message"`
	// Node is the node of the schema that the value violates, such as
	// openAPIV3Schema.properties.spec.properties.replicas, and Schema is that node without the
	// schemas of the fields below it. Both are empty for kinds without a schema, and for metadata.
	Node   string          `json:"node,omitempty"`
	Schema json.RawMessage `json:"schema,omitempty"`
	// Rule is the CEL rule that refuses the value; empty: the error is not from a rule.
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
	// Refuses are the fields that break the rule.
	Refuses []string `json:"refuses,omitempty"`
}

// Answer is the response of the server.
type Answer struct {
	Code    int    `json:"code"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}
