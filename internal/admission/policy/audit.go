package policy

import (
	"encoding/json"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/klog/v2"
)

const (
	// failuresKey is the key of the annotation with failures of bindings with the action Audit.
	failuresKey = "validation.policy.admission.k8s.io/validation_failure"
	// maxFailures is the maximum number of failures in the annotation.
	maxFailures = 50
	// maxAnnotation is the maximum size of an audit annotation's value, in bytes. Longer values are truncated.
	maxAnnotation = 10 * 1024
)

// failure is a failed validation in the form of the audit annotation.
type failure struct {
	Message           string                                     `json:"message"`
	Policy            string                                     `json:"policy"`
	Binding           string                                     `json:"binding"`
	ExpressionIndex   int                                        `json:"expressionIndex"`
	ValidationActions []admissionregistrationv1.ValidationAction `json:"validationActions"`
}

func publishFailures(a admission.Attributes, failures []failure) {
	if len(failures) == 0 {
		return
	}
	value, err := json.Marshal(failures[:min(len(failures), maxFailures)])
	if err != nil {
		klog.ErrorS(err, "Failed to marshal the failed validations", "key", failuresKey)
		return
	}
	annotate(a, failuresKey, string(value))
}

// annotations has the values of a policy's audit annotations for all bindings, each value once.
type annotations struct {
	keys   []string
	values map[string][]string
}

func (a *annotations) add(key, value string) {
	if len(value) > maxAnnotation {
		value = value[:maxAnnotation]
	}
	if a.values == nil {
		a.values = map[string][]string{}
	}
	if a.values[key] == nil {
		a.keys = append(a.keys, key)
	}
	if !slices.Contains(a.values[key], value) {
		a.values[key] = append(a.values[key], value)
	}
}

func (a *annotations) publish(policy string, to admission.Attributes) {
	for _, key := range a.keys {
		annotate(to, policy+"/"+key, strings.Join(a.values[key], ", "))
	}
}

func annotate(a admission.Attributes, key, value string) {
	if err := a.AddAnnotation(key, value); err != nil {
		klog.ErrorS(err, "Failed to add an audit annotation", "key", key)
	}
}
