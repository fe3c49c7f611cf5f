package resource

import (
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/openapiconv"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// TypedOpenAPI describes a kind by its Go type: the fields by their JSON names, with the
// texts of the API's own documentation. Upstream generates the same from the sources, but
// publishes it in a package for few kinds only.
func TypedOpenAPI(v *Version, example any) *OpenAPI {
	return &OpenAPI{
		V3: sync.OnceValues(func() (*spec3.OpenAPI, error) { return openapiconv.ConvertV2ToV3(document(v, example)), nil }),
		V2: sync.OnceValues(func() (*spec.Swagger, error) { return document(v, example), nil }),
	}
}

// model collects the schemas of Go types.
type model struct{ schemas map[string]spec.Schema }

// newModel returns the schemas of the kind, of its list, and of all types that they refer
// to. The root is the name of the kind's schema; that of the list ends with List.
func newModel(v *Version, example any) (m *model, root string) {
	m = &model{schemas: map[string]spec.Schema{}}
	t := reflect.TypeOf(example).Elem()
	root = modelName(t)
	m.add(t)
	m.add(reflect.TypeFor[metav1.Status]()) // what a delete is answered with
	kind := v.Kind()
	object := m.schemas[root]
	object.AddExtension("x-kubernetes-group-version-kind", []any{kindExtension(kind)})
	m.schemas[root] = object

	list := spec.Schema{SchemaProps: spec.SchemaProps{
		Type: spec.StringOrArray{"object"}, Required: []string{"items"},
		Properties: map[string]spec.Schema{
			"apiVersion": *spec.StringProperty(), "kind": *spec.StringProperty(),
			"items": *spec.ArrayProperty(ref(root)),
		},
	}}
	list.AddExtension("x-kubernetes-group-version-kind", []any{kindExtension(v.GroupVersion().WithKind(v.Resource.Names.ListKind))})
	m.schemas[root+"List"] = list
	return m, root
}

func kindExtension(k schema.GroupVersionKind) map[string]any {
	return map[string]any{"group": k.Group, "version": k.Version, "kind": k.Kind}
}

func ref(name string) *spec.Schema { return spec.RefSchema(openapiconv.OpenAPIV2DefPrefix + name) }

// modelName returns the name that a type has in OpenAPI.
func modelName(t reflect.Type) string {
	if named, ok := reflect.New(t).Interface().(interface{ OpenAPIModelName() string }); ok {
		return named.OpenAPIModelName()
	}
	return strings.ReplaceAll(t.PkgPath(), "/", ".") + "." + t.Name()
}

// doc returns the texts of a type's documentation, by the JSON names of its fields. The
// text of the type itself has the empty name.
func doc(t reflect.Type) map[string]string {
	if documented, ok := reflect.New(t).Interface().(interface{ SwaggerDoc() map[string]string }); ok {
		return documented.SwaggerDoc()
	}
	return generatedDocs()[modelName(t)]
}

// generatedDocs holds the texts of types that have no SwaggerDoc method, by the names of
// the types. The kinds of apiextensions.k8s.io have none: their texts stand only in the
// definitions that upstream generates.
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

// of returns the schema of a type where a field or an item has it.
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
		return ref(modelName(t))
	}
	return &spec.Schema{}
}

// add adds the schema of a struct and of all types that it refers to.
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
		property.Description = texts[name] // beside a reference, the conversion to v3 wraps it
		s.Properties[name] = property
		if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
			s.Required = append(s.Required, name)
		}
	}
}

// operation is one thing that can be done at a path, for example GET to list.
type operation struct {
	method, action string
	subresource    string // empty: the object or collection itself
}

// paths returns the paths of a version and the operations at each.
func paths(v *Version) map[string][]operation {
	root := "/apis/" + v.Resource.Group + "/" + v.Name
	if v.Resource.Group == "" {
		root = "/api/" + v.Name
	}
	everywhere := root + "/" + v.Resource.Names.Plural
	if v.Resource.Namespaced {
		root += "/namespaces/{namespace}"
	}
	root += "/" + v.Resource.Names.Plural
	object := root + "/{name}"
	can := func(allowed []string, operations ...operation) []operation {
		return slices.DeleteFunc(operations, func(o operation) bool { return !slices.Contains(allowed, verbs[o.action]) })
	}
	all := map[string][]operation{
		root: can(v.Resource.Verbs, operation{"GET", "list", ""}, operation{"POST", "post", ""}, operation{"DELETE", "deletecollection", ""}),
		object: can(v.Resource.Verbs,
			operation{"GET", "get", ""}, operation{"PUT", "put", ""}, operation{"PATCH", "patch", ""}, operation{"DELETE", "delete", ""}),
	}
	if v.Resource.Namespaced && slices.Contains(v.Resource.Verbs, "list") {
		all[everywhere] = []operation{{"GET", "list", ""}}
	}
	for name, s := range v.Subresource {
		at := object + "/" + name
		all[at] = can(s.Verbs,
			operation{"GET", "get", name}, operation{"POST", "post", name}, operation{"PUT", "put", name},
			operation{"PATCH", "patch", name}, operation{"DELETE", "delete", name})
		if name == "proxy" {
			all[at+"/{path}"] = all[at]
		}
	}
	maps.DeleteFunc(all, func(_ string, operations []operation) bool { return len(operations) == 0 })
	return all
}

