package schematest

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

// Generator makes random schemas, and objects that are nearly valid by them.
type Generator struct{ *rand.Rand }

func (g Generator) chance(percent int) bool { return g.IntN(100) < percent }

func some(n int64) *int64       { return &n }
func number(n float64) *float64 { return &n }

// Schema returns the schema of a whole object.
func (g Generator) Schema() *apiextensions.JSONSchemaProps {
	s := &apiextensions.JSONSchemaProps{Type: "object", Properties: map[string]apiextensions.JSONSchemaProps{}}
	for _, name := range g.names(1, 5) {
		s.Properties[name] = *g.schema(3)
	}
	if g.chance(70) {
		s.Properties["status"] = *g.object(2)
	}
	if g.chance(50) {
		s.Properties["apiVersion"] = apiextensions.JSONSchemaProps{Type: "string"}
		s.Properties["kind"] = apiextensions.JSONSchemaProps{Type: "string"}
		s.Properties["metadata"] = apiextensions.JSONSchemaProps{Type: "object"}
		if g.chance(30) {
			s.Properties["metadata"] = apiextensions.JSONSchemaProps{Type: "object", Properties: map[string]apiextensions.JSONSchemaProps{
				"name": {Type: "string", MaxLength: some(2)}, "generateName": {Type: "string", Default: seedtest.Pick(g, nil, asDefault("g"))},
			}}
		}
	}
	if g.chance(5) {
		preserve := true
		s.XPreserveUnknownFields = &preserve
	}
	if g.chance(5) {
		s.XEmbeddedResource = true
	}
	if g.chance(30) {
		g.combine(s, 1)
	}
	if g.chance(30) {
		s.Required = g.fieldsOf(s)
	}
	return s
}

func asDefault(value any) *apiextensions.JSON {
	d := apiextensions.JSON(value)
	return &d
}

func (g Generator) names(least, most int) []string {
	var names []string
	for i := range least + g.IntN(most-least+1) {
		names = append(names, string(rune('a'+(i+g.IntN(2))%6)))
	}
	return names
}

// fieldsOf returns one or two names, of fields of the schema if it has any.
func (g Generator) fieldsOf(s *apiextensions.JSONSchemaProps) []string {
	names := slices.Sorted(maps.Keys(s.Properties))
	if len(names) == 0 || g.chance(10) {
		return g.names(1, 2)
	}
	return []string{seedtest.Pick(g, names...), seedtest.Pick(g, names...)}
}

func (g Generator) schema(depth int) *apiextensions.JSONSchemaProps {
	s := g.plain(depth)
	if g.chance(20) {
		s.Nullable = true
	}
	if g.chance(20) {
		s.Default = asDefault(g.value(s, 5))
		fields, isObject := (*s.Default).(map[string]any)
		switch {
		case *s.Default == nil:
			s.Default = nil
		case isObject && g.chance(40): // nulls in defaults are not nulls of the object
			fields[seedtest.Pick(g, g.fieldsOf(s)...)] = nil
		}
	}
	if g.chance(12) {
		for range 1 + g.IntN(3) {
			s.Enum = append(s.Enum, g.value(s, 10))
		}
	}
	if g.chance(8) {
		g.combine(s, depth-1)
	}
	return s
}

// plain returns a schema of one type.
func (g Generator) plain(depth int) *apiextensions.JSONSchemaProps {
	preserve := true
	kind := g.IntN(14)
	if depth <= 0 {
		kind = g.IntN(8)
	}
	switch kind {
	case 0, 1, 2:
		return g.text()
	case 3, 4:
		return g.number("integer")
	case 5:
		return g.number("number")
	case 6:
		return &apiextensions.JSONSchemaProps{Type: "boolean"}
	case 7:
		s := &apiextensions.JSONSchemaProps{XIntOrString: true}
		if g.chance(60) {
			either := []apiextensions.JSONSchemaProps{{Type: "integer"}, {Type: "string"}}
			if g.chance(50) {
				s.AnyOf = either
			} else {
				s.AllOf = []apiextensions.JSONSchemaProps{{AnyOf: either}, {Pattern: "^[a-z0-9]*$"}}
			}
		}
		if g.chance(30) {
			s.Pattern, s.Minimum = "^[0-9]+%?$", number(1)
		}
		return s
	case 8, 9:
		return g.object(depth)
	case 10:
		s := &apiextensions.JSONSchemaProps{Type: "object"}
		if g.chance(80) {
			s.AdditionalProperties = &apiextensions.JSONSchemaPropsOrBool{Allows: true, Schema: g.schema(depth - 1)}
		} else {
			s.AdditionalProperties = &apiextensions.JSONSchemaPropsOrBool{Allows: g.chance(60)}
		}
		if g.chance(5) { // definitions may not have both, but the libraries handle it
			s.Properties = g.object(depth).Properties
		}
		g.countFields(s)
		return s
	case 11, 12:
		return g.list(depth)
	}
	s := &apiextensions.JSONSchemaProps{XPreserveUnknownFields: &preserve}
	switch g.IntN(4) {
	case 0:
		s.Type = "object"
	case 1:
		s = g.object(depth)
		s.XPreserveUnknownFields = &preserve
	case 2:
		s = g.list(depth)
		s.XPreserveUnknownFields = &preserve
	}
	if g.chance(30) && (s.Type == "object" || s.Type == "") {
		s.XEmbeddedResource, s.Type = true, "object"
	}
	return s
}

