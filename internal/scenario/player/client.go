package player

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
	"k8s.io/apimachinery/pkg/util/sets"
	requestinfo "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// userAgent is the User-Agent of the requests of scenarios.
const userAgent = "scenario"

// Client sends the requests of one scenario. They are plain HTTP, not client-go's
// typed calls, because a scenario checks the actual status codes, headers and
// bodies.
type Client struct {
	cluster Backend
	Base    *url.URL
	HTTP    *http.Client
	// kinds has the latest result of discovery for each kind.
	kinds map[kind]metav1.APIResource
	// webhooks are those of the scenario.
	webhooks webhooks
	// controller runs beside the scenario, or is nil.
	controller *controllerRun
	// stats returns the statistics of a living cluster; nil: nothing lives in it.
	stats func() inspect.Stats
	// log has the lines that the scenario has written.
	log []string
}

type kind struct{ apiVersion, kind string }

func newClient(cluster Backend) (*Client, error) {
	cfg := cluster.RESTConfig()
	base, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, err
	}
	admin, err := NewHTTPClient(cfg)
	if err != nil {
		return nil, err
	}
	return &Client{cluster: cluster, Base: base, HTTP: admin, kinds: map[kind]metav1.APIResource{}}, nil
}

// NewHTTPClient returns an HTTP client for cfg with the User-Agent of scenarios.
func NewHTTPClient(cfg *rest.Config) (*http.Client, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.UserAgent = userAgent
	return rest.HTTPClientFor(cfg)
}

// WithoutCredentials returns a configuration without a user. Unlike rest.AnonymousClientConfig it
// keeps the transport, without which a cluster in process cannot be reached.
func WithoutCredentials(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.Username, cfg.Password, cfg.BearerToken, cfg.BearerTokenFile = "", "", "", ""
	cfg.CertFile, cfg.CertData, cfg.KeyFile, cfg.KeyData = "", nil, "", nil
	cfg.Impersonate, cfg.AuthProvider, cfg.AuthConfigPersister, cfg.ExecProvider = rest.ImpersonationConfig{}, nil, nil, nil
	return cfg
}

// Send makes one request and reads the answer to its end.
func (c *Client) Send(ctx context.Context, to Call) (Answer, error) {
	response, err := c.open(ctx, to)
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close()
	return to.read(response)
}

// open makes one request. The caller reads and closes the body of the response.
func (c *Client) open(ctx context.Context, to Call) (*http.Response, error) {
	var body io.Reader
	switch tree := to.Body.(type) {
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
	location, err := c.Base.Parse(to.Path)
	if err != nil {
		return nil, err
	}
	if len(to.query) > 0 {
		// A path may have a query of its own.
		location.RawQuery = strings.TrimPrefix(location.RawQuery+"&"+to.query.Encode(), "&")
	}
	request, err := http.NewRequestWithContext(ctx, to.Method, location.String(), body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for name, value := range to.Headers {
		request.Header.Set(name, fmt.Sprint(value))
	}
	if to.by == nil {
		return c.HTTP.Do(request)
	}
	other, err := NewHTTPClient(configOf(to.by, c.cluster))
	if err != nil {
		return nil, err
	}
	return other.Do(request)
}

// read reads the answer to the end.
func (to Call) read(response *http.Response) (Answer, error) {
	a := Answer{Code: response.StatusCode, Warnings: WarningsOf(response.Header), redaction: to.redaction()}
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return Answer{}, fmt.Errorf("%s %s: reading the answer: %w", to.Method, to.Path, err)
	}
	a.Body = string(data)
	if object := map[string]any(nil); utiljson.Unmarshal(data, &object) == nil && object != nil {
		a.Body = object // whatever its media type: the index of OpenAPI is sent as text
		return a, nil
	}
	if media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); media == "application/json" {
		if err := utiljson.Unmarshal(data, &a.Body); err != nil {
			return a, fmt.Errorf("%s %s: %d with a body that is not JSON: %w", to.Method, to.Path, a.Code, err)
		}
	}
	return a, nil
}