// verbs are the verbs of actions.
var verbs = map[string]string{
	"list": "list", "post": "create", "get": "get", "put": "update", "patch": "patch", "delete": "delete", "deletecollection": "deletecollection",
}

// queryOf returns the query parameters of an action. Clients look there whether the server
// supports a parameter before they use it: kubectl does for fieldValidation and dryRun.
func queryOf(action string) []string {
	switch action {
	case "post", "put":
		return []string{"dryRun", "fieldManager", "fieldValidation", "pretty"}
	case "patch":
		return []string{"dryRun", "fieldManager", "fieldValidation", "force", "pretty"}
	case "delete":
		return []string{"dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy", "pretty"}
	case "deletecollection":
		return []string{"continue", "dryRun", "fieldSelector", "gracePeriodSeconds", "labelSelector", "limit", "orphanDependents", "propagationPolicy", "resourceVersion", "resourceVersionMatch", "sendInitialEvents", "timeoutSeconds", "pretty"}
	case "list":
		return []string{"allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit", "resourceVersion", "resourceVersionMatch", "sendInitialEvents", "timeoutSeconds", "watch", "pretty"}
	}
	return []string{"pretty"}
}

// document describes a version in OpenAPI v2. OpenAPI v3 is converted from that.
func document(v *Version, example any) *spec.Swagger {
	m, root := newModel(v, example)
	return &spec.Swagger{SwaggerProps: spec.SwaggerProps{
		Swagger: "2.0", Definitions: m.schemas,
		Paths: &spec.Paths{Paths: OpenAPIPaths(v, func(schema.GroupVersionKind) string { return root })},
	}}
}

// OpenAPIPaths describes the paths of a version in OpenAPI v2. names returns the name of the
// schema of a kind. That of the list of the version's own kind is the same with List at the end.
func OpenAPIPaths(v *Version, names func(schema.GroupVersionKind) string) map[string]spec.PathItem {
	all := map[string]spec.PathItem{}
	for path, operations := range paths(v) {
		item := spec.PathItem{}
		for _, o := range operations {
			op := o.describe(v, names)
			switch { // no two operations have the same name
			case v.Resource.Namespaced && !strings.Contains(path, "/{namespace}/"):
				op.ID += "ForAllNamespaces"
			case strings.HasSuffix(path, "/{path}"):
				op.ID += "WithPath"
			}
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
		all[path] = item
	}
	return all
}

// describe describes the operation on a version.
func (o operation) describe(v *Version, names func(schema.GroupVersionKind) string) *spec.Operation {
	kind, action, connects := v.Kind(), o.action, false
	if s := v.Subresource[o.subresource]; s != nil {
		kind, connects = v.KindOf(s), s.Connection != nil
	}
	answer := spec.StringProperty()
	switch {
	case connects:
		action = "connect"
	case action == "delete" && !v.Resource.AnswersDeleted || action == "deletecollection":
		answer = ref("io.k8s.apimachinery.pkg.apis.meta.v1.Status")
	case action == "list":
		answer = ref(names(kind) + "List")
	default:
		answer = ref(names(kind))
	}
	op := &spec.Operation{OperationProps: spec.OperationProps{
		ID:       fmt.Sprintf("%s%s%s%s%s", o.action, strings.ReplaceAll(v.Resource.Group, ".", ""), v.Name, v.Resource.Names.Kind, o.subresource),
		Produces: []string{runtime.ContentTypeJSON},
		Responses: &spec.Responses{ResponsesProps: spec.ResponsesProps{StatusCodeResponses: map[int]spec.Response{
			200: {ResponseProps: spec.ResponseProps{Description: "OK", Schema: answer}},
		}}},
	}}
	if connects {
		op.Produces = []string{"*/*"}
	}
	for _, name := range queryOf(action) {
		op.Parameters = append(op.Parameters, spec.Parameter{
			ParamProps: spec.ParamProps{Name: name, In: "query"}, SimpleSchema: spec.SimpleSchema{Type: "string"},
		})
	}
	op.AddExtension("x-kubernetes-action", action)
	op.AddExtension("x-kubernetes-group-version-kind", kindExtension(kind))
	return op
}
