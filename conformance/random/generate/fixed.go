package generate

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/conformance/random/play"
)

// fixedGroup is the group of the custom kinds of which all histories of reads and deletes make objects.
const fixedGroup = "fixed.example.com"

// fixedVersions are those of the custom kinds: a deprecated one and the stored one, with other columns and selectable fields.
const fixedVersions = `[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},
"additionalPrinterColumns":[{"name":"Color","type":"string","jsonPath":".spec.color"},{"name":"Replicas","type":"integer","jsonPath":".spec.replicas","description":"how many"},
{"name":"Made","type":"date","jsonPath":".spec.made"},{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"},{"name":"On","type":"boolean","jsonPath":".spec.on","priority":1},
{"name":"Ratio","type":"number","jsonPath":".spec.ratio"},{"name":"List","type":"string","jsonPath":".spec.list"},{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}],
"selectableFields":[{"jsonPath":".spec.color"},{"jsonPath":".spec.replicas"},{"jsonPath":".spec.on"}],
"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"color":{"type":"string"},"replicas":{"type":"integer","default":1},"made":{"type":"string","format":"date-time"},
"on":{"type":"boolean"},"ratio":{"type":"number"},"list":{"type":"array","items":{"type":"string"}},"size":{"type":"string","enum":["s","m"]}}},"status":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}},
{"name":"v2","served":true,"storage":false,"deprecated":true,"deprecationWarning":"v2 is old","subresources":{"status":{}},"additionalPrinterColumns":[{"name":"Size","type":"string","jsonPath":".spec.size"}],
"selectableFields":[{"jsonPath":".spec.size"}],
"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"size":{"type":"string","default":"m"},"color":{"type":"string"}}},"status":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}]`

// fixedKinds are the custom kinds.
var fixedKinds = []*Kind{fixedKind("widgets", "Widget", true), fixedKind("planets", "Planet", false)}

func fixedKind(resource, kind string, namespaced bool) *Kind {
	return &Kind{GroupVersionResource: schema.GroupVersionResource{Group: fixedGroup, Version: "v1", Resource: resource}, Kind: kind, Namespaced: namespaced,
		Verbs: []string{"create", "update", "patch", "watch", "list", "delete", "deletecollection"}, Subresources: map[string]Subresource{"status": {}}, Stub: map[string]any{}}
}

// defineFixed returns the steps that define the custom kinds.
func defineFixed() []play.Step {
	var steps []play.Step
	for _, k := range fixedKinds {
		name, scope := k.Resource+"."+fixedGroup, "Cluster"
		if k.Namespaced {
			scope = "Namespaced"
		}
		body := `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"` + name + `"},"spec":{"group":"` + fixedGroup + `","scope":"` + scope +
			`","names":{"plural":"` + k.Resource + `","singular":"` + strings.ToLower(k.Kind) + `","kind":"` + k.Kind + `","listKind":"` + k.Kind + `List"},"versions":` + fixedVersions + `}}`
		steps = append(steps, play.Step{Method: "POST", Path: definitions, Body: body, Hidden: true},
			play.Step{Method: "GET", Path: definitions + "/" + name, Until: 200, Holds: established, Hidden: true})
		for _, version := range []string{"v1", "v2"} {
			one := *k
			one.Version = version
			steps = append(steps, play.Step{Method: "GET", Path: "/apis/" + fixedGroup + "/" + version + "/" + k.Resource, Until: 200, Hidden: true},
				play.Step{Method: "POST", Path: one.collection(Namespace) + "?dryRun=All", Body: `{"apiVersion":"` + fixedGroup + "/" + version + `","kind":"` + k.Kind + `","metadata":{"name":"probe"}}`, Until: 201, Hidden: true})
		}
	}
	return steps
}

// fixedFields are the fields of the custom objects, with values.
var fixedFields = []struct {
	name   string
	values []any
}{
	{"color", []any{"red", "green", "", "a,b"}}, {"replicas", []any{0, 1, 7, -1}}, {"made", []any{"2020-01-02T03:04:05Z", "2050-01-02T03:04:05Z"}}, {"on", []any{true, false}},
	{"ratio", []any{1.5, 2, 0.25}}, {"list", []any{[]any{}, []any{"a"}, []any{"a", "b"}}}, {"size", []any{"s", "m"}},
}

// fixedSpec returns the spec of a custom object.
func (r Source) fixedSpec() map[string]any {
	spec := map[string]any{}
	for _, f := range fixedFields {
		if r.chance(50) {
			spec[f.name] = pick(r, f.values...)
		}
	}
	return spec
}
