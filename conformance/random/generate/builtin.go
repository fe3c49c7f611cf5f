package generate

import (
	"fmt"
	"slices"

	"github.com/fakecluster/fakecluster/conformance/random/play"
)

// Namespace is where the objects of most histories are.
const Namespace = "random"

// dryKinds are kinds whose objects a real server changes or obeys some time after a write. Their writes are dry runs of an
// object that is there from the start, if it has one.
var dryKinds = map[string]string{
	"customresourcedefinitions":   "randoms.random.example.com",
	"apiservices":                 "v1.",
	"flowschemas":                 "catch-all",
	"prioritylevelconfigurations": "catch-all",
	"namespaces":                  Namespace,
	"servicecidrs":                "kubernetes",
}

// aloneKinds are kinds whose objects change what other requests do: no other history is played beside one of them.
var aloneKinds = []string{"priorityclasses", "storageclasses", "ingressclasses", "runtimeclasses"}

// ownNamespaceKinds are kinds whose objects change what other requests in the namespace do.
var ownNamespaceKinds = []string{"resourcequotas", "limitranges"}

// Alone reports whether no other history may be played beside one of the kind.
func (k *Kind) Alone() bool { return slices.Contains(aloneKinds, k.Resource) }

// Writable reports whether BuiltIn has histories of the kind.
func (k *Kind) Writable() bool {
	return k.can("create") && k.Resource != "componentstatuses" && !(k.Group == "" && k.Resource == "bindings")
}

// name returns the name of the objects of a history.
func (k *Kind) name(h *play.History, number int) string {
	switch k.Resource {
	case "ipaddresses":
		return fmt.Sprintf("192.%d.%d.%d", 168+number>>16&1, number>>8&255, number&255)
	case "clustertrustbundles":
		return "example.com:signer:" + h.ID
	}
	return h.ID
}

// life is one object of a built-in kind in a history.
type life struct {
	*play.History
	Source
	kind       *Kind
	namespace  string
	name       string
	collection string
	dry        bool
	custom     *definitionOf  // nil: the kind is built in
	current    map[string]any // as the first server has last shown it; nil: it is not there
}

// BuiltIn plays what happens to an object of the kind: it is created, replaced, patched in all ways, by several managers, through its
// subresources, with odd values at any path, and deleted.
func BuiltIn(h *play.History, kind *Kind, number int) {
	l := &life{History: h, Source: Source{h.Rand}, kind: kind, namespace: Namespace, name: kind.name(h, number)}
	if fixed, ok := dryKinds[kind.Resource]; ok {
		l.dry, l.name = true, fixed
	}
	if slices.Contains(ownNamespaceKinds, kind.Resource) {
		l.namespace = h.ID
		h.Do(play.Step{Method: "POST", Path: "/api/v1/namespaces", Body: `{"metadata":{"name":"` + h.ID + `"}}`, Hidden: true})
	}
	l.collection = kind.collection(l.namespace)
	if kind.Stub == nil {
		l.reviews()
		return
	}
	l.create()
	for range 6 + l.IntN(8) {
		if l.Over() {
			break
		}
		l.step()
	}
	l.end()
}

// path returns the path of the object.
func (l *life) path() string { return l.collection + "/" + l.name }

// play plays a step, in a dry run if it has to be, and reads the object after a write.
func (l *life) play(step play.Step) {
	if l.dry && step.Method != "GET" {
		step.Path = withDryRun(step.Path)
	}
	code, _ := l.Do(step)
	if code >= 300 || l.Over() {
		if l.chance(10) {
			l.read()
		}
		return
	}
	l.read()
}

// read reads the object, mostly in JSON.
func (l *life) read() {
	step := play.Step{Method: "GET", Path: l.path()}
	code, object := l.Do(step)
	l.current = nil
	if code == 200 {
		l.current = object
	}
	if l.chance(10) {
		step.Accept = pick(l.Source, acceptTable, acceptPartial, "application/yaml", "application/cbor")
		l.Do(step)
	}
}

