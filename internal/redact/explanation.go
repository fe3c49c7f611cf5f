package redact

import (
	"encoding/json"
	"strings"

	"github.com/fakecluster/fakecluster/inspect"
)

// Explanation returns the explanation of the request without hidden values.
func (r Request) Explanation(e inspect.Explanation) inspect.Explanation {
	r = r.read()
	e.Pruned, e.Defaulted = r.values(e.Pruned), r.values(e.Defaulted)
	e.Read, e.Prepared, e.Changes = r.changes(e.Read), r.changes(e.Prepared), r.changes(e.Changes)
	if e.Overtaken != nil {
		overtaken := *e.Overtaken
		overtaken.By = mapItems(overtaken.By, func(by inspect.InterveningWrite) inspect.InterveningWrite {
			by.Changes = r.changes(by.Changes)
			return by
		})
		e.Overtaken = &overtaken
	}
	e.Admission = mapItems(e.Admission, r.step)
	e.Refused, e.Ratcheted = mapItems(e.Refused, r.refusal), mapItems(e.Ratcheted, r.refusal)
	e.Warnings, e.Annotations = mapItems(e.Warnings, r.Text), r.annotations(e.Annotations)
	return e
}

func (r Request) step(s inspect.AdmissionStep) inspect.AdmissionStep {
	s.Message, s.Warnings, s.Annotations = r.Text(s.Message), mapItems(s.Warnings, r.Text), r.annotations(s.Annotations)
	s.Changes = r.changes(s.Changes)
	s.Expressions = mapItems(s.Expressions, func(x inspect.Expression) inspect.Expression {
		x.Message = r.Text(x.Message)
		return x
	})
	if len(s.Patch) > 0 && (r.Secret || hasSecret(string(s.Patch))) {
		s.Patch = json.RawMessage(`"` + Hidden + `"`) // Changes lists the fields
	}
	return s
}

func (r Request) values(values []inspect.FieldValue) []inspect.FieldValue {
	return mapItems(values, func(v inspect.FieldValue) inspect.FieldValue {
		v.Value = r.Value(v.Path, v.Value)
		return v
	})
}

func (r Request) changes(changes []inspect.FieldChange) []inspect.FieldChange {
	return mapItems(changes, func(c inspect.FieldChange) inspect.FieldChange {
		c.Was, c.Is = r.Value(c.Path, c.Was), r.Value(c.Path, c.Is)
		if c.Was == Hidden {
			c.Was = Former
		}
		return c
	})
}

func (r Request) refusal(cause inspect.FieldError) inspect.FieldError {
	cause.Message = r.Cause(cause.Message)
	if cause.Path != "" && r.Secret {
		cause.Path = fieldOf(cause.Path)
	}
	return cause
}

// annotations returns the annotations that may be shown. Those of webhooks and policies may contain anything.
func (r Request) annotations(annotations map[string]string) map[string]string {
	if !r.Secret {
		return annotations
	}
	var shown map[string]string
	for key, value := range annotations {
		if strings.HasPrefix(key, "authorization.k8s.io/") {
			if shown == nil {
				shown = map[string]string{}
			}
			shown[key] = value
		}
	}
	return shown
}

// mapItems returns the results of a function for the items of a list.
func mapItems[T any](items []T, redacted func(T) T) []T {
	if items == nil {
		return nil
	}
	made := make([]T, len(items))
	for i, one := range items {
		made[i] = redacted(one)
	}
	return made
}
