package fakecluster

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientrest "k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/rest"
)

// Write is a write for [Cluster.Explain].
type Write struct {
	// Verb is create, update, patch, apply or delete; empty: create.
	Verb string
	// Object is the object to create, update or apply, typed or unstructured. For a patch and a delete only
	// its kind, namespace and name are used. A namespaced object without a namespace is in the namespace
	// default.
	Object runtime.Object
	// Manifest is the object as YAML or JSON. It is sent unchanged, so it may have fields that no Go type
	// has. Set either Object or Manifest.
	Manifest string
	// Subresource is the subresource to write, such as "status"; empty: the object itself.
	Subresource string

	// Patch is the body of the verb patch. PatchType is its media type; empty: types.MergePatchType.
	Patch     string
	PatchType types.PatchType

	// FieldManager is the name that owns the written fields in managedFields; empty: the user agent up to its
	// first slash, as on a real server. The verb apply needs one. Force lets an apply take over fields that
	// other managers own.
	FieldManager string
	Force        bool
	// FieldValidation is Ignore, Warn or Strict; empty: Warn, the default of the server. kubectl asks
	// for Strict.
	FieldValidation string

	// As is the configuration of the client that sends the write, for example c.ConfigFor("jane"); nil: that
	// of RESTConfig, the administrator.
	As *clientrest.Config
	// Commit stores the result. Without it, the write is a dry run: it goes through all stages, including
	// admission and its webhooks, and nothing is stored.
	Commit bool
}

// Explain reports what the cluster does with a write, stage by stage: what it prunes and defaults, the result
// of each plugin, policy, webhook, schema and CEL rule, the owner of a field for which an apply has a
// conflict, and what changes. It is a dry run, unless Commit is set. A rejected write is not an error: the
// response is in Answer. Explain returns an error for a Write that contradicts itself, whose kind is not
// served, or that gets no response.
//
// The write is a request like any other: faults strike it, and it is in Requests. A dry run is
// rejected if it would call a webhook whose sideEffects are not None or NoneOnDryRun.
//
//	e, err := c.Explain(fakecluster.Write{Verb: "apply", Object: website, FieldManager: "my-operator"})
//	fmt.Print(e)
func (c *Cluster) Explain(w Write) (inspect.Explanation, error) {
	e, err := c.explain(w)
	if err != nil {
		return inspect.Explanation{}, fmt.Errorf("explain: %w", err)
	}
	return e, nil
}

func (c *Cluster) explain(w Write) (e inspect.Explanation, err error) {
	u, body, err := c.written(w)
	if err != nil {
		return e, err
	}
	kind := u.GroupVersionKind()
	mapping, err := c.clients.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return e, err
	}
	as := w.As
	if as == nil {
		as = c.RESTConfig()
	}
	request, err := w.request(c.URL(), mapping, u, body)
	if err != nil {
		return e, err
	}
	request.Header.Set(rest.ExplainHeader, "json")
	if as.UserAgent == "" {
		request.Header.Set("User-Agent", "fakecluster-explain")
	}
	client, err := clientrest.HTTPClientFor(as)
	if err != nil {
		return e, err
	}
	answer, err := client.Do(request)
	if err != nil {
		return e, err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return e, err
	}
	if err := json.Unmarshal(text, &e); err != nil || e.Answer.Code == 0 {
		return e, fmt.Errorf("%s: %s", answer.Status, bytes.TrimSpace(text)) // the response to a request without a valid user
	}
	return e, nil
}

// written returns the object of a write, and the body of the request.
func (c *Cluster) written(w Write) (u *unstructured.Unstructured, body []byte, err error) {
	switch {
	case (w.Object == nil) == (w.Manifest == ""):
		return nil, nil, errors.New("a Write needs an Object or a Manifest, and not both")
	case w.Object != nil:
		if u, err = c.settings.toUnstructured(w.Object); err != nil {
			return nil, nil, err
		}
		body, err = json.Marshal(u.Object)
		return u, body, err
	}
	u = &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(w.Manifest), &u.Object); err != nil {
		return nil, nil, fmt.Errorf("the Manifest: %w", err)
	}
	if u.GetKind() == "" || u.GetAPIVersion() == "" {
		return nil, nil, errors.New("the Manifest needs an apiVersion and a kind")
	}
	return u, []byte(w.Manifest), nil
}

// request makes the HTTP request.
func (w Write) request(to string, mapping *meta.RESTMapping, u *unstructured.Unstructured, body []byte) (*http.Request, error) {
	if w.Verb != "patch" && (w.Patch != "" || w.PatchType != "") {
		return nil, fmt.Errorf("set Patch and PatchType for the verb patch only, not for %s", cmp.Or(w.Verb, "create"))
	}
	method, mediaType, named := http.MethodPost, "application/json", true
	if w.Manifest != "" {
		mediaType = "application/yaml"
	}
	switch w.Verb {
	case "", "create":
		named = w.Subresource != ""
	case "update":
		method = http.MethodPut
	case "patch":
		method, mediaType, body = http.MethodPatch, string(types.MergePatchType), []byte(w.Patch)
		if w.PatchType != "" {
			mediaType = string(w.PatchType)
		}
	case "apply":
		method, mediaType = http.MethodPatch, string(types.ApplyYAMLPatchType)
	case "delete":
		method, body = http.MethodDelete, nil
	default:
		return nil, fmt.Errorf("there is no verb %q for a write; write create, update, patch, apply or delete", w.Verb)
	}
	path := []string{"apis", mapping.Resource.Group, mapping.Resource.Version}
	if mapping.Resource.Group == "" {
		path = []string{"api", mapping.Resource.Version}
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		namespace := u.GetNamespace()
		if namespace == "" {
			namespace = metav1.NamespaceDefault
		}
		path = append(path, "namespaces", namespace)
	}
	path = append(path, mapping.Resource.Resource)
	if named {
		if u.GetName() == "" {
			return nil, fmt.Errorf("the object does not have a name, which the verb %s needs", cmp.Or(w.Verb, "create"))
		}
		path = append(path, u.GetName())
	}
	if w.Subresource != "" {
		path = append(path, w.Subresource)
	}
	for i := range path {
		path[i] = url.PathEscape(path[i])
	}
	query := url.Values{}
	set := func(name, value string) {
		if value != "" {
			query.Set(name, value)
		}
	}
	if !w.Commit {
		set("dryRun", metav1.DryRunAll)
	}
	if method != http.MethodDelete {
		set("fieldManager", w.FieldManager)
		set("fieldValidation", w.FieldValidation)
	}
	if w.Force {
		set("force", "true")
	}
	request, err := http.NewRequestWithContext(context.Background(), method, to+"/"+strings.Join(path, "/")+"?"+query.Encode(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", mediaType)
	return request, nil
}
