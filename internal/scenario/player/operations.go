package player

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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fakecluster/fakecluster/internal/printable"
	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

func scale(ctx context.Context, c *Client, r syntax.Request) (target, Answer, error) {
	r.Subresource = "scale"
	r.Headers = withDefault(r.Headers, "Content-Type", string(types.MergePatchType))
	return c.toObject(ctx, r, http.MethodPatch, map[string]any{"spec": map[string]any{"replicas": r.Argument["replicas"]}})
}

func patchStatus(ctx context.Context, c *Client, r syntax.Request) (target, Answer, error) {
	t := manifestTarget(r)
	path, err := c.object(ctx, &t, "status")
	if err != nil {
		return t, Answer{}, err
	}
	r.Headers = withDefault(r.Headers, "Content-Type", string(types.MergePatchType))
	a, err := c.Send(ctx, newCall(r, http.MethodPatch, path, map[string]any{"status": r.Argument["status"]}))
	return t, a, err
}

// namespaceFinalizer is the finalizer that the server puts on namespaces, in their spec.
const namespaceFinalizer = "kubernetes"

func finalize(ctx context.Context, c *Client, r syntax.Request) (target, Answer, error) {
	t, object, err := c.toObject(ctx, r, http.MethodGet, nil)
	if err != nil || object.IsError() {
		return t, object, err
	}
	which, named := r.Argument["finalizer"]
	path, err := c.object(ctx, &t, "")
	if err != nil {
		return t, Answer{}, err
	}
	body, _ := object.Body.(map[string]any)
	isNamespace := t.apiVersion == "v1" && t.kind == "Namespace"
	spec, _ := body["spec"].(map[string]any)
	if isNamespace && (which == namespaceFinalizer || !named && spec["finalizers"] != nil) {
		spec["finalizers"] = []any{}
		a, err := c.Send(ctx, newCall(r, http.MethodPut, path+"/finalize", body))
		if err != nil || a.IsError() || named {
			return t, a, err
		}
	}
	metadata := object.metadata()
	finalizers, _ := metadata["finalizers"].([]any)
	kept := slices.DeleteFunc(slices.Clone(finalizers), func(f any) bool { return !named || f == which })
	if len(kept) == len(finalizers) && !(isNamespace && !named) {
		return t, Answer{}, fmt.Errorf("the object does not have the finalizer; it has %s", inOneLine(finalizers))
	}
	r.Headers = withDefault(r.Headers, "Content-Type", string(types.MergePatchType))
	patch := map[string]any{"metadata": map[string]any{"finalizers": kept, "resourceVersion": metadata["resourceVersion"]}}
	if isNamespace && len(kept) == len(finalizers) {
		return t, object, nil
	}
	a, err := c.Send(ctx, newCall(r, http.MethodPatch, path, patch))
	return t, a, err
}

func evict(ctx context.Context, c *Client, r syntax.Request) (target, Answer, error) {
	pod := withDefault(withDefault(r.Argument, "apiVersion", "v1"), "kind", "Pod")
	t := targetOfReference(pod)
	path, err := c.object(ctx, &t, "eviction")
	if err != nil {
		return t, Answer{}, err
	}
	eviction := map[string]any{
		"apiVersion": "policy/v1", "kind": "Eviction", "metadata": map[string]any{"name": t.name, "namespace": t.namespace},
	}
	if r.Body != nil {
		eviction["deleteOptions"] = r.Body
	}
	a, err := c.Send(ctx, newCall(r, http.MethodPost, path, eviction))
	return t, a, err
}

// presentError is the error of an absent step whose objects exist.
type presentError struct{ what string }

func (e presentError) Error() string { return e.what }

func checkAbsent(ctx context.Context, c *Client, r syntax.Request) (target, Answer, error) {
	gone := emptyAnswer()
	if _, one := r.Argument["name"]; one {
		t, a, err := c.toObject(ctx, r, http.MethodGet, nil)
		switch {
		case err != nil || a.Code == http.StatusNotFound:
			return t, gone, err
		case a.IsError():
			return t, a, nil
		}
		return t, a, presentError{"the object exists: " + inOneLine(a.redactedBody())}
	}
	t, a, err := c.toCollection(ctx, r, http.MethodGet, nil)
	if err != nil || a.IsError() {
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
	return t, a, presentError{fmt.Sprintf("%d objects exist: %s", len(items), strings.Join(names, ", "))}
}

func count(ctx context.Context, c *Client, r syntax.Request) (target, Answer, error) {
	t, a, err := c.toCollection(ctx, r, http.MethodGet, nil)
	if err == nil && !a.IsError() {
		a.Body = int64(len(a.items()))
	}
	return t, a, err
}

// listEvents lists the Events of an object. They are in its namespace, or in default if it is
// cluster-scoped.
func listEvents(ctx context.Context, c *Client, r syntax.Request) (target, Answer, error) {
	t := targetOfReference(r.Argument)
	if _, err := c.collection(ctx, &t); err != nil {
		return t, Answer{}, err
	}
	r.Options = map[string]any{"fieldSelector": selectorOfEvents(t)}
	a, err := c.Send(ctx, newCall(r, http.MethodGet, eventsPath(t), nil))
	if err != nil || a.IsError() {
		return t, a, err
	}
	events := a.items()
	slices.SortStableFunc(events, func(a, b any) int {
		return cmp.Or(cmp.Compare(creationTimestamp(a), creationTimestamp(b)), cmp.Compare(revision(a), revision(b)))
	})
	a.Body = events
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

// MetadataOf returns the metadata of an object; nil if it has none.
func MetadataOf(object any) map[string]any {
	fields, _ := object.(map[string]any)
	metadata, _ := fields["metadata"].(map[string]any)
	return metadata
}

func creationTimestamp(object any) string {
	text, _ := MetadataOf(object)["creationTimestamp"].(string)
	return text
}

func revision(object any) uint64 {
	text, _ := MetadataOf(object)["resourceVersion"].(string)
	n, _ := strconv.ParseUint(text, 10, 64) // 0, which sorts first, if it is not a number
	return n
}

// nameOf returns NAMESPACE/NAME of an object, or its name if it is cluster-scoped.
func nameOf(object any) string {
	metadata := MetadataOf(object)
	name, _ := metadata["name"].(string)
	if namespace, _ := metadata["namespace"].(string); namespace != "" {
		return namespace + "/" + name
	}
	return name
}

// write writes a line to the log of the scenario.
func write(_ context.Context, c *Client, r syntax.Request) (target, Answer, error) {
	line, ok := r.Argument["value"].(string)
	if !ok {
		line = inOneLine(plain(r.Argument["value"]))
	}
	c.log = append(c.log, printable.Text(line))
	return target{}, emptyAnswer(), nil
}

// inOneLine returns a value as JSON, shortened if it is long.
func inOneLine(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return shortened(string(data), maxShown)
}
