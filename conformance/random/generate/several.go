package generate

import (
	"fmt"
	"strings"

	"github.com/fakecluster/fakecluster/conformance/random/play"
)

// severalKinds are kinds of which a history makes several objects: in a namespace of its own, or with a label of its own.
var severalKinds = []string{"configmaps", "pods", "pods", "services", "deployments", "replicasets", "jobs", "persistentvolumeclaims", "events", "leases", "roles", "endpointslices", "networkpolicies",
	"secrets", "serviceaccounts", "statefulsets", "daemonsets", "cronjobs", "horizontalpodautoscalers", "poddisruptionbudgets", "ingresses", "endpoints", "podtemplates", "replicationcontrollers", "rolebindings",
	"controllerrevisions", "csistoragecapacities", "resourceclaims", "resourceclaimtemplates", "resourcequotas", "limitranges",
	"nodes", "persistentvolumes", "priorityclasses", "storageclasses", "clusterroles", "clusterrolebindings", "ingressclasses", "runtimeclasses", "volumeattachments", "csidrivers", "csinodes", "deviceclasses",
	"resourceslices", "certificatesigningrequests", "namespaces", "volumeattributesclasses"}

// several is some objects of a kind: in a namespace of their own or, if the kind has no namespaces, with a label of their own.
type several struct {
	*play.History
	Source
	kind       *Kind
	namespace  string
	collection string
	names      []string
}

// newSeveral returns a history without objects, in a new namespace.
func newSeveral(h *play.History, kinds []*Kind) *several {
	s := &several{History: h, Source: Source{h.Rand}, namespace: h.ID}
	s.kind = s.chooseKind(kinds)
	s.collection = s.kind.collection(s.namespace)
	s.Do(play.Step{Method: "POST", Path: namespaces, Body: `{"metadata":{"name":"` + h.ID + `"}}`, Hidden: true})
	// The history of lists and watches begins here.
	s.Do(play.Step{Method: "GET", Path: s.collection, Hidden: true})
	return s
}

const namespaces = "/api/v1/namespaces"

// chooseKind returns one of the kinds: now and then a custom one, and mostly one with namespaces.
func (s *several) chooseKind(kinds []*Kind) *Kind {
	if s.chance(25) {
		return pick(s.Source, fixedKinds[0], fixedKinds[0], fixedKinds[1])
	}
	namespaced := s.chance(75)
	var chosen []*Kind
	for _, name := range severalKinds {
		for _, k := range kinds {
			if k.Resource == name && k.Namespaced == namespaced && k.Stub != nil {
				chosen = append(chosen, k)
			}
		}
	}
	return pick(s.Source, chosen...)
}

// custom reports whether the kind has two versions, columns and selectable fields.
func (s *several) custom() bool { return s.kind.Group == fixedGroup }

// add creates an object with labels and, if a controller of Pods made it so, on a node.
func (s *several) add() {
	name := fmt.Sprintf("%s-%d", s.ID, len(s.names))
	step := play.Step{Method: "POST", Path: s.collection}
	if s.chance(6) {
		step.Path += "?dryRun=All"
	}
	s.names = append(s.names, name)
	object := s.kind.object(name)
	metadata := object["metadata"].(map[string]any)
	metadata["labels"] = map[string]any{"h": s.ID, "a": pick(s.Source, "x", "y", ""), "n": fmt.Sprint(len(s.names))}
	switch {
	case s.kind.Resource == "events":
		inNamespace(object, s.namespace)
	case s.custom():
		object["spec"] = s.fixedSpec()
	}
	if s.chance(30) {
		metadata["finalizers"] = pick(s.Source, []any{"example.com/a"}, []any{"example.com/a", "example.com/b"}, []any{"foregroundDeletion"}, []any{"orphan"})
	}
	if s.kind.Resource == "pods" && s.chance(60) {
		spec, _ := object["spec"].(map[string]any)
		object["spec"] = set(set(spec, change{path: []string{"nodeName"}, value: "n"}), change{path: []string{"terminationGracePeriodSeconds"}, value: pick(s.Source, 0, 1, 30)})
	}
	step.Body = s.Source.text(object)
	s.Do(step)
	if len(s.names) > 1 && s.chance(15) {
		s.own(name)
	}
}

