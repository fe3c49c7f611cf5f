package scenarios

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/internal/redact"
)

// userAgent is what the server knows the scenarios as.
const userAgent = "scenario"

// client sends the requests of one scenario. They are plain HTTP, not client-go's
// typed calls, because a scenario is about what the server really sends: status
// codes, headers and bodies, before a client has made something else of them.
type client struct {
	cluster Cluster
	base    *url.URL
	http    *http.Client
	// kinds is the last that discovery said of each kind.
	kinds map[kind]metav1.APIResource
	// webhooks are those of the scenario.
	webhooks webhooks
}

type kind struct{ apiVersion, kind string }

func newClient(of Cluster) (*client, error) {
	cfg := of.RESTConfig()
	base, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, err
	}
	admin, err := httpClient(cfg)
	if err != nil {
		return nil, err
	}
	return &client{cluster: of, base: base, http: admin, kinds: map[kind]metav1.APIResource{}}, nil
}

// httpClient is a client with the configuration, under the name of the scenarios.
func httpClient(cfg *rest.Config) (*http.Client, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.UserAgent = userAgent
	return rest.HTTPClientFor(cfg)
}

// withoutCredentials returns a configuration without a user. Unlike rest.AnonymousClientConfig it
// keeps the transport, without which a cluster in process cannot be reached.
func withoutCredentials(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.Username, cfg.Password, cfg.BearerToken, cfg.BearerTokenFile = "", "", "", ""
	cfg.CertFile, cfg.CertData, cfg.KeyFile, cfg.KeyData = "", nil, "", nil
	cfg.Impersonate, cfg.AuthProvider, cfg.AuthConfigPersister, cfg.ExecProvider = rest.ImpersonationConfig{}, nil, nil, nil
	return cfg
}

// answer is what the server sent.
type answer struct {
	code int
	// body is the decoded JSON, or the text of a body that is none.
	body any
	// warnings are the texts of the Warning headers.
	warnings []any
	// about is the request, by which it is known what a failure may show of the answer.
	about redact.Request
}

func (a answer) refused() bool { return a.code >= 400 }

func (a answer) metadata() map[string]any {
	object, _ := a.body.(map[string]any)
	metadata, _ := object["metadata"].(map[string]any)
	return metadata
}

// refusal is the answer as an "error:" describes it: the Status, or the code and
// the text of an answer that has none.
func (a answer) refusal() map[string]any {
	if status, ok := a.body.(map[string]any); ok {
		return status
	}
	return map[string]any{"code": int64(a.code), "body": a.body}
}

// call is one request, ready to send.
type call struct {
	method, path string
	query        url.Values
	headers      map[string]any
	// body is a resolved tree, or text; nil is none.
	body any
	// by makes the request; nil: the administrator.
	by *user
}

// call is the request of r to a path.
func (r request) call(method, path string, body any) call {
	headers := r.headers
	if r.asTable {
		headers = withDefault(headers, "Accept", tableMediaType)
	}
	return call{method, path, query(r.options), headers, body, r.by}
}

// send makes one request and reads the answer to its end.
func (c *client) send(ctx context.Context, to call) (answer, error) {
	response, err := c.open(ctx, to)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	return to.read(response)
}

// open makes one request. The answer's body is the caller's to read and close.
func (c *client) open(ctx context.Context, to call) (*http.Response, error) {
	var body io.Reader
	switch tree := to.body.(type) {
	case nil:
	case string:
		body = strings.NewReader(tree)
	default:
		data, err := json.Marshal(plain(tree))
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(data)
	}
	at, err := c.base.Parse(to.path)
	if err != nil {
		return nil, err
	}
	if len(to.query) > 0 {
		// Beside the query that a path may have of its own.
		at.RawQuery = strings.TrimPrefix(at.RawQuery+"&"+to.query.Encode(), "&")
	}
	request, err := http.NewRequestWithContext(ctx, to.method, at.String(), body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for name, value := range to.headers {
		request.Header.Set(name, fmt.Sprint(value))
	}
	if to.by == nil {
		return c.http.Do(request)
	}
	other, err := httpClient(to.by.config(c.cluster))
	if err != nil {
		return nil, err
	}
	return other.Do(request)
}

// read reads the answer to the end.
func (to call) read(response *http.Response) (answer, error) {
	a := answer{code: response.StatusCode, warnings: warningsOf(response.Header), about: to.about()}
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, fmt.Errorf("%s %s: reading the answer: %w", to.method, to.path, err)
	}
	a.body = string(data)
	if object := map[string]any(nil); utiljson.Unmarshal(data, &object) == nil && object != nil {
		a.body = object // whatever it is called: the index of OpenAPI comes as text
		return a, nil
	}
	if media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); media == "application/json" {
		if err := utiljson.Unmarshal(data, &a.body); err != nil {
			return a, fmt.Errorf("%s %s: %d with a body that is not JSON: %w", to.method, to.path, a.code, err)
		}
	}
	return a, nil
}

