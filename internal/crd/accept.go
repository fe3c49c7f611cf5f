package crd

import (
	"math"
	"regexp"
	"unicode/utf8"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
)

// acceptor is a schema that can say of a value that it is valid, in a fraction of
// the time that validation takes, and of no value that it is not: what it does
// not accept is left to validation, which knows the words. It holds the keywords
// that definitions use most; a node with any other accepts nothing.
//
// It is immutable.
type acceptor struct {
	opaque      bool // a keyword that is not known here: accept nothing
	typ         string
	nullable    bool
	intOrString bool

	properties map[string]*acceptor
	additional *acceptor // of the values of a map; nil: any
	items      *acceptor // nil: any
	required   []string

	enum                 map[string]bool // nil: any string
	pattern              *regexp.Regexp
	minLength, maxLength int64
	minimum, maximum     float64
	ofItems, ofFields    countLimit
}

// countLimit is how many items or fields there may be. A schema can limit both, a
// value has either.
type countLimit struct{ min, max int64 }

func newCountLimit(least, most *int64) countLimit {
	l := countLimit{0, math.MaxInt64}
	if least != nil {
		l.min = *least
	}
	if most != nil {
		l.max = *most
	}
	return l
}

func (l countLimit) allows(n int) bool { return int64(n) >= l.min && int64(n) <= l.max }

// newAcceptor compiles a schema; none accepts everything.
func newAcceptor(s *apiextensions.JSONSchemaProps) *acceptor {
	if s == nil {
		return &acceptor{}
	}
	a := &acceptor{
		typ: s.Type, nullable: s.Nullable, intOrString: s.XIntOrString, required: s.Required,
		minLength: 0, maxLength: math.MaxInt64, minimum: math.Inf(-1), maximum: math.Inf(1),
		ofItems: newCountLimit(s.MinItems, s.MaxItems), ofFields: newCountLimit(s.MinProperties, s.MaxProperties),
	}
	a.opaque = hasRareKeyword(s)
	a.limit(s)
	if s.Pattern != "" {
		var err error
		if a.pattern, err = regexp.Compile(s.Pattern); err != nil {
			a.opaque = true
		}
	}
	if len(s.Enum) > 0 {
		a.enum = make(map[string]bool, len(s.Enum))
		for _, value := range s.Enum {
			text, ok := value.(string)
			if !ok {
				a.opaque = true
			}
			a.enum[text] = true
		}
	}
	if len(s.Properties) > 0 {
		a.properties = make(map[string]*acceptor, len(s.Properties))
		for name, property := range s.Properties {
			a.properties[name] = newAcceptor(&property)
		}
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		a.additional = newAcceptor(s.AdditionalProperties.Schema)
	}
	if s.Items != nil && s.Items.Schema != nil {
		a.items = newAcceptor(s.Items.Schema)
	}
	return a
}

// hasRareKeyword tells whether a node says something that an acceptor does not
// know.
func hasRareKeyword(s *apiextensions.JSONSchemaProps) bool {
	knownFormat := s.Format == "" || s.Type == "integer" && s.Format == "int64"
	return !knownFormat || isFraction(s.Minimum) || isFraction(s.Maximum) || s.Ref != nil || s.UniqueItems || s.MultipleOf != nil || s.ExclusiveMinimum || s.ExclusiveMaximum ||
		len(s.AllOf) > 0 || len(s.AnyOf) > 0 || len(s.OneOf) > 0 || s.Not != nil ||
		len(s.PatternProperties) > 0 || len(s.Dependencies) > 0 || len(s.Definitions) > 0 || s.AdditionalItems != nil ||
		s.XEmbeddedResource || s.Items != nil && s.Items.Schema == nil ||
		s.AdditionalProperties != nil && s.AdditionalProperties.Schema == nil && !s.AdditionalProperties.Allows
}

// isFraction tells whether a limit is no whole number. Upstream treats those of
// integers in a way of its own.
func isFraction(limit *float64) bool { return limit != nil && *limit != math.Trunc(*limit) }

func (a *acceptor) limit(s *apiextensions.JSONSchemaProps) {
	if s.Minimum != nil {
		a.minimum = *s.Minimum
	}
	if s.Maximum != nil {
		a.maximum = *s.Maximum
	}
	if s.MinLength != nil {
		a.minLength = *s.MinLength
	}
	if s.MaxLength != nil {
		a.maxLength = *s.MaxLength
	}
}

// accepts tells whether a value is valid beyond doubt.
func (a *acceptor) accepts(value any) bool {
	if a.opaque {
		return false
	}
	switch v := value.(type) {
	case map[string]any:
		return a.is("object") && a.acceptsMap(v)
	case []any:
		return a.is("array") && a.acceptsList(v)
	case string:
		return (a.is("string") || a.intOrString) && a.acceptsString(v)
	case int64:
		return (a.is("integer") || a.is("number") || a.intOrString) && a.enum == nil && a.acceptsNumber(float64(v)) && exact(v)
	case float64:
		return a.is("number") && a.enum == nil && a.acceptsNumber(v)
	case bool:
		return a.is("boolean") && a.enum == nil
	case nil:
		return a.nullable && a.enum == nil
	}
	return false
}

// is tells whether the node takes values of a type; one without a type takes all.
func (a *acceptor) is(typ string) bool { return a.typ == typ || a.typ == "" && !a.intOrString }

// exact tells whether an integer survives as a float, in which limits are.
func exact(v int64) bool { return v > -1<<53 && v < 1<<53 }

func (a *acceptor) acceptsNumber(v float64) bool {
	return v >= a.minimum && v <= a.maximum
}

func (a *acceptor) acceptsString(v string) bool {
	if a.enum != nil && !a.enum[v] {
		return false
	}
	if length := int64(utf8.RuneCountInString(v)); length < a.minLength || length > a.maxLength {
		return false
	}
	return a.pattern == nil || a.pattern.MatchString(v)
}

func (a *acceptor) acceptsList(v []any) bool {
	if !a.ofItems.allows(len(v)) || a.enum != nil {
		return false
	}
	for _, item := range v {
		if a.items != nil && !a.items.accepts(item) {
			return false
		}
	}
	return true
}

func (a *acceptor) acceptsMap(v map[string]any) bool {
	if !a.ofFields.allows(len(v)) || a.enum != nil {
		return false
	}
	for _, name := range a.required {
		if _, ok := v[name]; !ok {
			return false
		}
	}
	for name, value := range v {
		of, ok := a.properties[name]
		if !ok {
			of = a.additional
		}
		if of != nil && !of.accepts(value) {
			return false
		}
	}
	return true
}
