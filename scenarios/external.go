package scenarios

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// External is a Starter of scenarios on a cluster that runs already, such as a real one. cfg is
// for an administrator of it, who may impersonate others. Use it with [Player.External].
//
// Each scenario sees namespaces of its own and groups of definitions of its own: the requests have
// a unique word before the names, and the answers are without it. The namespaces of Kubernetes,
// kube-system and the like, are those of the cluster, as are all other objects without a namespace.
// What a scenario creates is deleted when it ends.
func External(cfg *rest.Config) Starter {
	return func(ClusterOptions) (Cluster, error) {
		c := &external{cfg: rest.CopyConfig(cfg), word: "fc-" + strings.ToLower(rand.Text()[:6])}
		http, err := rest.HTTPClientFor(c.cfg)
		if err != nil {
			return nil, err
		}
		if c.base, _, err = rest.DefaultServerUrlFor(c.cfg); err != nil {
			return nil, err
		}
		c.http = http
		namespace := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": c.word + "-default"}}
		if err := c.do("POST", "/api/v1/namespaces", namespace); err != nil {
			return nil, fmt.Errorf("making a namespace for the scenario: %w", err)
		}
		c.created = append(c.created, "/api/v1/namespaces/"+c.word+"-default")
		return c, nil
	}
}

// notExternal says why a scenario cannot be played on a cluster that runs already, or nothing.
func (s *Scenario) notExternal() string {
	o := s.Cluster
	switch {
	case s.onlyVirtual():
		return "advance and settle need virtual time"
	case len(s.webhooks) > 0:
		return "this cluster cannot reach the webhooks of a scenario"
	case o.LegacyAPIs || o.Controllers != nil || o.WithAdmissionPlugins != nil || o.WithoutAdmissionPlugins != nil || o.RuntimeConfig != nil || o.WithoutNamespaceLifecycle:
		return "this cluster is configured as it is, and the scenario needs another"
	}
	return ""
}

// external is a view of a cluster for one scenario.
type external struct {
	cfg  *rest.Config
	base *url.URL
	http *http.Client
	// word stands before the names that are the scenario's own.
	word string

	mu      sync.Mutex
	groups  []string // those of definitions that requests have named, the longest first
	created []string // paths of objects, in order
}

func (c *external) RESTConfig() *rest.Config {
	cfg := rest.CopyConfig(c.cfg)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return &view{c, next} })
	return cfg
}

func (c *external) ConfigFor(user string, groups ...string) *rest.Config {
	cfg := c.RESTConfig()
	cfg.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	return cfg
}

func (c *external) ServiceAccountConfig(namespace, name string) *rest.Config {
	namespace = c.namespace(namespace)
	return c.ConfigFor("system:serviceaccount:"+namespace+":"+name, "system:serviceaccounts", "system:serviceaccounts:"+namespace)
}

func (c *external) CABundle() []byte { return nil }

func (c *external) ServiceURL(string, string, int) string { return "" }

func (c *external) Fork() (Cluster, error) {
	return nil, fmt.Errorf("a cluster outside of this process cannot be forked: %w", errors.ErrUnsupported)
}

// judges is 1 for the path of a policy, a webhook or a binding of one, and else 0.
func judges(path string) int { return strings.Count(path, "/apis/admissionregistration.k8s.io/") }

// cleanupPeriod bounds each request of the clean-up.
const cleanupPeriod = 30 * time.Second

// Close deletes what the scenario has created, the last first.
func (c *external) Close() error {
	defer c.http.CloseIdleConnections()
	c.mu.Lock()
	defer c.mu.Unlock()
	// What judges writes goes first, because it may forbid the others to go.
	slices.SortStableFunc(c.created, func(a, b string) int { return judges(a) - judges(b) })
	for {
		var left []string
		var failed []error
		for _, path := range slices.Backward(c.created) {
			// A finalizer would keep it. Nobody else is there to take it off.
			patch := c.do("PATCH", path, map[string]any{"metadata": map[string]any{"finalizers": nil}})
			if err := c.do("DELETE", path, nil); err != nil {
				left, failed = append(left, path), append(failed, err, patch)
			}
		}
		if len(left) == 0 || len(left) == len(c.created) {
			return errors.Join(failed...)
		}
		// What kept it may be gone now.
		slices.Reverse(left)
		c.created = left
	}
}

