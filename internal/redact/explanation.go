package redact

import (
	"encoding/json"
	"strings"

	"github.com/fakecluster/fakecluster/inspect"
)

// Explanation returns what may be shown of the explanation of the request.
func (r Request) Explanation(e inspect.Explanation) inspect.Explanation {
	r = r.read()
	e.Pruned, e.Defaulted = r.values(e.Pruned), r.values(e.Defaulted)
	e.Read, e.Prepared, e.Changes = r.changes(e.Read), r.changes(e.Prepared), r.changes(e.Changes)
	if e.Overtaken != nil {
		overtaken := *e.Overtaken
		overtaken.By = each(overtaken.By, func(by inspect.InterveningWrite) inspect.InterveningWrite {
			by.Changes = r.changes(by.Changes)
			return by
		})
		e.Overtaken = &overtaken
	}
	e.Admission = each(e.Admission, r.step)
	e.Refused, e.Ratcheted = each(e.Refused, r.refusal), each(e.Ratcheted, r.refusal)
	e.Warnings, e.Annotations = each(e.Warnings, r.Text), r.annotations(e.Annotations)
	return e
}

func (r Request) step(s inspect.AdmissionStep) inspect.AdmissionStep {
	s.Message, s.Warnings, s.Annotations = r.Text(s.Message), each(s.Warnings, r.Text), r.annotations(s.Annotations)
	s.Changes = r.changes(s.Changes)
	s.Expressions = each(s.Expressions, func(x inspect.Expression) inspect.Expression {
		x.Message = r.Text(x.Message)
		return x
	})
	if len(s.Patch) > 0 && (r.Secret || hasSecret(string(s.Patch))) {
		s.Patch = json.RawMessage(`"` + Hidden + `"`) // Changes lists the fields
	}
	return s
}

func (r Request) values(all []inspect.FieldValue) []inspect.FieldValue {
	return each(all, func(v inspect.FieldValue) inspect.FieldValue {
		v.Value = r.Value(v.Path, v.Value)
		return v
	})
}

func (r Request) changes(all []inspect.FieldChange) []inspect.FieldChange {
	return each(all, func(c inspect.FieldChange) inspect.FieldChange {
		c.Was, c.Is = r.Value(c.Path, c.Was), r.Value(c.Path, c.Is)
		if c.Was == Hidden {
			c.Was = Former
		}
		return c
	})
}

func (r Request) refusal(of inspect.FieldError) inspect.FieldError {
	of.Message = r.Cause(of.Message)
	if of.Path != "" && r.Secret {
		of.Path = fieldOf(of.Path)
	}
	return of
}

// annotations returns those that may be shown. Those of webhooks and policies can have anything in their names
// and values.
func (r Request) annotations(all map[string]string) map[string]string {
	if !r.Secret {
		return all
	}
	var shown map[string]string
	for key, value := range all {
		if strings.HasPrefix(key, "authorization.k8s.io/") {
			if shown == nil {
				shown = map[string]string{}
			}
			shown[key] = value
		}
	}
	return shown
}

// each returns the list of what a function makes of the items of another one.
func each[T any](all []T, of func(T) T) []T {
	if all == nil {
		return nil
	}
	made := make([]T, len(all))
	for i, one := range all {
		made[i] = of(one)
	}
	return made
}