// create creates the object until it is there: first with odd values, and then as it has to be.
func (l *life) create() {
	if l.dry {
		l.read()
	}
	for attempt := range 4 {
		object := l.kind.object(l.name)
		if attempt < 3 {
			for range l.IntN(4) {
				object, _ = set(object, l.change(l.kind.Schema)).(map[string]any)
			}
		}
		if metadata, ok := object["metadata"].(map[string]any); ok && (attempt == 3 || !l.chance(10)) {
			metadata["name"] = l.name
		}
		delete(object, "$patch")
		step := play.Step{Method: "POST", Path: l.collection + l.query(), Body: l.Source.text(object)}
		switch {
		case attempt == 3:
			step = play.Step{Method: "POST", Path: l.collection, Body: l.Source.text(l.kind.object(l.name))}
		case l.chance(20):
			step = play.Step{Method: "PATCH", Path: l.path() + "?fieldManager=a1", Type: play.ApplyPatch, Body: step.Body}
		case l.chance(10):
			step.Method, step.Path = "PUT", l.path()+l.query()
		}
		l.play(step)
		if l.current != nil || l.Over() || l.dry {
			return
		}
		l.read()
		if l.current != nil {
			return
		}
	}
}

// step makes one request of the object or one of its subresources.
func (l *life) step() {
	path, root, head := l.path(), l.kind.Schema, l.head()
	if name := l.subresource(); name != "" {
		sub := l.kind.Subresources[name]
		path, root = path+"/"+name, sub.Schema
		if sub.Kind != l.kind.Kind {
			head = map[string]any{"apiVersion": sub.APIVersion, "kind": sub.Kind, "metadata": map[string]any{"name": l.name}}
		}
	}
	switch n := l.IntN(20); {
	case n == 0 && len(l.kind.Subresources) > 0:
		l.other()
	case n < 12 && l.kind.can("patch"):
		l.play(l.patch(path, head, withReferences(l.current), l.changes(root), l.custom == nil))
	case n < 18 && l.kind.can("update"):
		l.replace(path, root)
	default:
		l.delete()
	}
}

// other makes a request of a subresource that is not a form of the object: it creates a token, a binding or an eviction, or asks a
// node for something, which there is not.
func (l *life) other() {
	name := pick(l.Source, sorted(l.kind.Subresources)...)
	sub := l.kind.Subresources[name]
	path := l.path() + "/" + name
	if !slices.Contains(sub.Verbs, "create") || name == "exec" || name == "attach" || name == "portforward" || name == "proxy" {
		l.Do(play.Step{Method: "GET", Path: path + pick(l.Source, "", "?previous=true", "?tailLines=-1", "?limitBytes=0", "?command=a", "?container=none", "?sinceTime=x", "?stdin=true"), Object: l.path()})
		return
	}
	object := map[string]any{"apiVersion": sub.APIVersion, "kind": sub.Kind, "metadata": map[string]any{"name": l.name}}
	for range l.IntN(3) {
		object, _ = set(object, l.change(sub.Schema)).(map[string]any)
	}
	l.play(play.Step{Method: "POST", Path: path + l.query(), Body: l.Source.text(object), Object: l.path()})
}

// head returns what an apply configuration begins with: now and then with what the object was made of.
func (l *life) head() map[string]any {
	if l.chance(30) {
		return l.kind.object(l.name)
	}
	return l.kind.head(l.name)
}

func (l *life) changes(root *Schema) []change {
	var changes []change
	for range 1 + l.IntN(3) {
		changes = append(changes, l.change(root))
	}
	return changes
}

// subresource returns one that has the form of the object, or nothing.
func (l *life) subresource() string {
	var names []string
	for _, name := range []string{"status", "scale", "approval", "finalize", "ephemeralcontainers", "resize"} {
		if _, ok := l.kind.Subresources[name]; ok {
			names = append(names, name)
		}
	}
	if len(names) == 0 || !l.chance(35) {
		return ""
	}
	return pick(l.Source, names...)
}