// do makes a request of the runner itself. What is not there need not be deleted.
func (c *external) do(method, path string, body any) error {
	ctx, cancel := context.WithTimeout(context.Background(), cleanupPeriod)
	defer cancel()
	var content io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(data)
	}
	at, err := c.base.Parse(path)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, at.String(), content)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", map[string]string{"PATCH": "application/merge-patch+json"}[method])
	if method == "POST" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if response.StatusCode >= http.StatusBadRequest && response.StatusCode != http.StatusNotFound {
		return fmt.Errorf("%s %s: %s: %s", method, path, codeText(response.StatusCode), text)
	}
	return err
}

// namespace is what the cluster calls a namespace of the scenario.
func (c *external) namespace(name string) string {
	if name == "" || strings.HasPrefix(name, "kube-") {
		return name
	}
	return c.word + "-" + name
}

// learn notes a group of definitions. Those of Kubernetes are the same for all.
func (c *external) learn(group string) {
	group, _, _ = strings.Cut(group, "/")
	if !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io") || strings.ContainsAny(group, " *") {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.groups, group) {
		c.groups = append(c.groups, group)
		slices.SortFunc(c.groups, func(a, b string) int { return len(b) - len(a) })
	}
}

// inGroups puts the word before the groups that a text names.
func (c *external) inGroups(text string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.groups) == 0 {
		return text
	}
	quoted := make([]string, len(c.groups))
	for i, group := range c.groups {
		quoted[i] = regexp.QuoteMeta(group)
	}
	return regexp.MustCompile(strings.Join(quoted, "|")).ReplaceAllString(text, c.word+".$0")
}

// outward is a value as the cluster gets it: with its namespaces, but not yet with its groups.
func (c *external) outward(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, field := range v {
			text, isText := field.(string)
			switch {
			case isText && (name == "namespace" || name == "kubernetes.io/metadata.name"):
				v[name] = c.namespace(text)
			case isText && (name == "apiVersion" || name == "group" || name == "apiGroup"):
				c.learn(text)
			default:
				v[name] = c.outward(field)
			}
			if groups, ok := field.([]any); ok && name == "apiGroups" {
				for _, group := range groups {
					c.learn(fmt.Sprint(group))
				}
			}
		}
		if metadata, ok := v["metadata"].(map[string]any); ok && v["kind"] == "Namespace" {
			if name, ok := metadata["name"].(string); ok {
				metadata["name"] = c.namespace(name)
			}
		}
	case []any:
		for i, item := range v {
			v[i] = c.outward(item)
		}
	}
	return value
}

// outwardBody is the text of a body as the cluster gets it. A text that its author wrote, maybe with
// fields that are there twice, stays the text that it is.
func (c *external) outwardBody(data []byte) []byte {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if decoder.Decode(&value) == nil {
		if same, err := json.Marshal(value); err == nil && bytes.Equal(same, bytes.TrimSpace(data)) {
			if changed, err := json.Marshal(c.outward(value)); err == nil {
				return changed
			}
		}
		c.outward(value) // which notes the groups
	}
	for _, version := range apiVersionField.FindAllSubmatch(data, -1) {
		c.learn(string(version[1]))
	}
	return namespaceField.ReplaceAllFunc(data, func(found []byte) []byte {
		m := namespaceField.FindSubmatch(found)
		return append(slices.Clone(m[1]), c.namespace(string(m[2]))...)
	})
}

// What says a namespace or a group in a text, be it JSON or YAML.
var (
	namespaceField  = regexp.MustCompile(`(\bnamespace"?\s*:\s*"?)([a-z0-9][-a-z0-9]*)`)
	apiVersionField = regexp.MustCompile(`\bapiVersion"?\s*:\s*"?([-.a-z0-9]+/)`)
)

// path is where the cluster has what the scenario calls path.
func (c *external) path(path string) string {
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		switch {
		case i > 0 && segments[i-1] == "namespaces":
			segments[i] = c.namespace(segment)
		case i == 2 && segments[1] == "apis":
			c.learn(segment)
		}
	}
	return c.inGroups(strings.Join(segments, "/"))
}

// inward is an answer as the scenario sees it.
func (c *external) inward(text []byte) []byte {
	for _, before := range []string{c.word + "-", c.word + "."} {
		text = bytes.ReplaceAll(text, []byte(before), nil)
	}
	return text
}

