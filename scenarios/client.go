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
	"k8s.io/client-go/rest"
)

// userAgent is what the server knows the scenarios as.
const userAgent = "scenario"

// client sends the requests of one scenario. They are plain HTTP, not client-go's
// typed calls, because a scenario is about what the server really sends: status
// codes, headers and bodies, before a client has made something else of them.
type client struct {
	base *url.URL
	http *http.Client
	// kinds is the last that discovery said of each kind.
	kinds map[kind]metav1.APIResource
}

type kind struct{ apiVersion, kind string }

func newClient(cfg *rest.Config) (*client, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.UserAgent = userAgent
	base, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, err
	}
	httpClient, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, err
	}
	return &client{base, httpClient, map[kind]metav1.APIResource{}}, nil
}

// answer is what the server sent.
type answer struct {
	code int
	// body is the decoded JSON, or the text of a body that is none.
	body any
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

// send makes one request. The resolved tree, if there is one, is its body.
func (c *client) send(ctx context.Context, method, path string, tree any) (answer, error) {
	var body io.Reader
	if tree != nil {
		data, err := json.Marshal(plain(tree))
		if err != nil {
			return answer{}, err
		}
		body = bytes.NewReader(data)
	}
	at, err := c.base.Parse(path)
	if err != nil {
		return answer{}, err
	}
	request, err := http.NewRequestWithContext(ctx, method, at.String(), body)
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Accept", "application/json")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, fmt.Errorf("%s %s: reading the answer: %w", method, path, err)
	}
	a := answer{code: response.StatusCode, body: string(data)}
	if media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); media == "application/json" {
		if err := utiljson.Unmarshal(data, &a.body); err != nil {
			return a, fmt.Errorf("%s %s: %d with a body that is not JSON: %w", method, path, a.code, err)
		}
	}
	return a, nil
}

// bodiless makes a request to the object that reference refers to.
func (c *client) bodiless(ctx context.Context, method string, reference map[string]any) (target, answer, error) {
	t := targetOfReference(reference)
	path, err := c.object(ctx, &t)
	if err != nil {
		return t, answer{}, err
	}
	a, err := c.send(ctx, method, path, nil)
	return t, a, err
}

// collection returns the path of the collection that t is in, and completes t.
func (c *client) collection(ctx context.Context, t *target) (string, error) {
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

// object returns the path of the object that t is, and completes t.
func (c *client) object(ctx context.Context, t *target) (string, error) {
	collection, err := c.collection(ctx, t)
	if err != nil || t.path != "" {
		return collection, err
	}
	if t.name == "" {
		return "", fmt.Errorf("the object has no name")
	}
	return collection + "/" + url.PathEscape(t.name), nil
}

// resource asks the server which resource serves a kind. If it serves none now,
// the one that did is the answer: a request to a resource that has gone is what
// scenarios about the end of a CustomResourceDefinition are made of.
func (c *client) resource(ctx context.Context, k kind) (metav1.APIResource, error) {
	a, err := c.send(ctx, http.MethodGet, groupVersionPath(k.apiVersion), nil)
	if err != nil {
		return metav1.APIResource{}, err
	}
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
		}
	}
	if resource, ok := c.kinds[k]; ok {
		return resource, nil
	}
	return metav1.APIResource{}, fmt.Errorf("the cluster does not serve the kind %s in %s, and never did in this scenario", k.kind, k.apiVersion)
}

func groupVersionPath(apiVersion string) string {
	if strings.Contains(apiVersion, "/") {
		return "/apis/" + apiVersion
	}
	return "/api/" + apiVersion
}
