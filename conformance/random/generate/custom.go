package generate

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/fakecluster/fakecluster/conformance/random/play"
	"github.com/fakecluster/fakecluster/internal/testing/schematest"
)

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// customObjects is how many objects of a random definition a history makes.
const customObjects = 8

// Custom plays objects of a random definition: their writes by several managers, in all ways, in all versions, with values that
// the schema allows and odd ones.
func Custom(h *play.History, number int) {
	r := Source{h.Rand}
	definition := r.define(h)
	if definition == nil {
		return
	}
	kind := &Kind{Kind: "Thing", Namespaced: definition.namespaced(), Verbs: []string{"create", "update", "patch", "watch"},
		Subresources: map[string]Subresource{}, Schema: definition.schema}
	kind.Group, kind.Resource = definition.group, definition.plural
	if definition.status {
		kind.Subresources["status"] = Subresource{APIVersion: definition.group + "/v1", Kind: "Thing", Schema: definition.schema}
	}
	if definition.scale {
		kind.Subresources["scale"] = Subresource{APIVersion: "autoscaling/v1", Kind: "Scale", Schema: scaleSchema}
	}
	for n := range customObjects {
		if h.Over() {
			break
		}
		one := *kind
		one.Version = pick(r, definition.versions...)
		one.Stub = plainNumbers(schematest.Generator{Rand: h.Rand}.Object(definition.internal, 0))
		delete(one.Stub, "apiVersion")
		delete(one.Stub, "kind")
		delete(one.Stub, "metadata")
		l := &life{History: h, Source: r, kind: &one, namespace: Namespace, name: fmt.Sprintf("%s-%d", h.ID, n), custom: definition}
		l.collection = one.collection(Namespace)
		l.create()
		for range 6 + r.IntN(10) {
			if h.Over() {
				break
			}
			one.Version = pick(r, definition.versions...)
			l.collection = one.collection(Namespace)
			if len(definition.selectable) > 0 && r.chance(15) {
				l.list(definition.selectable)
			}
			l.step()
		}
		l.end()
	}
	h.Clean(play.Step{Method: "DELETE", Path: definitions + "/" + definition.plural + "." + definition.group})
}

// scaleSchema is the schema of a Scale.
var scaleSchema = &Schema{Type: "object", Properties: map[string]*Schema{
	"spec":   {Type: "object", Properties: map[string]*Schema{"replicas": {Type: "integer", Format: "int32"}}},
	"status": {Type: "object", Properties: map[string]*Schema{"replicas": {Type: "integer"}, "selector": {Type: "string"}}},
}}

// define makes a random definition that the server accepts, and waits until its objects can be written. It returns nil if there is none.
func (r Source) define(h *play.History) *definitionOf {
	for range 6 {
		definition, err := r.definition(h.ID)
		if err != nil {
			continue
		}
		text, err := json.Marshal(definition.body)
		if err != nil {
			continue
		}
		body := string(text)
		// What the conditions say is said later on a real server, so that the first write is a dry run.
		if code, _ := h.Do(play.Step{Method: "POST", Path: definitions + "?dryRun=All", Body: body}); code != 201 {
			if h.Over() {
				return nil
			}
			continue
		}
		h.Do(play.Step{Method: "POST", Path: definitions, Body: body, Hidden: true})
		path := definitions + "/" + definition.plural + "." + definition.group
		h.Do(play.Step{Method: "GET", Path: path, Until: 200, Holds: established, Hidden: true})
		for _, version := range definition.versions {
			objects := "/apis/" + definition.group + "/" + version + "/" + definition.plural
			h.Do(play.Step{Method: "GET", Path: objects, Until: 200, Hidden: true})
			// A real server knows the types of fields some time after that.
			if definition.namespaced() {
				objects = "/apis/" + definition.group + "/" + version + "/namespaces/" + Namespace + "/" + definition.plural
			}
			h.Do(play.Step{Method: "POST", Path: objects + "?dryRun=All", Body: `{"apiVersion":"` + definition.group + "/" + version + `","kind":"Thing","metadata":{"name":"probe"}}`, Not: 503, Hidden: true})
		}
		return definition
	}
	return nil
}

// plainNumbers returns an object as JSON has it.
func plainNumbers(object map[string]any) map[string]any {
	text, err := json.Marshal(object)
	if err != nil {
		return map[string]any{}
	}
	plain := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&plain) != nil {
		return map[string]any{}
	}
	return plain
}
