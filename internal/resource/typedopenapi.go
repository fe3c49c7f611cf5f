package resource

import (
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// TypedOpenAPI describes a kind by its Go type: the fields by their JSON names,
// with the texts of the API's own documentation. Upstream generates the same from
// the sources, and publishes it for few kinds.
func TypedOpenAPI(v *Version, example any) *OpenAPI {
	return &OpenAPI{
		V3: sync.OnceValues(func() (*spec3.OpenAPI, error) { return documentV3(v, example), nil }),
		V2: sync.OnceValues(func() (*spec.Swagger, error) { return documentV2(v, example), nil }),
	}
}

// model collects the schemas of Go types.
type model struct {
	prefix  string // of references
	schemas map[string]spec.Schema
}

func newModel(v *Version, example any, prefix string) (m *model, root string) {
	m = &model{prefix: prefix, schemas: map[string]spec.Schema{}}
	t := reflect.TypeOf(example).Elem()
	root = modelName(t)
	m.add(t)
	kind := v.Kind()
	object := m.schemas[root]
	object.AddExtension("x-kubernetes-group-version-kind", []any{kindExtension(kind)})
	m.schemas[root] = object

	list := spec.Schema{SchemaProps: spec.SchemaProps{
		Type: spec.StringOrArray{"object"}, Required: []string{"items"},
		Properties: map[string]spec.Schema{
			"apiVersion": *spec.StringProperty(), "kind": *spec.StringProperty(),
			"items": *spec.ArrayProperty(m.ref(root)),
		},
	}}
	list.AddExtension("x-kubernetes-group-version-kind", []any{kindExtension(v.GroupVersion().WithKind(v.Resource.Names.ListKind))})
	m.schemas[root+"List"] = list
	return m, root
}

func kindExtension(k schema.GroupVersionKind) map[string]any {
	return map[string]any{"group": k.Group, "version": k.Version, "kind": k.Kind}
}

func (m *model) ref(name string) *spec.Schema { return spec.RefSchema(m.prefix + name) }

// modelName is the name that OpenAPI knows a type by.
func modelName(t reflect.Type) string {
	if named, ok := reflect.New(t).Interface().(interface{ OpenAPIModelName() string }); ok {
		return named.OpenAPIModelName()
	}
	return strings.ReplaceAll(t.PkgPath(), "/", ".") + "." + t.Name()
}

// doc are the texts of a type's documentation, by JSON name; the type's own has
// the empty name.
func doc(t reflect.Type) map[string]string {
	if documented, ok := reflect.New(t).Interface().(interface{ SwaggerDoc() map[string]string }); ok {
		return documented.SwaggerDoc()
	}
	return generatedDocs()[modelName(t)]
}

// generatedDocs are the texts of the types that do not have their own with them, by
// the names of the types: those of the kinds of apiextensions.k8s.io are only in what
// upstream generates for its documents.
var generatedDocs = sync.OnceValue(func() map[string]map[string]string {
	all := map[string]map[string]string{}
	for name, of := range openapi.GetOpenAPIDefinitions(func(string) spec.Ref { return spec.Ref{} }) {
		texts := map[string]string{"": of.Schema.Description}
		for property, s := range of.Schema.Properties {
			texts[property] = s.Description
		}
		all[name] = texts
	}
	return all
})

// of is the schema of a type where it is used.
func (m *model) of(t reflect.Type) *spec.Schema {
	switch value := reflect.New(t).Interface().(type) {
	case interface {
		OpenAPISchemaType() []string
		OpenAPISchemaFormat() string
	}:
		return &spec.Schema{SchemaProps: spec.SchemaProps{Type: value.OpenAPISchemaType(), Format: value.OpenAPISchemaFormat()}}
	case json.Marshaler, encoding.TextMarshaler:
		if t.Kind() == reflect.Struct {
			return &spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}}}
		}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return m.of(t.Elem())
	case reflect.String:
		return spec.StringProperty()
	case reflect.Bool:
		return spec.BoolProperty()
	case reflect.Int32, reflect.Uint32:
		return spec.Int32Property()
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return spec.Int64Property()
	case reflect.Float32, reflect.Float64:
		return spec.Float64Property()
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return spec.StrFmtProperty("byte")
		}
		return spec.ArrayProperty(m.of(t.Elem()))
	case reflect.Map:
		return spec.MapProperty(m.of(t.Elem()))
	case reflect.Struct:
		m.add(t)
		return m.ref(modelName(t))
	}
	return &spec.Schema{}
}

// add makes the schema of a struct and of all that it refers to.
func (m *model) add(t reflect.Type) {
	name := modelName(t)
	if _, done := m.schemas[name]; done {
		return
	}
	m.schemas[name] = spec.Schema{} // for types that refer to themselves
	texts := doc(t)
	s := spec.Schema{SchemaProps: spec.SchemaProps{
		Description: texts[""], Type: spec.StringOrArray{"object"}, Properties: map[string]spec.Schema{},
	}}
	m.addFields(&s, t, texts)
	m.schemas[name] = s
}