// replace puts the object as it was last seen, with changes.
func (l *life) replace(path string, root *Schema) {
	current := l.current
	if path != l.path() { // of a subresource
		if code, object := l.Do(play.Step{Method: "GET", Path: path}); code == 200 {
			current = object
		}
	}
	if current == nil {
		current = l.kind.object(l.name)
	}
	object := withReferences(current)
	for range l.IntN(4) {
		object, _ = set(object, l.change(root)).(map[string]any)
	}
	if metadata, ok := object["metadata"].(map[string]any); ok && l.chance(25) {
		delete(metadata, "resourceVersion")
	}
	l.play(play.Step{Method: "PUT", Path: path + l.query(), Body: l.Source.text(object), Object: l.path()})
}

// delete deletes the object, and makes it again if it is gone.
func (l *life) delete() {
	step := play.Step{Method: "DELETE", Path: l.path()}
	if !l.dry && l.chance(60) { // what the path says does not count if there is a body
		step.Body = l.Source.text(l.deleteOptions())
	}
	if l.chance(50) {
		step.Path += "?" + pick(l.Source, "gracePeriodSeconds=0", "gracePeriodSeconds=5", "propagationPolicy=Background", "propagationPolicy=Orphan", "propagationPolicy=Foreground", "orphanDependents=true", "dryRun=All", "gracePeriodSeconds=x", "propagationPolicy=Nope")
	}
	l.play(step)
	if l.current == nil && !l.Over() {
		l.create()
	}
}

// deleteOptions returns options, with references to the object.
func (l *life) deleteOptions() map[string]any {
	options := map[string]any{}
	for range 1 + l.IntN(2) {
		switch l.IntN(6) {
		case 0:
			options["gracePeriodSeconds"] = pick[any](l.Source, 0, 1, 30, -1, nil, "1")
		case 1:
			options["preconditions"] = pick[any](l.Source, map[string]any{"uid": "${uid}"}, map[string]any{"resourceVersion": "${resourceVersion}"}, map[string]any{"uid": "x"}, map[string]any{"resourceVersion": "1"}, map[string]any{}, nil)
		case 2:
			options["propagationPolicy"] = pick[any](l.Source, "Orphan", "Foreground", "Background", "Nope", "", nil)
		case 3:
			options["orphanDependents"] = pick[any](l.Source, true, false, nil)
		case 4:
			options["dryRun"] = pick[any](l.Source, []any{"All"}, []any{}, []any{"Nope"}, nil)
		default:
			options[pick(l.Source, "apiVersion", "kind", "nope", "ignoreStoreReadErrorWithClusterBreakingPotential")] = pick[any](l.Source, "v1", "DeleteOptions", true, false)
		}
	}
	return options
}

// reviews plays creates of a kind whose objects are not stored.
func (l *life) reviews() {
	for range 4 + l.IntN(5) {
		object := l.kind.head(l.name)
		for range 1 + l.IntN(4) {
			object, _ = set(object, l.change(l.kind.Schema)).(map[string]any)
		}
		l.Do(play.Step{Method: "POST", Path: l.collection + l.query(), Body: l.Source.text(object)})
	}
}

// end reads the events of the history, and takes everything away.
func (l *life) end() {
	if l.kind.can("watch") && !l.dry && l.chance(15) {
		l.Do(play.Step{Method: "GET", Path: l.collection + "?watch=true&timeoutSeconds=1&resourceVersion=${firstResourceVersion}&fieldSelector=metadata.name%3D" + l.name, Object: l.path()})
	}
	if l.dry {
		return
	}
	l.Clean(play.Step{Method: "PATCH", Path: l.path(), Type: play.MergePatch, Body: `{"metadata":{"finalizers":null}}`})
	l.Clean(play.Step{Method: "DELETE", Path: l.path() + "?gracePeriodSeconds=0&propagationPolicy=Background"})
	l.Clean(play.Step{Method: "PATCH", Path: l.path(), Type: play.MergePatch, Body: `{"metadata":{"finalizers":null}}`})
}
