package generate

import (
	"fmt"
	"slices"

	"github.com/fakecluster/fakecluster/conformance/random/play"
)

// severalKinds are kinds of which a history makes several objects in a namespace of its own.
var severalKinds = []string{"configmaps", "pods", "services", "deployments", "replicasets", "jobs", "persistentvolumeclaims", "events", "leases", "roles", "endpointslices", "networkpolicies"}

// several is some objects of a kind, in a namespace of their own.
type several struct {
	*play.History
	Source
	kind       *Kind
	namespace  string
	collection string
	names      []string
}

// newSeveral returns a history in a new namespace, without objects.
func newSeveral(h *play.History, kinds []*Kind) *several {
	s := &several{History: h, Source: Source{h.Rand}, namespace: h.ID}
	var chosen []*Kind
	for _, k := range kinds {
		if slices.Contains(severalKinds, k.Resource) && k.Stub != nil {
			chosen = append(chosen, k)
		}
	}
	s.kind = pick(s.Source, chosen...)
	s.collection = s.kind.collection(s.namespace)
	s.Do(play.Step{Method: "POST", Path: "/api/v1/namespaces", Body: `{"metadata":{"name":"` + h.ID + `"}}`, Hidden: true})
	// The history of lists and watches begins here.
	s.Do(play.Step{Method: "GET", Path: s.collection, Hidden: true})
	return s
}

// add creates an object with labels and, if a controller of Pods made it so, on a node.
func (s *several) add() {
	name := fmt.Sprintf("%s-%d", s.ID, len(s.names))
	s.names = append(s.names, name)
	object := s.kind.object(name)
	metadata := object["metadata"].(map[string]any)
	metadata["labels"] = map[string]any{"a": pick(s.Source, "x", "y", ""), "n": fmt.Sprint(len(s.names))}
	if s.kind.Resource == "events" {
		inNamespace(object, s.namespace)
	}
	if s.chance(30) {
		metadata["finalizers"] = pick(s.Source, []any{"example.com/a"}, []any{"example.com/a", "example.com/b"}, []any{"foregroundDeletion"}, []any{"orphan"})
	}
	if s.kind.Resource == "pods" && s.chance(60) {
		spec, _ := object["spec"].(map[string]any)
		object["spec"] = set(set(spec, change{path: []string{"nodeName"}, value: "n"}), change{path: []string{"terminationGracePeriodSeconds"}, value: pick(s.Source, 0, 1, 30)})
	}
	s.Do(play.Step{Method: "POST", Path: s.collection, Body: s.Source.text(object)})
}

// inNamespace gives the object that an Event is about the namespace of the Event.
func inNamespace(object map[string]any, namespace string) {
	for _, field := range []string{"involvedObject", "regarding"} {
		if about, ok := object[field].(map[string]any); ok {
			object[field] = set(about, change{path: []string{"namespace"}, value: namespace})
		}
	}
}

// one returns the path of one of the objects.
func (s *several) one() string { return s.collection + "/" + pick(s.Source, s.names...) }

// change changes a label, an annotation or a finalizer of one object.
func (s *several) change() {
	body := pick(s.Source, `{"metadata":{"labels":{"a":"x"}}}`, `{"metadata":{"labels":{"a":"y","b":"z"}}}`, `{"metadata":{"labels":null}}`, `{"metadata":{"annotations":{"k":"v"}}}`, `{"metadata":{"finalizers":null}}`,
		`{"metadata":{"finalizers":["example.com/b"]}}`, `{}`)
	s.Do(play.Step{Method: "PATCH", Path: s.one(), Type: play.MergePatch, Body: body})
}

// end takes everything away.
func (s *several) end() {
	for _, name := range s.names {
		path := s.collection + "/" + name
		s.Clean(play.Step{Method: "PATCH", Path: path, Type: play.MergePatch, Body: `{"metadata":{"finalizers":null}}`})
		s.Clean(play.Step{Method: "DELETE", Path: path + "?gracePeriodSeconds=0&propagationPolicy=Background"})
	}
	s.Clean(play.Step{Method: "DELETE", Path: "/api/v1/namespaces/" + s.namespace})
}