func (m *model) addFields(s *spec.Schema, t reflect.Type, texts map[string]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		if strings.Contains(options, "inline") || f.Anonymous && name == "" {
			embedded := f.Type
			if embedded.Kind() == reflect.Pointer {
				embedded = embedded.Elem()
			}
			all := maps.Clone(doc(embedded))
			m.addFields(s, embedded, all)
			continue
		}
		property := *m.of(f.Type)
		if text := texts[name]; text != "" {
			if property.Ref.String() != "" {
				property = spec.Schema{SchemaProps: spec.SchemaProps{AllOf: []spec.Schema{property}}}
			}
			property.Description = text
		}
		s.Properties[name] = property
		if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
			s.Required = append(s.Required, name)
		}
	}
}

// operation is what can be done at a path.
type operation struct{ method, action string }

// paths are the paths of a version and what can be done there.
func paths(v *Version) map[string][]operation {
	root := "/apis/" + v.Resource.Group + "/" + v.Name
	if v.Resource.Group == "" {
		root = "/api/" + v.Name
	}
	if v.Resource.Namespaced {
		root += "/namespaces/{namespace}"
	}
	root += "/" + v.Resource.Names.Plural
	return map[string][]operation{
		root:             {{"GET", "list"}, {"POST", "post"}},
		root + "/{name}": {{"GET", "get"}, {"PUT", "put"}, {"PATCH", "patch"}, {"DELETE", "delete"}},
	}
}

// queryOf are the query parameters of an action that clients look for before
// they use them.
func queryOf(action string) []string {
	switch action {
	case "post", "put":
		return []string{"dryRun", "fieldManager", "fieldValidation", "pretty"}
	case "patch":
		return []string{"dryRun", "fieldManager", "fieldValidation", "force", "pretty"}
	case "delete":
		return []string{"dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy", "pretty"}
	case "list":
		return []string{"allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit", "resourceVersion", "resourceVersionMatch", "sendInitialEvents", "timeoutSeconds", "watch", "pretty"}
	}
	return []string{"pretty"}
}

func operationID(v *Version, action string) string {
	return fmt.Sprintf("%s%s%s%s", action, strings.ReplaceAll(v.Resource.Group, ".", ""), v.Name, v.Resource.Names.Kind)
}

func documentV3(v *Version, example any) *spec3.OpenAPI {
	m, root := newModel(v, example, "#/components/schemas/")
	document := &spec3.OpenAPI{
		Version:    "3.0.0",
		Paths:      &spec3.Paths{Paths: map[string]*spec3.Path{}},
		Components: &spec3.Components{Schemas: map[string]*spec.Schema{}},
	}
	for name, s := range m.schemas {
		document.Components.Schemas[name] = &s
	}
	for path, operations := range paths(v) {
		item := &spec3.Path{}
		for _, o := range operations {
			shown := root
			if o.action == "list" {
				shown += "List"
			}
			op := &spec3.Operation{OperationProps: spec3.OperationProps{
				OperationId: operationID(v, o.action),
				Responses: &spec3.Responses{ResponsesProps: spec3.ResponsesProps{StatusCodeResponses: map[int]*spec3.Response{
					200: {ResponseProps: spec3.ResponseProps{Description: "OK", Content: map[string]*spec3.MediaType{
						"application/json": {MediaTypeProps: spec3.MediaTypeProps{Schema: m.ref(shown)}},
					}}},
				}}},
			}}
			for _, name := range queryOf(o.action) {
				op.Parameters = append(op.Parameters, &spec3.Parameter{ParameterProps: spec3.ParameterProps{
					Name: name, In: "query", Schema: spec.StringProperty(),
				}})
			}
			op.AddExtension("x-kubernetes-action", o.action)
			op.AddExtension("x-kubernetes-group-version-kind", kindExtension(v.Kind()))
			switch o.method {
			case "GET":
				item.Get = op
			case "POST":
				item.Post = op
			case "PUT":
				item.Put = op
			case "PATCH":
				item.Patch = op
			case "DELETE":
				item.Delete = op
			}
		}
		document.Paths.Paths[path] = item
	}
	return document
}

func documentV2(v *Version, example any) *spec.Swagger {
	m, root := newModel(v, example, "#/definitions/")
	document := &spec.Swagger{SwaggerProps: spec.SwaggerProps{
		Swagger: "2.0", Definitions: m.schemas,
		Paths: &spec.Paths{Paths: map[string]spec.PathItem{}},
	}}
	for path, operations := range paths(v) {
		item := spec.PathItem{}
		for _, o := range operations {
			shown := root
			if o.action == "list" {
				shown += "List"
			}
			op := &spec.Operation{OperationProps: spec.OperationProps{
				ID: operationID(v, o.action),
				Responses: &spec.Responses{ResponsesProps: spec.ResponsesProps{StatusCodeResponses: map[int]spec.Response{
					200: {ResponseProps: spec.ResponseProps{Description: "OK", Schema: m.ref(shown)}},
				}}},
			}}
			for _, name := range queryOf(o.action) {
				op.Parameters = append(op.Parameters, spec.Parameter{
					ParamProps: spec.ParamProps{Name: name, In: "query"}, SimpleSchema: spec.SimpleSchema{Type: "string"},
				})
			}
			op.AddExtension("x-kubernetes-action", o.action)
			op.AddExtension("x-kubernetes-group-version-kind", kindExtension(v.Kind()))
			switch o.method {
			case "GET":
				item.Get = op
			case "POST":
				item.Post = op
			case "PUT":
				item.Put = op
			case "PATCH":
				item.Patch = op
			case "DELETE":
				item.Delete = op
			}
		}
		document.Paths.Paths[path] = item
	}
	return document
}