// toObject sends a request to the object, or to its subresource, that the argument of r refers to.
func (c *Client) toObject(ctx context.Context, r syntax.Request, method string, body any) (target, Answer, error) {
	t := targetOfReference(r.Argument)
	path, err := c.object(ctx, &t, r.Subresource)
	if err != nil {
		return t, Answer{}, err
	}
	a, err := c.Send(ctx, newCall(r, method, path, body))
	return t, a, err
}

// toCollection sends a request to the collection that the argument of r refers to, in one namespace or in all.
func (c *Client) toCollection(ctx context.Context, r syntax.Request, method string, body any) (target, Answer, error) {
	t := targetOfReference(r.Argument)
	t.everywhere = true
	path, err := c.collection(ctx, &t)
	if err != nil {
		return t, Answer{}, err
	}
	a, err := c.Send(ctx, newCall(r, method, path, body))
	return t, a, err
}

// collection returns the path of the collection of t, and completes t.
func (c *Client) collection(ctx context.Context, t *target) (string, error) {
	if t.invalid != "" {
		return "", fmt.Errorf("%s", t.invalid)
	}
	if t.path != "" {
		return t.path, nil
	}
	resource, err := c.resource(ctx, kind{t.apiVersion, t.kind})
	if err != nil {
		return "", err
	}
	t.resource = resource.Name
	group := GroupVersionPath(t.apiVersion)
	switch {
	case !resource.Namespaced && t.namespace != "" && !t.ofManifest:
		return "", fmt.Errorf("a %s is cluster-scoped: remove the namespace from the reference", t.kind)
	case !resource.Namespaced:
		t.namespace = ""
	case t.namespace == "" && !t.everywhere:
		t.namespace = metav1.NamespaceDefault
	}
	if t.namespace == "" {
		return group + "/" + t.resource, nil
	}
	return group + "/namespaces/" + url.PathEscape(t.namespace) + "/" + t.resource, nil
}

// object returns the path of the object t, or of its subresource, and completes t.
func (c *Client) object(ctx context.Context, t *target, subresource string) (string, error) {
	path, err := c.collection(ctx, t)
	if err != nil || t.path != "" {
		return path, err
	}
	if t.name == "" {
		return "", fmt.Errorf("the object needs a name: add metadata.name to the manifest, or name to the reference")
	}
	path += "/" + url.PathEscape(t.name)
	if t.subresource = subresource; subresource != "" {
		path += "/" + url.PathEscape(subresource)
	}
	return path, nil
}

// resource returns the resource that serves a kind, by discovery. If the server no longer serves the kind, it
// returns the last one that did, for scenarios that delete a CustomResourceDefinition.
func (c *Client) resource(ctx context.Context, k kind) (metav1.APIResource, error) {
	if resource, ok := c.kinds[k]; ok && isConstant(k.apiVersion) {
		return resource, nil
	}
	a, err := c.Send(ctx, Call{Method: http.MethodGet, Path: GroupVersionPath(k.apiVersion)})
	if err != nil {
		return metav1.APIResource{}, err
	}
	var kinds []string // served kinds
	if !a.IsError() {
		var served metav1.APIResourceList
		data, err := json.Marshal(a.Body)
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
	return metav1.APIResource{}, notServed{k, syntax.Suggestion(k.kind, kinds)}
}

// notServed is the error of a step whose kind the server does not serve: no request was sent.
type notServed struct {
	kind
	suggestion string
}

func (e notServed) Error() string {
	return fmt.Sprintf("the cluster does not serve the kind %s in %s, and never did in this scenario%s", e.kind.kind, e.apiVersion, e.suggestion)
}

// isConstant reports whether the kinds of a group and version never change while a server runs. Groups of
// CustomResourceDefinitions have dots in their names.
func isConstant(apiVersion string) bool {
	group, _, has := strings.Cut(apiVersion, "/")
	switch group {
	case "apps", "autoscaling", "batch", "policy":
		return true
	}
	return !has
}

// GroupVersionPath returns the path of a group and version: /api/v1 or /apis/GROUP/VERSION.
func GroupVersionPath(apiVersion string) string {
	if strings.Contains(apiVersion, "/") {
		return "/apis/" + apiVersion
	}
	return "/api/" + apiVersion
}

// RequestInfo parses the paths of requests as kube-apiserver does.
var RequestInfo = &requestinfo.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
