package generate

import (
	"encoding/json"
	"slices"

	"github.com/fakecluster/fakecluster/conformance/random/play"
)

// object plays the life of an object of a kind, with answers of webhooks in its annotations, and compares what they were sent.
func (a *admission) object(kind *Kind) {
	a.versions = nil
	for _, k := range a.kinds {
		if k.Resource == kind.Resource && (k.Group == kind.Group || k.Resource == "events") {
			a.versions = append(a.versions, k)
		}
	}
	a.custom = nil
	if kind.Group == customGroup {
		a.custom = &definitionOf{}
	}
	a.as(kind)
	a.create()
	a.reviewed()
	for range 4 + a.IntN(4) {
		if a.Over() {
			return
		}
		a.as(pick(a.Source, a.versions...))
		switch n := a.IntN(10); {
		case n < 3 && a.current != nil:
			a.play(play.Step{Method: "PATCH", Path: a.path() + a.query(), Type: play.MergePatch, Body: a.annotated(map[string]any{})})
		case n < 5:
			a.special()
		default:
			a.step()
		}
		a.reviewed()
	}
	a.clear()
}

// as goes on with the object in the version of a kind.
func (a *admission) as(kind *Kind) {
	a.kind = kind
	with := *kind
	with.Stub = a.withAnswers(kind.Stub)
	if kind.Resource == "events" {
		inNamespace(with.Stub, a.namespace)
	}
	a.kind, a.collection = &with, kind.collection(a.namespace)
}

// reviewed compares the reviews of the last step. The list makes the watch cache of a real server new enough: a write that begins with an older
// object asks the webhooks twice.
func (a *admission) reviewed() {
	a.Do(play.Step{Method: play.Reviews, Path: a.ID})
	a.Do(play.Step{Method: "GET", Path: a.collection, Hidden: true})
}

// annotated returns the text of an object that has the answers of webhooks in its annotations.
func (a *admission) annotated(object map[string]any) string {
	text, err := json.Marshal(a.withAnswers(object))
	if err != nil {
		return "{}"
	}
	return string(text)
}

// special makes a request that only some kinds have: of a collection, or of a subresource that is not part of the object.
func (a *admission) special() {
	switch {
	case a.kind.Resource == "pods" && a.chance(70):
		a.podRequest()
	case a.kind.Resource == "services" && a.chance(30):
		a.Do(play.Step{Method: pick(a.Source, "GET", "POST"), Path: a.path() + "/proxy/x"})
	default:
		a.deleteAll()
	}
}

// podRequest evicts or binds a Pod, or connects to it.
func (a *admission) podRequest() {
	named := func(version, kind string) map[string]any {
		return map[string]any{"apiVersion": version, "kind": kind, "metadata": map[string]any{"name": a.name}}
	}
	switch a.IntN(4) {
	case 0:
		eviction := named("policy/v1", "Eviction")
		if a.chance(40) {
			eviction["deleteOptions"] = a.deleteOptions()
		}
		a.play(play.Step{Method: "POST", Path: a.path() + "/eviction" + a.query(), Body: a.annotated(eviction), Object: a.path()})
	case 1:
		binding := named("v1", "Binding")
		binding["target"] = map[string]any{"kind": "Node", "name": "n"}
		path := a.path() + "/binding"
		if a.chance(20) {
			path = "/api/v1/namespaces/" + a.namespace + "/bindings"
		}
		a.play(play.Step{Method: "POST", Path: path + a.query(), Body: a.annotated(binding), Object: a.path()})
	default:
		a.Do(play.Step{Method: "GET", Path: a.path() + pick(a.Source, "/proxy", "/proxy/x?y=z", "/exec?command=a&command=b", "/attach?stdin=true", "/portforward?ports=1")})
	}
	if a.current == nil && !a.Over() {
		a.create()
	}
}

