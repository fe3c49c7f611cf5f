package scenarios

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Each step in this file does in one line what operators and their users do with several
// requests, or with a long one.

var (
	objectReferenceByKind = referenceWith("{apiVersion, kind, namespace, name}", map[string]func(*parser, *yaml.Node) any{}, "apiVersion", "kind", "name")
	podReference          = referenceWith("{namespace, name}", map[string]func(*parser, *yaml.Node) any{}, "name")
	maybeReference        = referenceWith("{apiVersion, kind, namespace, name}", map[string]func(*parser, *yaml.Node) any{
		"name": func(p *parser, n *yaml.Node) any { return p.textOrMark(n) },
	}, "apiVersion", "kind")
	finalizeReference = referenceWith("{apiVersion, kind, namespace, name, finalizer}", map[string]func(*parser, *yaml.Node) any{
		"finalizer": func(p *parser, n *yaml.Node) any { return p.textOrMark(n) },
	}, "apiVersion", "kind", "name")
	scaleReference = referenceNeeding("replicas", "{apiVersion, kind, namespace, name, replicas}", map[string]func(*parser, *yaml.Node) any{
		"replicas": func(p *parser, n *yaml.Node) any {
			return p.numberOrMark(n, "replicas", "a number", -1<<31, 1<<31-1)
		},
	}, "apiVersion", "kind", "name")
)

// referenceNeeding returns a reference that must have one more field.
func referenceNeeding(field, notation string, more map[string]func(*parser, *yaml.Node) any, needed ...string) argument {
	reference := referenceWith(notation, more, needed...)
	return argument{notation, func(p *parser, n *yaml.Node) map[string]any {
		before := len(p.mistakes)
		ref := reference.parse(p, n)
		if len(p.mistakes) == before && ref[field] == nil {
			p.mistake(n, "it needs %s", field)
		}
		return ref
	}}
}

var statusManifest = argument{"MANIFEST", func(p *parser, n *yaml.Node) map[string]any {
	object := oneManifest.parse(p, n)
	for _, name := range sortedFields(object) {
		switch name {
		case "apiVersion", "kind", "metadata", "status":
		default:
			p.mistake(n, "only the status is sent: %s cannot stand here", name)
		}
	}
	if object != nil && object["status"] == nil {
		p.mistake(n, "the manifest needs status")
	}
	return object
}}

var anyValue = argument{"VALUE", func(p *parser, n *yaml.Node) map[string]any {
	return map[string]any{"value": p.tree(n, manifestMarks)}
}}

func scale(ctx context.Context, c *client, r request) (target, answer, error) {
	r.subresource = "scale"
	r.headers = withDefault(r.headers, "Content-Type", string(types.MergePatchType))
	return c.toObject(ctx, r, http.MethodPatch, map[string]any{"spec": map[string]any{"replicas": r.argument["replicas"]}})
}

func patchStatus(ctx context.Context, c *client, r request) (target, answer, error) {
	t := r.manifestTarget()
	path, err := c.object(ctx, &t, "status")
	if err != nil {
		return t, answer{}, err
	}
	r.headers = withDefault(r.headers, "Content-Type", string(types.MergePatchType))
	a, err := c.send(ctx, r.call(http.MethodPatch, path, map[string]any{"status": r.argument["status"]}))
	return t, a, err
}

// theNamespaces is the finalizer that the server puts on namespaces, in their spec.
const theNamespaces = "kubernetes"

func finalize(ctx context.Context, c *client, r request) (target, answer, error) {
	t, object, err := c.toObject(ctx, r, http.MethodGet, nil)
	if err != nil || object.refused() {
		return t, object, err
	}
	which, named := r.argument["finalizer"]
	path, err := c.object(ctx, &t, "")
	if err != nil {
		return t, answer{}, err
	}
	body, _ := object.body.(map[string]any)
	isNamespace := t.apiVersion == "v1" && t.kind == "Namespace"
	spec, _ := body["spec"].(map[string]any)
	if isNamespace && (which == theNamespaces || !named && spec["finalizers"] != nil) {
		spec["finalizers"] = []any{}
		a, err := c.send(ctx, r.call(http.MethodPut, path+"/finalize", body))
		if err != nil || a.refused() || named {
			return t, a, err
		}
	}
	metadata := object.metadata()
	finalizers, _ := metadata["finalizers"].([]any)
	kept := slices.DeleteFunc(slices.Clone(finalizers), func(f any) bool { return !named || f == which })
	if len(kept) == len(finalizers) && !(isNamespace && !named) {
		return t, answer{}, fmt.Errorf("the object has no such finalizer: it has %s", inOneLine(finalizers))
	}
	r.headers = withDefault(r.headers, "Content-Type", string(types.MergePatchType))
	patch := map[string]any{"metadata": map[string]any{"finalizers": kept, "resourceVersion": metadata["resourceVersion"]}}
	if isNamespace && len(kept) == len(finalizers) {
		return t, object, nil
	}
	a, err := c.send(ctx, r.call(http.MethodPatch, path, patch))
	return t, a, err
}

