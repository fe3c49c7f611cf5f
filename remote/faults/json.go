package faults

import (
	"encoding/json"
	"fmt"
	"time"
)

// MarshalJSON writes the fault as the control API has it.
func (f Fault) MarshalJSON() ([]byte, error) {
	effect, err := f.Effect.data()
	if err != nil {
		return nil, err
	}
	return json.Marshal(struct {
		Verb        string         `json:"verb,omitempty"`
		Resource    string         `json:"resource,omitempty"`
		Subresource string         `json:"subresource,omitempty"`
		Namespace   string         `json:"namespace,omitempty"`
		Name        string         `json:"name,omitempty"`
		User        string         `json:"user,omitempty"`
		UserAgent   string         `json:"userAgent,omitempty"`
		AuditID     string         `json:"auditID,omitempty"`
		After       int            `json:"after,omitempty"`
		Times       int            `json:"times,omitempty"`
		Probability float64        `json:"probability,omitempty"`
		Optional    bool           `json:"optional,omitempty"`
		Latency     string         `json:"latency,omitempty"`
		Effect      map[string]any `json:"effect,omitempty"`
	}{f.Verb, f.Resource, f.Subresource, f.Namespace, f.Name, f.User, f.UserAgent, f.AuditID, f.After, f.Times, f.Probability, f.Optional, text(f.Latency), effect})
}

// text returns a duration as the control API has it.
func text(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

// data returns the effect as the control API has it; nil: none.
func (e Effect) data() (map[string]any, error) {
	if e.Type == "" {
		return nil, nil
	}
	data := map[string]any{"type": e.Type}
	if e.Err != nil {
		status, err := statusOf(e.Err)
		if err != nil {
			return nil, err
		}
		data["status"] = status
	}
	if e.Message != "" {
		data["message"] = e.Message
	}
	if e.Duration != 0 {
		data["duration"] = e.Duration.String()
	}
	if e.Count != 0 {
		data["count"] = e.Count
	}
	if e.Webhook != "" {
		data["webhook"] = e.Webhook
	}
	return data, nil
}

// statusOf returns the Status of an error of k8s.io/apimachinery/pkg/api/errors, which has it in its field ErrStatus.
func statusOf(err error) (json.RawMessage, error) {
	var answer struct{ ErrStatus json.RawMessage }
	if text, failed := json.Marshal(err); failed != nil || json.Unmarshal(text, &answer) != nil || answer.ErrStatus == nil {
		return nil, fmt.Errorf("Fail: the error has no Status; make it with k8s.io/apimachinery/pkg/api/errors: %v", err)
	}
	return answer.ErrStatus, nil
}
