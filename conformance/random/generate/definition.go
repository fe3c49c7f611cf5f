package generate

import (
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/fakecluster/fakecluster/conformance/random/play"
	"github.com/fakecluster/fakecluster/internal/testing/schematest"
)

// definitionOf is a random definition.
type definitionOf struct {
	group, plural string
	versions      []string // the first one is stored
	internal      *apiextensions.JSONSchemaProps
	schema        *Schema
	scale, status bool
	renamed       string // the field that has another name in the second version; empty: there is none
	selectable    []string
	body          map[string]any
}

// definition returns a random definition: with a schema of all that schemas can have, rules, one version or two, and subresources.
func (r Source) definition(id string) (*definitionOf, error) {
	d := &definitionOf{group: id + ".example.com", plural: "things", versions: []string{"v1"}, status: r.chance(70), scale: r.chance(40)}
	d.internal = schematest.Generator{Rand: r.Rand}.Schema()
	r.addUsualFields(d)
	external := &apiextensionsv1.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_apiextensions_JSONSchemaProps_To_v1_JSONSchemaProps(d.internal, external, nil); err != nil {
		return nil, err
	}
	text, err := json.Marshal(external)
	if err != nil {
		return nil, err
	}
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		return nil, err
	}
	r.addRules(schema)
	if d.schema, err = parseSchema(schema); err != nil {
		return nil, err
	}
	if r.chance(35) {
		d.versions = append(d.versions, "v2")
	}
	var versions []any
	if len(d.versions) > 1 && r.chance(60) {
		d.renamed = r.renamedField(schema)
	}
	d.selectable = r.selectableFields(d, schema)
	scale := map[string]any{"specReplicasPath": pick(r, ".spec.replicas", ".spec.replicas", ".spec.replicas", ".spec.template.spec.n", ".spec.a", ".spec.nope.n"),
		"statusReplicasPath": pick(r, ".status.replicas", ".status.replicas", ".status.a", ".status.nope.n")}
	if r.chance(80) {
		scale["labelSelectorPath"] = pick(r, ".status.selector", ".status.selector", ".spec.template.spec.s", ".status.a", ".status.replicas")
	}
	for i, name := range d.versions {
		version := map[string]any{"name": name, "served": true, "storage": i == 0, "schema": map[string]any{"openAPIV3Schema": schema}}
		if i > 0 && d.renamed != "" {
			version["schema"] = map[string]any{"openAPIV3Schema": withRenamed(schema, d.renamed)}
		}
		if len(d.selectable) > 0 {
			var fields []any
			for _, path := range d.selectable {
				fields = append(fields, map[string]any{"jsonPath": "." + path})
			}
			version["selectableFields"] = fields
		}
		subresources := map[string]any{}
		if d.status {
			subresources["status"] = map[string]any{}
		}
		if d.scale {
			subresources["scale"] = scale
		}
		if len(subresources) > 0 {
			version["subresources"] = subresources
		}
		if r.chance(20) {
			version["additionalPrinterColumns"] = []any{map[string]any{"name": "R", "type": "integer", "jsonPath": ".spec.replicas"}, map[string]any{"name": "T", "type": "string", "jsonPath": ".spec.template"}}
		}
		versions = append(versions, version)
	}
	d.body = map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": d.plural + "." + d.group},
		"spec": map[string]any{"group": d.group, "scope": pick(r, "Namespaced", "Namespaced", "Cluster"), "names": map[string]any{"plural": d.plural, "singular": "thing", "kind": "Thing", "listKind": "ThingList"}, "versions": versions}}
	if d.renamed != "" {
		d.body["spec"].(map[string]any)["conversion"] = map[string]any{"strategy": "Webhook", "webhook": map[string]any{"conversionReviewVersions": []any{"v1"},
			"clientConfig": map[string]any{"url": "${webhook}/" + id + "/" + play.ConversionPrefix + d.renamed, "caBundle": "${authority}"}}}
	}
	return d, nil
}

func (d *definitionOf) namespaced() bool {
	return d.body["spec"].(map[string]any)["scope"] == "Namespaced"
}

// addUsualFields adds what operators have to the schema: replicas, a template whose metadata is bare, and parts that are preserved.
func (r Source) addUsualFields(d *definitionOf) {
	preserve := true
	spec := d.internal.Properties["spec"]
	if spec.Type == "" {
		spec = apiextensions.JSONSchemaProps{Type: "object"}
	}
	if spec.Type != "object" || spec.AdditionalProperties != nil {
		return
	}
	if spec.Properties == nil {
		spec.Properties = map[string]apiextensions.JSONSchemaProps{}
	}
	spec.Properties["replicas"] = apiextensions.JSONSchemaProps{Type: "integer", Format: pick(r, "", "int32", "int64"), Default: pick(r, nil, number(1))}
	bare := apiextensions.JSONSchemaProps{Type: "object"}
	spec.Properties["template"] = apiextensions.JSONSchemaProps{Type: "object", Properties: map[string]apiextensions.JSONSchemaProps{
		"metadata": bare, "spec": {Type: "object", XPreserveUnknownFields: &preserve},
		"whole": {Type: "object", XPreserveUnknownFields: &preserve, XEmbeddedResource: true},
		"items": {Type: "array", Items: &apiextensions.JSONSchemaPropsOrArray{Schema: &bare}},
		"map":   {Type: "object", AdditionalProperties: &apiextensions.JSONSchemaPropsOrBool{Allows: true, Schema: &bare}},
	}}
	d.internal.Properties["spec"] = spec
	status := d.internal.Properties["status"]
	if status.Type == "" {
		status = apiextensions.JSONSchemaProps{Type: "object", XPreserveUnknownFields: pick(r, nil, &preserve)}
	}
	if status.Type == "object" && status.AdditionalProperties == nil {
		properties := map[string]apiextensions.JSONSchemaProps{"replicas": {Type: "integer"}, "selector": {Type: "string"}}
		maps.Copy(properties, status.Properties)
		status.Properties = properties
		d.internal.Properties["status"] = status
	}
}

func number(n int64) *apiextensions.JSON {
	value := apiextensions.JSON(n)
	return &value
}

// addRules adds rules in CEL to some of the schemas in a schema.
func (r Source) addRules(schema map[string]any) {
	properties, _ := schema["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		property := properties[name].(map[string]any)
		r.addRules(property)
		var rule string
		switch property["type"] {
		case "string":
			rule = pick(r, "self.size() < 4", "self == oldSelf", "self != 'a'", "self.startsWith('a') || oldSelf.hasValue()")
		case "integer":
			rule = pick(r, "self < 3", "self >= oldSelf", "self % 2 == 0")
		case "object":
			rule = pick(r, "has(self.a)", "!has(self.b) || has(self.a)", "self == oldSelf", "size(self) < 3")
		case "array":
			rule = pick(r, "self.size() < 3", "self.all(x, x == self[0])", "oldSelf.all(x, x in self)")
		}
		if rule == "" || name == "metadata" || !r.chance(6) {
			continue
		}
		entry := map[string]any{"rule": rule}
		if r.chance(40) {
			entry[pick(r, "message", "messageExpression", "reason", "optionalOldSelf")] = pick[any](r, "no", "'no ' + string(1)", "FieldValueDuplicate", true)
		}
		property["x-kubernetes-validations"] = []any{entry}
	}
}

// parseSchema reads a schema that is not part of a document.
func parseSchema(schema map[string]any) (*Schema, error) {
	text, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	s := &Schema{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, err
	}
	return (&document{}).direct(s), nil
}
