package host

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// tree is a JSON object.
type tree = map[string]any

// Document returns the OpenAPI document of the control API.
func Document() []byte {
	g := &generator{schemas: tree{}}
	paths := tree{}
	for _, o := range operations() {
		operations, ok := paths[o.path].(tree)
		if !ok {
			operations = tree{}
			paths[o.path] = operations
		}
		operations[strings.ToLower(o.method)] = g.operation(o)
	}
	text, err := json.MarshalIndent(tree{
		"openapi": "3.0.3",
		"info": tree{
			"title": "The control API of fakecluster host", "version": "v1",
			"description": "Many clusters for many clients. docs/remote.md describes it by task.",
		},
		"paths":      paths,
		"components": tree{"schemas": g.schemas},
	}, "", "  ")
	if err != nil {
		panic(err) // maps, strings and numbers can be encoded
	}
	return append(text, '\n')
}

func getDocument(call, none) (content, error) {
	return content{"application/json", Document()}, nil
}

// generator collects the schemas of the types that operations use.
type generator struct{ schemas tree }

// parameter matches a parameter in a path.
var parameter = regexp.MustCompile(`{(\w+)}`)

func (g *generator) operation(o operation) tree {
	parameters := []any{}
	for _, match := range parameter.FindAllStringSubmatch(o.path, -1) {
		parameters = append(parameters, tree{"name": match[1], "in": "path", "required": true, "schema": tree{"type": "string"}})
	}
	out := tree{"operationId": o.name, "description": o.doc}
	switch {
	case o.request == nil:
	case o.inQuery():
		parameters = append(parameters, g.query(o.request)...)
	default:
		out["requestBody"] = tree{"content": tree{"application/json": tree{"schema": g.schema(o.request)}}}
	}
	if len(parameters) > 0 {
		out["parameters"] = parameters
	}
	var answer tree
	switch o.answer {
	case nil:
		answer = tree{"204": tree{"description": "success"}}
	case reflect.TypeFor[content]():
		answer = tree{"200": tree{"description": "the content", "content": tree{"*/*": tree{"schema": tree{"type": "string", "format": "binary"}}}}}
	default:
		answer = tree{"200": tree{"description": "the answer", "content": tree{"application/json": tree{"schema": g.schema(o.answer)}}}}
	}
	answer["default"] = tree{"description": "what is wrong", "content": tree{"application/json": tree{"schema": g.schema(reflect.TypeFor[Failure]())}}}
	out["responses"] = answer
	return out
}

// query returns the parameters of a query.
func (g *generator) query(t reflect.Type) (parameters []any) {
	for _, f := range fieldsOf(t) {
		parameters = append(parameters, tree{"name": f.name, "in": "query", "required": f.required, "description": f.doc, "schema": g.schema(f.Type)})
	}
	return parameters
}

// field is a field of a struct in JSON.
type field struct {
	reflect.StructField
	name, doc string
	required  bool
}

// fieldsOf returns the fields of a struct, including promoted fields of embedded structs.
func fieldsOf(t reflect.Type) (fields []field) {
	own := map[string]bool{}
	for f := range t.Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			own[name] = true
		}
	}
	for f := range t.Fields() {
		name, more, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case name != "":
			doc := f.Tag.Get("doc")
			if _, isPath := f.Tag.Lookup("path"); isPath && f.Type.Kind() == reflect.Slice {
				doc = "absolute paths of " + doc
			} else if isPath {
				doc = "the absolute path of " + doc
			}
			if option := f.Tag.Get("option"); option != "" {
				doc += " (" + option + ")"
			}
			fields = append(fields, field{f, name, doc, more == ""})
		case f.Anonymous:
			for _, inner := range fieldsOf(f.Type) {
				if !own[inner.name] {
					fields = append(fields, inner)
				}
			}
		}
	}
	return fields
}

// schema returns the schema of a type. For a named struct it is a reference.
func (g *generator) schema(t reflect.Type) tree {
	switch t {
	case reflect.TypeFor[metav1.Duration]():
		return tree{"type": "string", "format": "duration", "description": "such as 1m30s"}
	case reflect.TypeFor[time.Time]():
		return tree{"type": "string", "format": "date-time"}
	case reflect.TypeFor[json.RawMessage]():
		return tree{}
	case reflect.TypeFor[[]byte]():
		return tree{"type": "string", "format": "byte"}
	case reflect.TypeFor[unstructured.Unstructured]():
		return tree{"type": "object"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return g.schema(t.Elem())
	case reflect.String:
		return tree{"type": "string"}
	case reflect.Bool:
		return tree{"type": "boolean"}
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint32, reflect.Uint64:
		return tree{"type": "integer"}
	case reflect.Float64:
		return tree{"type": "number"}
	case reflect.Slice:
		return tree{"type": "array", "items": g.schema(t.Elem())}
	case reflect.Map:
		return tree{"type": "object", "additionalProperties": g.schema(t.Elem())}
	case reflect.Interface:
		return tree{}
	case reflect.Struct:
		return g.object(t)
	}
	panic("no schema for " + t.String())
}

func (g *generator) object(t reflect.Type) tree {
	name := t.Name()
	if t.PkgPath() != reflect.TypeFor[Failure]().PkgPath() {
		name = t.String()
	}
	ref := tree{"$ref": "#/components/schemas/" + name}
	if _, done := g.schemas[name]; done {
		return ref
	}
	properties, required := tree{}, []string{}
	s := tree{"type": "object", "properties": properties}
	g.schemas[name] = s
	for _, f := range fieldsOf(t) {
		properties[f.name] = g.property(f)
		if f.required {
			required = append(required, f.name)
		}
	}
	if len(required) > 0 {
		s["required"] = required
	}
	return ref
}

// property returns the schema of a field. The tag schema:"object" is for a value or for items whose fields are described
// elsewhere, and schema:"object,string" for a value of either type.
func (g *generator) property(f field) tree {
	var s tree
	types := strings.Split(f.Tag.Get("schema"), ",")
	switch {
	case len(types) == 2:
		s = tree{"oneOf": []any{tree{"type": types[0]}, tree{"type": types[1]}}}
	case types[0] == "":
		s = g.schema(f.Type)
	case f.Type.Kind() == reflect.Slice && f.Type != reflect.TypeFor[json.RawMessage]():
		s = tree{"type": "array", "items": tree{"type": types[0]}}
	default:
		s = tree{"type": types[0]}
	}
	switch _, isRef := s["$ref"]; {
	case f.doc == "":
	case isRef:
		s = tree{"allOf": []any{s}, "description": f.doc} // in OpenAPI 3.0 nothing stands beside a reference
	default:
		s["description"] = f.doc
	}
	return s
}
