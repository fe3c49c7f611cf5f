package scenarios

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
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
	return func(options ClusterOptions) (Cluster, error) {
		c := &external{cfg: rest.CopyConfig(cfg), word: "fc-" + strings.ToLower(rand.Text()[:6])}
		c.cfg.NextProtos = []string{"http/1.1"} // a scenario may ask for an upgrade, which HTTP/2 has not
		for _, group := range options.Groups {
			c.learn(group)
		}
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
	case o.Alone:
		return "the scenario is about all that is in a cluster, and this one has more"
	case s.impersonates():
		return "users are impersonated on this cluster, and one of the scenario impersonates another"
	case slices.ContainsFunc(s.all(), step.onlyInside):
		return "fault and compact need a cluster in this process"
	case s.onlyVirtual():
		return "advance and settle need virtual time"
	case len(s.webhooks) > 0:
		return "this cluster cannot reach the webhooks of a scenario"
	case o.LegacyAPIs || o.Controllers != nil || o.WithAdmissionPlugins != nil || o.WithoutAdmissionPlugins != nil || o.RuntimeConfig != nil || o.WithoutNamespaceLifecycle:
		return "this cluster is configured as it is, and the scenario needs another"
	}
	return ""
}

// impersonates tells whether a step of a user other than the administrator impersonates.
func (s *Scenario) impersonates() bool {
	return slices.ContainsFunc(s.all(), func(s step) bool {
		return s.by != nil && slices.ContainsFunc(sortedFields(s.headers), func(name string) bool {
			return strings.HasPrefix(http.CanonicalHeaderKey(name), "Impersonate-")
		})
	})
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
			// By default a Job waits until somebody has freed its Pods of it, and a Pod for its kubelet.
			options := map[string]any{"propagationPolicy": "Background", "gracePeriodSeconds": 0}
			if err := c.do("DELETE", path, options); err != nil {
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
	request.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		request.Header.Set("Content-Type", "application/merge-patch+json")
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