// view is the way of a scenario's requests to the cluster.
type view struct {
	of   *external
	next http.RoundTripper
}

func (v *view) RoundTrip(request *http.Request) (*http.Response, error) {
	c := v.of
	request = request.Clone(request.Context())
	if request.Body != nil {
		data, err := io.ReadAll(request.Body)
		if err != nil {
			return nil, err
		}
		request.Body.Close()
		data = []byte(c.inGroups(string(c.outwardBody(data))))
		request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
		request.GetBody = nil
	}
	request.URL.Path, request.URL.RawPath = c.path(request.URL.Path), ""
	query := request.URL.Query()
	if selector := query.Get("fieldSelector"); selector != "" {
		query.Set("fieldSelector", metadataNamespace.ReplaceAllStringFunc(selector, func(found string) string {
			field, name, _ := strings.Cut(found, "=")
			return field + "=" + c.namespace(name)
		}))
		request.URL.RawQuery = query.Encode()
	}
	request.URL.RawQuery = c.inGroups(request.URL.RawQuery)
	response, err := v.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusCreated {
		if err := v.keep(request, response); err != nil {
			return nil, err
		}
	}
	response.Body = &inwardReader{c: c, of: response.Body, lines: bufio.NewReader(response.Body)}
	response.ContentLength = -1
	response.Header.Del("Content-Length")
	for _, values := range response.Header {
		for i, value := range values {
			values[i] = string(c.inward([]byte(value)))
		}
	}
	return response, nil
}

// metadataNamespace finds a namespace in a field selector.
var metadataNamespace = regexp.MustCompile(`metadata\.namespace==?[^,=!]+`)

// keep notes what was created, and waits until a definition is established.
func (v *view) keep(request *http.Request, response *http.Response) error {
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(data))
	var object map[string]any
	if json.Unmarshal(data, &object) != nil || request.URL.Query().Get("dryRun") != "" {
		return nil
	}
	name, _ := metadataOf(object)["name"].(string)
	path := request.URL.Path
	if uid := metadataOf(object)["uid"]; name == "" || uid == nil {
		return nil // a review, or an action such as an eviction
	}
	if request.Method == http.MethodPost {
		path += "/" + url.PathEscape(name)
	}
	v.of.mu.Lock()
	v.of.created = append(v.of.created, path)
	v.of.mu.Unlock()
	if object["kind"] != "CustomResourceDefinition" {
		return nil
	}
	return v.established(request, name)
}

// established returns when a definition is established, or its names are not accepted.
func (v *view) established(created *http.Request, name string) error {
	ctx, cancel := context.WithTimeout(created.Context(), cleanupPeriod)
	defer cancel()
	watch := created.Clone(ctx)
	watch.Method, watch.Body, watch.ContentLength = http.MethodGet, nil, 0
	watch.Header.Set("Accept", "application/json")
	watch.URL.Path = strings.TrimSuffix(watch.URL.Path, "/"+name)
	watch.URL.RawQuery = url.Values{"watch": {"true"}, "fieldSelector": {"metadata.name=" + name}}.Encode()
	response, err := v.next.RoundTrip(watch)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	for stream := json.NewDecoder(response.Body); ; {
		var event struct {
			Object struct {
				Status struct {
					Conditions []struct{ Type, Status string }
				}
			}
		}
		if err := stream.Decode(&event); err != nil {
			return fmt.Errorf("waiting until %s is established: %w", v.of.inward([]byte(name)), err)
		}
		for _, condition := range event.Object.Status.Conditions {
			if condition.Type == "Established" && condition.Status == "True" || condition.Type == "NamesAccepted" && condition.Status == "False" {
				return nil
			}
		}
	}
}

// inwardReader reads an answer line by line, as the scenario sees it. The events of a watch are
// lines.
type inwardReader struct {
	c     *external
	of    io.Closer
	lines *bufio.Reader
	ready []byte
	err   error
}

func (r *inwardReader) Read(into []byte) (int, error) {
	for len(r.ready) == 0 && r.err == nil {
		var line []byte
		line, r.err = r.lines.ReadBytes('\n')
		r.ready = r.c.inward(line)
	}
	if len(r.ready) == 0 {
		return 0, r.err
	}
	n := copy(into, r.ready)
	r.ready = r.ready[n:]
	return n, nil
}

func (r *inwardReader) Close() error { return r.of.Close() }