// warningsOf are the texts of the warnings that a client sees. What is no warning by the rules of the
// header is none.
func warningsOf(header http.Header) []any {
	texts := []any{}
	warnings, _ := utilnet.ParseWarningHeaders(header["Warning"])
	for _, w := range warnings {
		texts = append(texts, w.Text)
	}
	return texts
}

// toObject makes the request to the object, or the subresource of it, that the
// argument of r refers to.
func (c *client) toObject(ctx context.Context, r request, method string, body any) (target, answer, error) {
	t := targetOfReference(r.argument)
	path, err := c.object(ctx, &t, r.subresource)
	if err != nil {
		return t, answer{}, err
	}
	a, err := c.send(ctx, r.call(method, path, body))
	return t, a, err
}

// toCollection makes the request to the collection, in one namespace or in all, that
// the argument of r refers to.
func (c *client) toCollection(ctx context.Context, r request, method string, body any) (target, answer, error) {
	t := targetOfReference(r.argument)
	t.all = true
	path, err := c.collection(ctx, &t)
	if err != nil {
		return t, answer{}, err
	}
	a, err := c.send(ctx, r.call(method, path, body))
	return t, a, err
}

// collection returns the path of the collection that t is in, and completes t.
func (c *client) collection(ctx context.Context, t *target) (string, error) {
	if t.wrong != "" {
		return "", fmt.Errorf("%s", t.wrong)
	}
	if t.path != "" {
		return t.path, nil
	}
	resource, err := c.resource(ctx, kind{t.apiVersion, t.kind})
	if err != nil {
		return "", err
	}
	t.resource = resource.Name
	group := groupVersionPath(t.apiVersion)
	switch {
	case !resource.Namespaced && t.namespace != "" && !t.ofManifest:
		return "", fmt.Errorf("a %s is in no namespace, and the reference names one", t.kind)
	case !resource.Namespaced:
		t.namespace = ""
	case t.namespace == "" && !t.all:
		t.namespace = metav1.NamespaceDefault
	}
	if t.namespace == "" {
		return group + "/" + t.resource, nil
	}
	return group + "/namespaces/" + url.PathEscape(t.namespace) + "/" + t.resource, nil
}

// object returns the path of the object that t is, or of a subresource of it, and
// completes t.
func (c *client) object(ctx context.Context, t *target, subresource string) (string, error) {
	path, err := c.collection(ctx, t)
	if err != nil || t.path != "" {
		return path, err
	}
	if t.name == "" {
		return "", fmt.Errorf("the object has no name")
	}
	path += "/" + url.PathEscape(t.name)
	if t.subresource = subresource; subresource != "" {
		path += "/" + url.PathEscape(subresource)
	}
	return path, nil
}

// resource asks the server which resource serves a kind. If it serves none now,
// the one that did is the answer: a request to a resource that has gone is what
// scenarios about the end of a CustomResourceDefinition are made of.
func (c *client) resource(ctx context.Context, k kind) (metav1.APIResource, error) {
	if resource, ok := c.kinds[k]; ok && isConstant(k.apiVersion) {
		return resource, nil
	}
	a, err := c.send(ctx, call{method: http.MethodGet, path: groupVersionPath(k.apiVersion)})
	if err != nil {
		return metav1.APIResource{}, err
	}
	var kinds []string // that are served
	if !a.refused() {
		var served metav1.APIResourceList
		data, err := json.Marshal(a.body)
		if err != nil {
			return metav1.APIResource{}, err
		}
		if err := json.Unmarshal(data, &served); err != nil {
			return metav1.APIResource{}, fmt.Errorf("discovery of %s: %w", k.apiVersion, err)
		}
		for _, resource := range served.APIResources {
			if subresource := strings.Contains(resource.Name, "/"); resource.Kind == k.kind && !subresource {
				c.kinds[k] = resource
				return resource, nil
			}
			kinds = append(kinds, resource.Kind)
		}
	}
	if resource, ok := c.kinds[k]; ok {
		return resource, nil
	}
	return metav1.APIResource{}, notServed{k, suggestion(k.kind, kinds)}
}

// notServed says that no request could be made, because nothing serves the kind.
type notServed struct {
	kind
	suggestion string
}

func (e notServed) Error() string {
	return fmt.Sprintf("the cluster does not serve the kind %s in %s, and never did in this scenario%s", e.kind.kind, e.apiVersion, e.suggestion)
}

// isConstant tells whether what a group and version serves is the same as long as a server runs. The
// groups of definitions have dots in their names.
func isConstant(apiVersion string) bool {
	group, _, has := strings.Cut(apiVersion, "/")
	switch group {
	case "apps", "autoscaling", "batch", "policy":
		return true
	}
	return !has
}

func groupVersionPath(apiVersion string) string {
	if strings.Contains(apiVersion, "/") {
		return "/apis/" + apiVersion
	}
	return "/api/" + apiVersion
}
