package schema

import (
	"math"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
)

// numberLimits are the rules of a schema for numbers.
type numberLimits struct {
	rare       bool // a limit that upstream treats in a way of its own
	min, max   *numberLimit
	multipleOf int64 // 0: of anything
}

// numberLimit is a minimum or a maximum. Upstream compares integers with its integer part.
type numberLimit struct {
	float     float64
	integer   int64
	exclusive bool
}

// maxExact is 2^53: a float64 can represent every integer up to it.
const maxExact = 1 << 53

func newNumberLimit(limit *float64, exclusive bool) *numberLimit {
	if limit == nil {
		return nil
	}
	l := &numberLimit{float: *limit, exclusive: exclusive}
	if math.Abs(*limit) <= maxExact {
		l.integer = int64(*limit)
	}
	return l
}

// numbers compiles the limits of numbers. Upstream reports a limit that does not fit the
// type as an error, whatever the value is.
func (k *keywords) numbers(p *apiextensions.JSONSchemaProps) {
	if p.Minimum == nil && p.Maximum == nil && p.MultipleOf == nil {
		return
	}
	l := &numberLimits{
		min: newNumberLimit(p.Minimum, p.ExclusiveMinimum),
		max: newNumberLimit(p.Maximum, p.ExclusiveMaximum),
	}
	for _, limit := range []*float64{p.Minimum, p.Maximum, p.MultipleOf} {
		if limit == nil {
			continue
		}
		whole := *limit == math.Trunc(*limit)
		fits := math.Abs(*limit) <= maxExact
		if p.Format == "int32" {
			fits = fits && *limit >= math.MinInt32 && *limit <= math.MaxInt32
		}
		l.rare = l.rare || !fits || !whole && k.types == isInteger
	}
	if p.MultipleOf != nil {
		if l.multipleOf = int64(*p.MultipleOf); l.multipleOf <= 0 || float64(l.multipleOf) != *p.MultipleOf {
			l.rare = true
		}
	}
	k.number = l
}

func (l *numberLimits) integer(v int64) validity {
	if l.rare {
		return unknown
	}
	if m := l.min; m != nil && (v < m.integer || m.exclusive && v == m.integer) {
		return invalid
	}
	if m := l.max; m != nil && (v > m.integer || m.exclusive && v == m.integer) {
		return invalid
	}
	return validityOf(l.multipleOf == 0 || v%l.multipleOf == 0)
}

func (l *numberLimits) float(v float64) validity {
	if l.rare || l.multipleOf != 0 {
		return unknown
	}
	if m := l.min; m != nil && (v < m.float || m.exclusive && v == m.float) {
		return invalid
	}
	if m := l.max; m != nil && (v > m.float || m.exclusive && v == m.float) {
		return invalid
	}
	return valid
}

// enum has the allowed values of a schema.
type enum struct {
	texts  map[string]bool
	others []any // numbers and booleans
	rare   bool  // values of other types
}

func newEnum(values []apiextensions.JSON) *enum {
	e := &enum{texts: map[string]bool{}}
	for _, value := range values {
		switch v := any(value).(type) {
		case string:
			e.texts[v] = true
		case int64, float64, bool:
			e.others = append(e.others, v)
		case nil: // no value matches
		default:
			e.rare = true
		}
	}
	return e
}

// evaluate compares as upstream does. Upstream converts the value to the type of each allowed
// value: an integer may match a float, and even a one-letter string.
func (e *enum) evaluate(value any) validity {
	switch v := value.(type) {
	case string:
		if e.texts[v] {
			return valid
		}
		if !e.rare {
			return invalid
		}
	case bool:
		if slices.Contains(e.others, value) {
			return valid
		}
		if !e.rare {
			return invalid
		}
	case int64:
		for _, other := range e.others {
			if float, ok := other.(float64); other == value || ok && float == float64(v) {
				return valid
			}
		}
	case float64:
		if slices.Contains(e.others, value) {
			return valid
		}
	}
	return unknown
}
