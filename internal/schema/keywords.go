package schema

import (
	"math"
	"reflect"
	"regexp"
	"unicode/utf8"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"

	"github.com/fakecluster/fakecluster/internal/metadata"
)

// keywords are the validation rules for a value and the values in it. They decide as upstream's validator does, or
// return unknown.
type keywords struct {
	rare bool // a keyword that is not supported here: every value is unknown

	types    typeSet // empty: any
	nullable bool
	format   string // of strings, as upstream's registry calls it
	narrow   bool   // format int32 or float: not all numbers fit

	enum                 *enum // nil: any
	pattern              *regexp.Regexp
	minLength, maxLength int64
	number               *numberLimits // nil: any
	countItems           countLimit
	countFields          countLimit
	uniqueItems          bool
	required             []string
	closed               bool // additionalProperties: false

	properties map[string]*keywords
	additional *keywords // nil: any
	items      *keywords // nil: any

	anyOf, allOf, oneOf []*keywords
	not                 *keywords
}

// typeSet is a set of JSON types.
type typeSet uint8

const (
	isString typeSet = 1 << iota
	isInteger
	isNumber
	isBoolean
	isObject
	isArray
)

var typesByName = map[string]typeSet{
	"": 0, "string": isString, "integer": isInteger, "number": isNumber, "boolean": isBoolean, "object": isObject, "array": isArray,
}

// countLimit limits the number of items or fields.
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

// newKeywords compiles a schema.
func newKeywords(p *apiextensions.JSONSchemaProps) *keywords {
	k := &keywords{
		nullable:    p.Nullable,
		countItems:  newCountLimit(p.MinItems, p.MaxItems),
		countFields: newCountLimit(p.MinProperties, p.MaxProperties),
		maxLength:   math.MaxInt64,
		uniqueItems: p.UniqueItems,
		required:    p.Required,
	}
	types, ok := typesByName[p.Type]
	if k.types = types; p.XIntOrString {
		k.types = isInteger | isString
	}
	k.rare = !ok || p.Ref != nil || len(p.PatternProperties) > 0 || len(p.Dependencies) > 0 || p.AdditionalItems != nil
	k.strings(p)
	k.numbers(p)
	if len(p.Enum) > 0 {
		k.enum = newEnum(p.Enum)
	}
	k.children(p)
	for i := range p.AnyOf {
		k.anyOf = append(k.anyOf, newKeywords(&p.AnyOf[i]))
	}
	for i := range p.AllOf {
		k.allOf = append(k.allOf, newKeywords(&p.AllOf[i]))
	}
	for i := range p.OneOf {
		k.oneOf = append(k.oneOf, newKeywords(&p.OneOf[i]))
	}
	if p.Not != nil {
		k.not = newKeywords(p.Not)
	}
	return k
}

func (k *keywords) children(p *apiextensions.JSONSchemaProps) {
	if len(p.Properties) > 0 {
		k.properties = make(map[string]*keywords, len(p.Properties))
		for name, property := range p.Properties {
			k.properties[name] = newKeywords(&property)
		}
	}
	if a := p.AdditionalProperties; a != nil {
		k.closed = !a.Allows
		if a.Schema != nil {
			k.rare = k.rare || !a.Allows
			k.additional = newKeywords(a.Schema)
		}
	}
	if i := p.Items; i != nil {
		k.rare = k.rare || i.Schema == nil || len(i.JSONSchemas) > 0
		if i.Schema != nil {
			k.items = newKeywords(i.Schema)
		}
	}
}

func (k *keywords) strings(p *apiextensions.JSONSchemaProps) {
	if p.MinLength != nil {
		k.minLength = *p.MinLength
	}
	if p.MaxLength != nil {
		k.maxLength = *p.MaxLength
	}
	if p.Pattern != "" {
		var err error
		if k.pattern, err = regexp.Compile(p.Pattern); err != nil {
			k.rare = true
		}
	}
	switch format := formatOf(p); format {
	case "", "int64", "double":
	case "int32", "float":
		k.narrow = true
	default:
		k.format = format
	}
}

// formatOf returns the format that validation uses. Upstream ignores formats that it does not know for the type.
func formatOf(p *apiextensions.JSONSchemaProps) string {
	if p.Format == "" {
		return ""
	}
	node := &spec.Schema{SchemaProps: spec.SchemaProps{Format: p.Format}}
	switch {
	case p.XIntOrString:
		node.Type = []string{"integer", "string"}
	case p.Type != "":
		node.Type = []string{p.Type}
	}
	strip := validation.StripUnsupportedFormatsPostProcessorForVersion(environment.DefaultCompatibilityVersion())
	if err := strip(node); err != nil {
		return p.Format
	}
	return node.Format
}

// validity is the result of keywords for a value.
type validity uint8

// The minimum of two results is their conjunction, the maximum their disjunction.
const (
	invalid validity = iota
	unknown
	valid
)

func validityOf(ok bool) validity {
	if ok {
		return valid
	}
	return invalid
}