// deleteAll deletes the collection, which has another object, too.
func (a *admission) deleteAll() {
	other := a.kind.object(a.name + "-b")
	other["metadata"].(map[string]any)["labels"] = map[string]any{"a": "x"}
	a.Do(play.Step{Method: "POST", Path: a.collection, Body: a.Source.text(other)})
	a.Do(play.Step{Method: "GET", Path: a.collection, Hidden: true})
	step := play.Step{Method: "DELETE", Path: a.collection + pick(a.Source, "?labelSelector=a%3Dx", "?labelSelector=a%3Dx&gracePeriodSeconds=0", "?fieldSelector=metadata.name%3D"+a.name, "?fieldSelector=metadata.name%3D"+a.name+"-b", "?labelSelector=a%3Dx&dryRun=All", "?labelSelector=a%3Dnone")}
	if a.chance(30) {
		step.Body = a.Source.text(a.deleteOptions())
	}
	a.play(step)
	for _, clean := range a.removals(a.collection + "/" + a.name + "-b") {
		clean.Hidden = true
		a.Do(clean)
	}
	if a.current == nil && !a.Over() {
		a.create()
	}
}

// removals are the steps that delete an object, whatever webhooks say of it.
func (a *admission) removals(path string) []play.Step {
	none := `{"metadata":{"finalizers":null,"annotations":{"random.example.com/mutating":null,"random.example.com/remutating":null,"random.example.com/validating":null,"random.example.com/revalidating":null}}}`
	return []play.Step{
		{Method: "PATCH", Path: path, Type: play.MergePatch, Body: none},
		{Method: "DELETE", Path: path + "?gracePeriodSeconds=0&propagationPolicy=Background"},
		{Method: play.Reviews, Path: a.ID},
	}
}

// clear deletes the object.
func (a *admission) clear() {
	for _, step := range a.removals(a.path()) {
		step.Hidden = true
		a.Do(step)
	}
	a.current = nil
}

const customGroup = "random.example.com"

// customKinds are the two versions of the kind that Setup defines.
func customKinds() []*Kind {
	s, err := parseSchema(admittedSchema)
	if err != nil {
		return nil
	}
	var kinds []*Kind
	for _, version := range []string{"v1", "v2"} {
		k := &Kind{Kind: "Admitted", Namespaced: true, Verbs: []string{"create", "update", "patch", "watch"}, Schema: s, Stub: map[string]any{"spec": map[string]any{"replicas": 1, "list": []any{"a"}}}, Subresources: map[string]Subresource{
			"status": {APIVersion: customGroup + "/" + version, Kind: "Admitted", Schema: s}, "scale": {APIVersion: "autoscaling/v1", Kind: "Scale", Schema: scaleSchema}}}
		k.Group, k.Version, k.Resource = customGroup, version, "admitteds"
		kinds = append(kinds, k)
	}
	return slices.Clip(kinds)
}

// admittedSchema is the schema of both versions.
var admittedSchema = map[string]any{"type": "object", "properties": map[string]any{
	"spec": map[string]any{"type": "object", "properties": map[string]any{
		"replicas": map[string]any{"type": "integer", "default": 1, "maximum": 100},
		"list":     map[string]any{"type": "array", "x-kubernetes-list-type": "set", "items": map[string]any{"type": "string"}},
		"free":     map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
		"nullable": map[string]any{"type": "string", "nullable": true, "default": "d"},
	}},
	"status": map[string]any{"type": "object", "properties": map[string]any{"replicas": map[string]any{"type": "integer"}, "selector": map[string]any{"type": "string"}}},
}}

// admittedDefinition is the definition of the kind.
func admittedDefinition() string {
	var versions []any
	for i, name := range []string{"v1", "v2"} {
		versions = append(versions, map[string]any{"name": name, "served": true, "storage": i == 0, "schema": map[string]any{"openAPIV3Schema": admittedSchema}, "subresources": map[string]any{
			"status": map[string]any{}, "scale": map[string]any{"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector"}}})
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "admitteds." + customGroup},
		"spec": map[string]any{"group": customGroup, "scope": "Namespaced", "names": map[string]any{"plural": "admitteds", "singular": "admitted", "kind": "Admitted", "listKind": "AdmittedList"}, "versions": versions}})
	if err != nil {
		return ""
	}
	return string(text)
}