func (g Generator) object(depth int) *apiextensions.JSONSchemaProps {
	s := &apiextensions.JSONSchemaProps{Type: "object", Properties: map[string]apiextensions.JSONSchemaProps{}}
	if g.chance(12) { // a bare object, whose fields are all unknown
		s.XEmbeddedResource = g.chance(20)
		return s
	}
	for _, name := range g.names(1, 5) {
		s.Properties[name] = *g.schema(depth - 1)
	}
	if g.chance(30) {
		s.Required = g.fieldsOf(s)
	}
	if g.chance(10) {
		s.XEmbeddedResource = true
		if g.chance(40) {
			s.Properties["kind"] = apiextensions.JSONSchemaProps{Type: "string", Default: seedtest.Pick(g, nil, asDefault("Other"))}
			s.Properties["metadata"] = apiextensions.JSONSchemaProps{Type: "object", Default: seedtest.Pick(g, nil, asDefault(map[string]any{"name": "d"}))}
		}
	}
	g.countFields(s)
	return s
}

func (g Generator) countFields(s *apiextensions.JSONSchemaProps) {
	if g.chance(10) {
		s.MinProperties = some(int64(g.IntN(2)))
	}
	if g.chance(10) {
		s.MaxProperties = some(int64(1 + g.IntN(4)))
	}
}

func (g Generator) list(depth int) *apiextensions.JSONSchemaProps {
	items := g.schema(depth - 1)
	s := &apiextensions.JSONSchemaProps{Type: "array"}
	switch g.IntN(5) {
	case 0:
		s.XListType = seedtest.Pick(g, new("set"), new("atomic"))
	case 1, 2:
		items = g.object(depth - 1)
		items.Properties["a"] = apiextensions.JSONSchemaProps{Type: "string", Default: seedtest.Pick(g, nil, asDefault("x"))}
		items.Properties["b"] = apiextensions.JSONSchemaProps{Type: "integer"}
		items.MaxProperties = nil
		s.XListType, s.XListMapKeys = new("map"), seedtest.Pick(g, []string{"a"}, []string{"b"}, []string{"a", "b"})
	}
	s.Items = &apiextensions.JSONSchemaPropsOrArray{Schema: items}
	if g.chance(10) {
		s.MinItems = some(int64(g.IntN(2)))
	}
	if g.chance(10) {
		s.MaxItems = some(int64(1 + g.IntN(3)))
	}
	s.UniqueItems = g.chance(8)
	return s
}

var formats = []string{"date-time", "datetime", "date", "duration", "uri", "email", "hostname", "ipv4", "ipv6", "cidr", "mac", "uuid", "byte", "password",
	"hexcolor", "isbn", "creditcard", "ssn", "rgbcolor", "bsonobjectid", "k8s-short-name", "k8s-long-name", "int32", "nothing", "int-or-string"}

var texts = []string{"", "a", "ab", "abcd", "A", "x", "yy", "2006-01-02", "2006-01-02T15:04:05Z", "2006-02-30T15:04:05Z", "2006-01-02T24:04:05Z", "2006-01-02t15:04:05.5+01:00",
	"1h", "5 s", "http://a/b", "a@b.c", "a.b", "1.2.3.4", "::1", "10.0.0.0/8", "00:00:5e:00:53:01", "123e4567-e89b-12d3-a456-426614174000", "aGk=", "#fff",
	"ä", "äöü", "日本", "10%", "10", "507f1f77bcf86cd799439011", "0321751043", "rgb(1,2,3)", "123-45-6789"}

func (g Generator) text() *apiextensions.JSONSchemaProps {
	s := &apiextensions.JSONSchemaProps{Type: "string"}
	if g.chance(15) {
		s.MinLength = some(int64(g.IntN(3)))
	}
	if g.chance(15) {
		s.MaxLength = some(int64(1 + g.IntN(8)))
	}
	if g.chance(15) {
		s.Pattern = seedtest.Pick(g, "^[a-z]*$", "[0-9]", "^.{1,3}$", ".*")
	}
	if g.chance(12) {
		s.Format = seedtest.Pick(g, formats...)
	}
	return s
}