// own gives an object an owner: one of those before it.
func (s *several) own(name string) {
	owner := pick(s.Source, s.names[:len(s.names)-1]...)
	reference := map[string]any{"apiVersion": s.kind.GroupVersion().String(), "kind": s.kind.Kind, "name": owner, "uid": "${uid}"}
	if s.chance(70) {
		reference["blockOwnerDeletion"] = s.chance(80)
	}
	if s.chance(50) {
		reference["controller"] = s.chance(80)
	}
	body := s.Source.text(map[string]any{"metadata": map[string]any{"ownerReferences": []any{reference}}})
	s.Do(play.Step{Method: "PATCH", Path: s.collection + "/" + name, Type: play.MergePatch, Body: body, Object: s.collection + "/" + owner})
	// References remember the owner by the answer to the patch until it is read again.
	s.Do(play.Step{Method: "GET", Path: s.collection + "/" + owner})
	s.Do(play.Step{Method: "GET", Path: s.collection + "/" + name})
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

// changes are merge patches of metadata.
var changes = []string{`{"metadata":{"labels":{"a":"x"}}}`, `{"metadata":{"labels":{"a":"y","b":"z"}}}`, `{"metadata":{"labels":null}}`, `{"metadata":{"annotations":{"k":"v"}}}`, `{"metadata":{"finalizers":null}}`,
	`{"metadata":{"finalizers":["example.com/b"]}}`, `{"metadata":{"finalizers":["example.com/a","foregroundDeletion"]}}`, `{"metadata":{"finalizers":["orphan"]}}`, `{"metadata":{"deletionTimestamp":null}}`,
	`{"metadata":{"deletionGracePeriodSeconds":5}}`, `{"metadata":{"ownerReferences":null}}`, `{}`}

// change changes a label, an annotation, a finalizer or the status of one object.
func (s *several) change() {
	path := s.one()
	if s.chance(15) {
		s.replace(path)
		return
	}
	step := play.Step{Method: "PATCH", Path: path, Type: play.MergePatch, Body: pick(s.Source, changes...)}
	switch {
	case s.kind.Resource == "pods" && s.chance(40):
		step.Path, step.Object = path+"/status", path
		step.Body = pick(s.Source, `{"status":{"phase":"Running"}}`, `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`, `{"status":{"phase":"Succeeded"}}`, `{"status":{"phase":"Failed"}}`)
	case s.custom() && s.chance(40):
		step.Body = s.Source.text(map[string]any{"spec": s.fixedSpec()})
	case s.custom() && s.chance(20):
		step.Path, step.Object = path+"/status", path
		step.Body = pick(s.Source, `{"status":{"conditions":[{"type":"Ready","status":"True"},{"type":"Ready","status":"False"}]}}`, `{"status":null}`, `{"status":{"conditions":{}}}`)
	}
	if s.chance(8) {
		step.Path += "?dryRun=All"
	}
	s.Do(s.versioned(step))
}

// replace puts an object as it was read, with other finalizers.
func (s *several) replace(path string) {
	code, object := s.Do(play.Step{Method: "GET", Path: path})
	if code != 200 {
		return
	}
	object = withReferences(object)
	metadata := object["metadata"].(map[string]any)
	metadata["finalizers"] = pick[any](s.Source, nil, []any{}, []any{"example.com/a"}, []any{"foregroundDeletion", "example.com/b"}, []any{"x"})
	s.Do(play.Step{Method: "PUT", Path: path, Body: s.Source.text(object)})
}

// versioned returns a step about the other version of a custom kind now and then. References are about the same object.
func (s *several) versioned(step play.Step) play.Step {
	if s.custom() && s.chance(30) {
		if step.Object == "" {
			step.Object, _, _ = strings.Cut(step.Path, "?")
		}
		step.Path = strings.Replace(step.Path, "/v1/", "/v2/", 1)
		step.Body = strings.Replace(step.Body, fixedGroup+"/v1", fixedGroup+"/v2", 1)
	}
	return step
}

// end takes everything away.
func (s *several) end() {
	for _, name := range s.names {
		path := s.collection + "/" + name
		s.Clean(play.Step{Method: "PATCH", Path: path, Type: play.MergePatch, Body: `{"metadata":{"finalizers":null}}`})
		s.Clean(play.Step{Method: "DELETE", Path: path + "?gracePeriodSeconds=0&propagationPolicy=Background"})
		s.Clean(play.Step{Method: "PATCH", Path: path, Type: play.MergePatch, Body: `{"metadata":{"finalizers":null}}`})
		if s.kind.Resource == "namespaces" {
			s.finalize(name)
		}
	}
	s.Clean(play.Step{Method: "DELETE", Path: namespaces + "/" + s.namespace})
	s.finalize(s.namespace)
}

// finalize ends a namespace, as a controller does once it is empty.
func (s *several) finalize(namespace string) {
	s.Clean(play.Step{Method: "PUT", Path: namespaces + "/" + namespace + "/finalize", Body: `{"metadata":{"name":"` + namespace + `"},"spec":{"finalizers":[]}}`})
}