// evaluate returns the validity of a value and the values in it.
func (k *keywords) evaluate(value any) validity {
	result := k.own(value)
	switch v := value.(type) {
	case map[string]any:
		for name, field := range v {
			property, ok := k.properties[name]
			if !ok {
				property = k.additional
			}
			if property != nil && result > invalid {
				result = min(result, property.evaluate(field))
			}
		}
	case []any:
		if k.items != nil {
			for _, item := range v {
				if result > invalid {
					result = min(result, k.items.evaluate(item))
				}
			}
		}
	}
	return result
}

// own evaluates a value without the values in it.
func (k *keywords) own(value any) validity {
	if k == nil {
		return valid
	}
	if k.rare {
		return unknown
	}
	if value == nil { // null is not checked further
		return validityOf((k.types == 0 || k.nullable) && k.enum == nil)
	}
	result := k.type_(value)
	if k.enum != nil {
		result = min(result, k.enum.evaluate(value))
	}
	switch v := value.(type) {
	case string:
		result = min(result, k.text(v))
	case int64:
		if k.narrow && k.types == isInteger {
			result = min(result, validityOf(v >= math.MinInt32 && v <= math.MaxInt32))
		}
		if k.number != nil {
			result = min(result, k.number.integer(v))
		}
	case float64:
		if k.narrow && math.Abs(v) > 1e38 {
			result = min(result, unknown)
		}
		if k.number != nil {
			result = min(result, k.number.float(v))
		}
	case []any:
		result = min(result, validityOf(k.countItems.allows(len(v)) && (!k.uniqueItems || areUnique(v))))
	case map[string]any:
		result = min(result, validityOf(k.object(v)))
	}
	if result == invalid || k.anyOf == nil && k.allOf == nil && k.oneOf == nil && k.not == nil {
		return result
	}
	return min(result, k.combined(value))
}

// type_ evaluates the type of a value that is not null.
func (k *keywords) type_(value any) validity {
	var found typeSet
	switch v := value.(type) {
	case string:
		found = isString
	case int64:
		found = isInteger | isNumber
	case float64:
		// As in upstream, a number without a fraction may count as an integer.
		if found = isNumber; k.types&(isInteger|isNumber) == isInteger && v == math.Trunc(v) {
			return unknown
		}
	case bool:
		found = isBoolean
	case map[string]any:
		found = isObject
	case []any:
		found = isArray
	default:
		return unknown
	}
	if k.types&found != 0 || k.types == 0 && (k.format == "" || found == isString) {
		return valid
	}
	if k.format != "" || k.narrow {
		return unknown // upstream treats the format as a part of the type
	}
	return invalid
}

func (k *keywords) text(s string) validity {
	if k.minLength > 0 || k.maxLength < int64(len(s)) {
		if n := int64(utf8.RuneCountInString(s)); n < k.minLength || n > k.maxLength {
			return invalid
		}
	}
	if k.pattern != nil && !k.pattern.MatchString(s) {
		return invalid
	}
	if k.format != "" && !hasFormat(k.format, s) {
		return invalid
	}
	return valid
}

// hasFormat reports whether a string has a format of the registry. It does not parse times in the form that the server
// writes.
func hasFormat(format, s string) bool {
	if format == "date-time" && metadata.IsTime(s) {
		return true
	}
	return !strfmt.Default.ContainsName(format) || strfmt.Default.Validates(format, s)
}

// object evaluates the fields of an object, but not their values.
func (k *keywords) object(fields map[string]any) bool {
	if !k.countFields.allows(len(fields)) {
		return false
	}
	for _, name := range k.required {
		if _, ok := fields[name]; !ok {
			return false
		}
	}
	if k.closed {
		for name := range fields {
			if k.properties[name] == nil {
				return false
			}
		}
	}
	return true
}

func areUnique(list []any) bool {
	for i := range list {
		for j := range i {
			if reflect.DeepEqual(list[i], list[j]) {
				return false
			}
		}
	}
	return true
}

// combined evaluates a value that is not null by the node's allOf, anyOf, oneOf and not.
// Upstream does not ratchet inside them.
func (k *keywords) combined(value any) validity {
	result := valid
	if len(k.anyOf) > 0 {
		best := invalid
		for _, option := range k.anyOf {
			if best = max(best, option.evaluate(value)); best == valid {
				break
			}
		}
		result = best
	}
	if len(k.oneOf) > 0 {
		result = min(result, k.exactlyOne(value))
	}
	for _, part := range k.allOf {
		result = min(result, part.evaluate(value))
	}
	if k.not != nil {
		result = min(result, valid-k.not.evaluate(value))
	}
	return result
}

func (k *keywords) exactlyOne(value any) validity {
	are, may := 0, 0
	for _, option := range k.oneOf {
		switch option.evaluate(value) {
		case valid:
			are++
		case unknown:
			may++
		}
	}
	if are > 1 || may == 0 {
		return validityOf(are == 1)
	}
	return unknown
}