func evict(ctx context.Context, c *client, r request) (target, answer, error) {
	pod := withDefault(withDefault(r.argument, "apiVersion", "v1"), "kind", "Pod")
	t := targetOfReference(pod)
	path, err := c.object(ctx, &t, "eviction")
	if err != nil {
		return t, answer{}, err
	}
	eviction := map[string]any{
		"apiVersion": "policy/v1", "kind": "Eviction", "metadata": map[string]any{"name": t.name, "namespace": t.namespace},
	}
	if r.body != nil {
		eviction["deleteOptions"] = r.body
	}
	a, err := c.send(ctx, r.call(http.MethodPost, path, eviction))
	return t, a, err
}

// isThere says that something is there that should not be.
type isThere struct{ what string }

func (e isThere) Error() string { return e.what }

func isAbsent(ctx context.Context, c *client, r request) (target, answer, error) {
	gone := answer{code: http.StatusOK, warnings: []any{}}
	if _, one := r.argument["name"]; one {
		t, a, err := c.toObject(ctx, r, http.MethodGet, nil)
		switch {
		case err != nil || a.code == http.StatusNotFound:
			return t, gone, err
		case a.refused():
			return t, a, nil
		}
		return t, a, isThere{"it is there: " + inOneLine(a.shownBody())}
	}
	t, a, err := c.toCollection(ctx, r, http.MethodGet, nil)
	if err != nil || a.refused() {
		return t, a, err
	}
	items := a.items()
	if len(items) == 0 {
		return t, gone, nil
	}
	var names []string
	for _, item := range items {
		names = append(names, nameOf(item))
	}
	return t, a, isThere{fmt.Sprintf("%d are there: %s", len(items), strings.Join(names, ", "))}
}

func count(ctx context.Context, c *client, r request) (target, answer, error) {
	t, a, err := c.toCollection(ctx, r, http.MethodGet, nil)
	if err == nil && !a.refused() {
		a.body = int64(len(a.items()))
	}
	return t, a, err
}

// recorded lists the Events of an object. They are in its namespace, or in default if it is
// cluster-scoped.
func recorded(ctx context.Context, c *client, r request) (target, answer, error) {
	t := targetOfReference(r.argument)
	if _, err := c.collection(ctx, &t); err != nil {
		return t, answer{}, err
	}
	r.options = map[string]any{"fieldSelector": selectorOfEvents(t)}
	a, err := c.send(ctx, r.call(http.MethodGet, eventsPath(t), nil))
	if err != nil || a.refused() {
		return t, a, err
	}
	events := a.items()
	slices.SortStableFunc(events, func(a, b any) int {
		return cmp.Or(cmp.Compare(made(a), made(b)), cmp.Compare(revision(a), revision(b)))
	})
	a.body = events
	return t, a, nil
}

func eventsPath(t target) string {
	namespace := t.namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	return "/api/v1/namespaces/" + url.PathEscape(namespace) + "/events"
}

func selectorOfEvents(t target) string {
	return "involvedObject.kind=" + t.kind + ",involvedObject.name=" + t.name
}

func metadataOf(object any) map[string]any {
	fields, _ := object.(map[string]any)
	metadata, _ := fields["metadata"].(map[string]any)
	return metadata
}

func made(object any) string {
	text, _ := metadataOf(object)["creationTimestamp"].(string)
	return text
}

func revision(object any) uint64 {
	text, _ := metadataOf(object)["resourceVersion"].(string)
	n, _ := strconv.ParseUint(text, 10, 64) // what is no number sorts first
	return n
}

// nameOf returns NAMESPACE/NAME of an object, or its name if it is cluster-scoped.
func nameOf(object any) string {
	metadata := metadataOf(object)
	name, _ := metadata["name"].(string)
	if namespace, _ := metadata["namespace"].(string); namespace != "" {
		return namespace + "/" + name
	}
	return name
}

// items returns the items of a list.
func (a answer) items() []any {
	list, _ := a.body.(map[string]any)
	items, _ := list["items"].([]any)
	if items == nil {
		items = []any{}
	}
	return items
}

func write(_ context.Context, _ *client, r request) (target, answer, error) {
	line, ok := r.argument["value"].(string)
	if !ok {
		line = inOneLine(plain(r.argument["value"]))
	}
	return target{}, answer{code: http.StatusOK, body: line, warnings: []any{}}, nil
}

// inOneLine returns a value as JSON, shortened if it is long.
func inOneLine(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return shortened(string(data), maxShown)
}