func (g Generator) number(kind string) *apiextensions.JSONSchemaProps {
	s := &apiextensions.JSONSchemaProps{Type: kind}
	if g.chance(25) {
		s.Minimum = number(seedtest.Pick(g, 0, 0, 1, 1.5, -1.5, -3, -3, 1e300))
		s.ExclusiveMinimum = g.chance(30)
	}
	if g.chance(25) {
		s.Maximum = number(seedtest.Pick(g, 3, 4, 2.5, -0.5, 1<<40, 1<<61, 1e300))
		s.ExclusiveMaximum = g.chance(30)
	}
	if g.chance(15) {
		s.MultipleOf = number(seedtest.Pick(g, 1, 2, 3, 0.5, 1<<40))
	}
	if g.chance(30) {
		s.Format = seedtest.Pick(g, "int32", "int64", "float", "double", "date", "port")
	}
	return s
}

// combine adds schemas that are combined with one.
func (g Generator) combine(s *apiextensions.JSONSchemaProps, depth int) {
	if !g.chance(30) {
		return
	}
	several := func() (schemas []apiextensions.JSONSchemaProps) {
		for range 1 + g.IntN(3) {
			schemas = append(schemas, *g.nested(s, depth))
		}
		return schemas
	}
	switch g.IntN(4) {
	case 0:
		s.AnyOf = several()
	case 1:
		s.AllOf = several()
	case 2:
		s.OneOf = several()
	case 3:
		s.Not = g.nested(s, depth)
	}
}

// nested returns a schema for allOf and the like of another one: it has rules for the
// value, and for the fields and items that the other has.
func (g Generator) nested(s *apiextensions.JSONSchemaProps, depth int) *apiextensions.JSONSchemaProps {
	n := &apiextensions.JSONSchemaProps{}
	switch s.Type {
	case "string":
		n = g.text()
	case "integer", "number":
		n = g.number(s.Type)
	case "object":
		if g.chance(70) {
			n.Required = g.fieldsOf(s)
		}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			property := s.Properties[name]
			if g.chance(25) && name != "metadata" {
				if n.Properties == nil {
					n.Properties = map[string]apiextensions.JSONSchemaProps{}
				}
				n.Properties[name] = *g.nested(&property, depth-1)
			}
		}
		g.countFields(n)
	case "array":
		n.MinItems = some(int64(g.IntN(3)))
		if g.chance(30) && s.Items != nil {
			n.Items = &apiextensions.JSONSchemaPropsOrArray{Schema: g.nested(s.Items.Schema, depth-1)}
		}
	}
	if n.Type = ""; g.chance(5) {
		n.Type = s.Type // not structural, but a schema
	}
	if g.chance(10) {
		n.Enum = append(n.Enum, g.value(s, 10))
	}
	if depth > 0 {
		g.combine(n, depth-1)
	}
	return n
}

// value returns a value that the schema is likely to accept. The given percentage of values
// is arbitrary.
func (g Generator) value(s *apiextensions.JSONSchemaProps, percent int) any {
	if g.chance(percent) {
		return g.anything(2)
	}
	if s.Nullable && g.chance(20) {
		return nil
	}
	if len(s.Enum) > 0 && g.chance(85) {
		return runtime.DeepCopyJSONValue(seedtest.Pick(g, s.Enum...))
	}
	if s.XIntOrString {
		return seedtest.Pick(g, any(int64(g.IntN(5))), any("10%"), any("10"), any("x"))
	}
	switch s.Type {
	case "string":
		if s.Format == "date-time" && g.chance(60) {
			return "2006-01-02T15:04:05Z"
		}
		return seedtest.Pick(g, texts...)
	case "integer":
		return seedtest.Pick(g, int64(g.IntN(6))-1, int64(g.IntN(4)), 2, 3, 1<<40, 1<<60+1, seedtest.Pick[int64](g, math.MaxInt64, math.MinInt64, math.MaxInt32+1))
	case "number":
		return seedtest.Pick(g, any(int64(g.IntN(5))), any(0.5), any(1.5), any(2.0), any(1e40), any(float64(g.IntN(4))), seedtest.Pick[any](g, math.Copysign(0, -1), 1e3, 5e-324, int64(1<<53+1)))
	case "boolean":
		return g.chance(50)
	case "array":
		list := []any{}
		for range seedtest.Pick(g, 0, 1, 1, 2, 3, 4, 20) {
			if s.Items == nil {
				break
			}
			if g.chance(percent) {
				list = append(list, nil)
				continue
			}
			list = append(list, g.value(s.Items.Schema, percent/2))
		}
		return list
	case "object":
		return g.fields(s, percent)
	}
	return g.anything(2)
}

