package scenarios

import (
	"regexp"
	"slices"
	"time"
)

// serverMade are the fields that the server makes, with another value in each run.
var serverMade = []string{"uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "managedFields", "selfLink", "continue"}

// lasting returns the part of a value that is the same in each run.
func (r *rewriting) lasting(name string, value any) any {
	if r.passing(name, value) {
		return present{}
	}
	return r.withoutPassing(value)
}

// passing tells whether a field has another value in each run.
func (r *rewriting) passing(name string, value any) bool {
	switch v := value.(type) {
	case absent:
		return false
	case string:
		at, err := time.Parse(time.RFC3339Nano, v)
		const day = 24 * time.Hour
		if r.inTable && age.MatchString(v) {
			return true
		}
		if err == nil && (time.Since(at).Abs() < day || at.Sub(bubbleBegins).Abs() < day) {
			return true
		}
	}
	return slices.Contains(serverMade, name)
}

// age matches how long ago something was, as a Table shows it.
var age = regexp.MustCompile(`^(\d+(y|d|h|m|s))+( ago)?$|^<unknown>$`)

// bubbleBegins is when the time of a bubble begins.
var bubbleBegins = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func (r *rewriting) withoutPassing(value any) any {
	switch v := value.(type) {
	case map[string]any:
		fields := map[string]any{}
		for name, field := range v {
			if !r.passing(name, field) {
				fields[name] = r.withoutPassing(field)
			}
		}
		return fields
	case []any:
		items := make([]any, len(v))
		for i, item := range v {
			if items[i] = r.withoutPassing(item); r.passing("", item) {
				items[i] = present{}
			}
		}
		return items
	}
	return value
}
