package rewrite

import (
	"regexp"
	"slices"
	"time"

	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// volatileFields are the fields for which the server generates a new value in each run.
var volatileFields = []string{"uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "managedFields", "selfLink", "continue"}

// stable returns the part of a value that is the same in each run.
func (r *Rewriter) stable(name string, value any) any {
	if r.isVolatile(name, value) {
		return syntax.Present{}
	}
	return r.WithoutVolatile(value)
}

// isVolatile reports whether a field has a new value in each run.
func (r *Rewriter) isVolatile(name string, value any) bool {
	switch v := value.(type) {
	case syntax.Absent:
		return false
	case string:
		parsed, err := time.Parse(time.RFC3339Nano, v)
		const day = 24 * time.Hour
		if r.InTable && age.MatchString(v) {
			return true
		}
		if err == nil && (time.Since(parsed).Abs() < day || parsed.Sub(bubbleStart).Abs() < day) {
			return true
		}
	}
	return slices.Contains(volatileFields, name)
}

// age matches an age as a Table shows it, such as 3h5m.
var age = regexp.MustCompile(`^(\d+(y|d|h|m|s))+( ago)?$|^<unknown>$`)

// bubbleStart is when the time of a bubble begins.
var bubbleStart = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// WithoutVolatile returns a copy of value in which values that are new in each run are !present.
func (r *Rewriter) WithoutVolatile(value any) any {
	switch v := value.(type) {
	case map[string]any:
		fields := map[string]any{}
		for name, field := range v {
			if !r.isVolatile(name, field) {
				fields[name] = r.WithoutVolatile(field)
			}
		}
		return fields
	case []any:
		items := make([]any, len(v))
		for i, item := range v {
			if items[i] = r.WithoutVolatile(item); r.isVolatile("", item) {
				items[i] = syntax.Present{}
			}
		}
		return items
	}
	return value
}