func (g Generator) fields(s *apiextensions.JSONSchemaProps, percent int) map[string]any {
	m := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		switch {
		case property.Default != nil && g.chance(10):
			m[name] = nil // which becomes the default, unless it may be
		case g.chance(75):
			m[name] = g.value(&property, percent/2)
		}
	}
	if s.AdditionalProperties != nil {
		for _, name := range g.names(0, 4) {
			if s.AdditionalProperties.Schema != nil {
				m[name] = g.value(s.AdditionalProperties.Schema, percent/2)
			} else {
				m[name] = g.anything(2)
			}
		}
	}
	for _, name := range s.Required {
		if _, ok := m[name]; !ok && g.chance(90) {
			if property, ok := s.Properties[name]; ok {
				m[name] = g.value(&property, percent/2)
			}
		}
	}
	if s.XPreserveUnknownFields != nil || g.chance(4) || len(s.Properties) == 0 && s.AdditionalProperties == nil && g.chance(50) {
		for _, name := range g.names(0, 2) {
			if _, ok := m[name]; !ok {
				m[name] = g.anything(2)
			}
		}
	}
	if s.XEmbeddedResource && g.chance(90) {
		m["apiVersion"], m["kind"] = seedtest.Pick[any](g, "v1", "v1", "v1", "a/b/c", "", int64(1)), seedtest.Pick[any](g, "K", "K", "K", "k k", "")
		if g.chance(70) {
			m["metadata"] = g.metadata()
		}
	}
	return m
}

func (g Generator) metadata() any {
	if g.chance(5) {
		return g.anything(1)
	}
	m := map[string]any{"name": seedtest.Pick[any](g, "a", "b", "c", "a b", "a/b", "A", "abc", int64(1), nil)}
	optional := map[string][]any{
		"namespace": {"n", "N"}, "labels": {map[string]any{"a": "b"}, map[string]any{"a b": "c"}, map[string]any{}}, "annotations": {map[string]any{"a/b": "x y"}, map[string]any{"a": int64(1)}},
		"creationTimestamp": {nil, "2020-01-02T03:04:05Z"}, "finalizers": {[]any{"a/b"}, []any{}, nil}, "ownerReferences": {[]any{}, nil}, "managedFields": {[]any{}, nil}, "unknown": {"x"}, "generation": {int64(1), int64(-1)},
		"generateName": {"a", nil},
	}
	for _, name := range slices.Sorted(maps.Keys(optional)) {
		if g.chance(20) {
			m[name] = runtime.DeepCopyJSONValue(seedtest.Pick(g, optional[name]...))
		}
	}
	return m
}

// anything returns a value of any type.
func (g Generator) anything(depth int) any {
	switch n := g.IntN(9); {
	case n < 3:
		return seedtest.Pick(g, texts...)
	case n < 5:
		return int64(g.IntN(5))
	case n == 5:
		return seedtest.Pick(g, 0.5, 1.5, 2, 2.5, seedtest.Pick(g, math.Copysign(0, -1), 1e3, 1<<63))
	case n == 6:
		return seedtest.Pick[any](g, nil, true, false)
	case n == 7 && depth > 0:
		list := make([]any, g.IntN(4))
		for i := range list {
			list[i] = g.anything(depth - 1)
		}
		return list
	case depth > 0:
		m := map[string]any{}
		for _, name := range append(g.names(0, 4), strings.Repeat("kind", g.IntN(8)/7)) {
			m[name] = g.anything(depth - 1)
		}
		return m
	}
	return fmt.Sprint("t", g.IntN(3))
}

// Object returns an object with what every resource has. Of its values, the given percentage is
// of any type.
func (g Generator) Object(s *apiextensions.JSONSchemaProps, percent int) map[string]any {
	m := g.fields(s, percent)
	m["apiVersion"], m["kind"] = "example.com/v1", "Thing"
	if m["metadata"] = map[string]any{"name": seedtest.Pick(g, "a", "bb", "ccc"), "uid": "u"}; g.chance(10) {
		m["metadata"] = g.metadata()
	}
	return m
}

// Changed returns a copy of a value with the given percentage of what is in it changed or gone.
func (g Generator) Changed(value any, percent int) any {
	if g.chance(percent) {
		return seedtest.Pick(g, g.anything(1), value)
	}
	switch v := value.(type) {
	case map[string]any:
		m := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if !g.chance(percent) {
				m[name] = g.Changed(v[name], percent)
			}
		}
		return m
	case []any:
		list := make([]any, 0, len(v))
		for _, item := range v {
			if !g.chance(percent) {
				list = append(list, g.Changed(item, percent))
			}
		}
		return list
	}
	return value
}
