package remote

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

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/faults"
	"github.com/fakecluster/fakecluster/internal/scenario/player"
)

// NewStarter returns a Starter for scenarios on a cluster that runs already, such as a real one. cfg is for an
// administrator, who may impersonate others. Use it with [player.Player.Remote].
//
// Each scenario has its own namespaces and its own groups of definitions: requests get a unique prefix before these
// names, and answers lose it. Namespaces of Kubernetes, such as kube-system, and objects without a namespace are those
// of the cluster. So are the groups that the cluster serves, unless the scenario creates a definition in one: scenarios
// can use the kinds of an installed operator. What a scenario creates is deleted when it ends.
//
// A write that may change anything else, such as a deletecollection across all namespaces, an object without a
// namespace, or an object in kube-system, fails and is not sent, unless [AllowClusterChanges] is given.
//
// Webhooks of a scenario are served at 127.0.0.1. Scenarios with webhooks are skipped if the API server cannot call this
// address.
func NewStarter(cfg *rest.Config, may ...Option) player.Starter {
	var webhooks reachability
	return func(options player.ClusterOptions) (player.Backend, error) {
		c := &remoteCluster{cfg: rest.CopyConfig(cfg), prefix: "fc-" + strings.ToLower(rand.Text()[:6])}
		c.cfg.NextProtos = []string{"http/1.1"} // HTTP/2 has no upgrades
		for _, option := range may {
			option(c)
		}
		for _, group := range options.Groups {
			c.noteGroup(group)
		}
		http, err := rest.HTTPClientFor(c.cfg)
		if err != nil {
			return nil, err
		}
		if c.base, _, err = rest.DefaultServerUrlFor(c.cfg); err != nil {
			return nil, err
		}
		c.http = http
		if c.clusterGroups, err = c.servedGroups(); err != nil {
			return nil, fmt.Errorf("reading the groups of the cluster: %w", err)
		}
		namespace := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": c.prefix + "-default"}}
		if err := c.do("POST", "/api/v1/namespaces", namespace); err != nil {
			return nil, fmt.Errorf("creating a namespace for the scenario: %w", err)
		}
		c.created = append(c.created, "/api/v1/namespaces/"+c.prefix+"-default")
		if len(options.Services) > 0 {
			if err := c.reachWebhooks(options.Services, &webhooks); err != nil {
				return nil, errors.Join(err, c.Close())
			}
		}
		return c, nil
	}
}

// servedGroups returns the groups that the cluster serves.
func (c *remoteCluster) servedGroups() ([]string, error) {
	client, err := discovery.NewDiscoveryClientForConfigAndClient(c.cfg, c.http)
	if err != nil {
		return nil, err
	}
	list, err := client.ServerGroups()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, group := range list.Groups {
		names = append(names, group.Name)
	}
	return names, nil
}

// reachWebhooks serves the webhooks of a scenario, if the cluster can reach them.
func (c *remoteCluster) reachWebhooks(services []player.Service, webhooks *reachability) error {
	if err := c.serveWebhooks(services); err != nil {
		return err
	}
	return webhooks.check(c)
}

// remoteCluster is a view of a cluster for one scenario.
type remoteCluster struct {
	cfg  *rest.Config
	base *url.URL
	http *http.Client
	// prefix precedes the names of the scenario's namespaces and groups.
	prefix   string
	allowAll bool // see AllowClusterChanges
	// webhooks are the webhooks of the scenario; nil: it has none.
	webhooks *webhookServers

	mu            sync.Mutex
	groups        []string // of definitions in requests, the longest first
	clusterGroups []string // served by the cluster, for example of an installed operator
	created       []string // paths of objects, in order
	// markers detect when policies are in force. The key is the prefix of the policies' resource names.
	markers map[string]*marker
}

func (c *remoteCluster) RESTConfig() *rest.Config {
	cfg := rest.CopyConfig(c.cfg)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return &transport{c, next} })
	return cfg
}

func (c *remoteCluster) ConfigFor(user string, groups ...string) *rest.Config {
	cfg := c.RESTConfig()
	cfg.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	return cfg
}

func (c *remoteCluster) ServiceAccountConfig(namespace, name string) *rest.Config {
	namespace = c.namespace(namespace)
	return c.ConfigFor("system:serviceaccount:"+namespace+":"+name, "system:serviceaccounts", "system:serviceaccounts:"+namespace)
}

func (c *remoteCluster) CABundle() []byte {
	if c.webhooks == nil {
		return nil
	}
	return c.webhooks.authority.PEM()
}

func (c *remoteCluster) ServiceURL(namespace, name string, port int) string {
	for _, a := range c.webhooks.addresses {
		if a.Namespace == namespace && a.Name == name && a.Port == port {
			return a.inside
		}
	}
	return ""
}

func (c *remoteCluster) Fork() (player.Backend, error) {
	return nil, fmt.Errorf("a cluster outside of this process cannot be forked: %w", errors.ErrUnsupported)
}

// isAdmissionPath reports whether a path is that of an admission policy, a binding, or a webhook configuration.
func isAdmissionPath(path string) bool {
	return strings.HasPrefix(path, "/apis/admissionregistration.k8s.io/")
}

// cleanupPeriod bounds each request of the clean-up.
const cleanupPeriod = 30 * time.Second

// Close deletes what the scenario has created, the last first. It returns when policies are no longer in force, and
// definitions are gone.
func (c *remoteCluster) Close() error {
	defer c.http.CloseIdleConnections()
	created := c.created
	// Admission policies and webhooks go first, because they may reject the deletion of the others.
	admitting := slices.DeleteFunc(slices.Clone(created), func(path string) bool { return !isAdmissionPath(path) })
	failed := []error{c.remove(admitting)}
	for _, path := range admitting {
		if policies := policyPath.FindStringSubmatch(path); policies != nil {
			c.notePolicyWrite(policies[1])
		}
	}
	failed = append(failed, c.waitForPolicies(context.Background()), c.deleteMarkers())
	for _, path := range definitions(created) {
		c.deleteUnreadable(context.Background(), path)
	}
	failed = append(failed, c.remove(slices.DeleteFunc(slices.Clone(created), isAdmissionPath)))
	for _, path := range definitions(created) {
		c.waitGone(context.Background(), path)
	}
	return errors.Join(append(failed, c.webhooks.close())...)
}

// remove deletes objects, the last first. It repeats that while at least one is deleted, because that one may have
// blocked another.
func (c *remoteCluster) remove(paths []string) error {
	for {
		var left []string
		var failed []error
		for _, path := range slices.Backward(paths) {
			// Remove finalizers, because nobody else does.
			patch := c.do("PATCH", path, map[string]any{"metadata": map[string]any{"finalizers": nil}})
			// By default a Job waits until the finalizers of its Pods are removed, and a Pod for its kubelet.
			options := map[string]any{"propagationPolicy": "Background", "gracePeriodSeconds": 0}
			if err := c.do("DELETE", path, options); err != nil {
				left, failed = append(left, path), append(failed, err, patch)
			}
		}
		if len(left) == 0 || len(left) == len(paths) {
			return errors.Join(failed...)
		}
		// What blocked it may be gone now.
		slices.Reverse(left)
		paths = left
	}
}

// do sends a request of the runner itself. A delete of an object that does not exist succeeds.
func (c *remoteCluster) do(method, path string, body any) error {
	ctx, cancel := context.WithTimeout(context.Background(), cleanupPeriod)
	defer cancel()
	code, text, err := c.request(ctx, method, path, body)
	if code >= http.StatusBadRequest && code != http.StatusNotFound {
		return fmt.Errorf("%s %s: %s: %s", method, path, player.CodeText(code), text)
	}
	return err
}

// request sends a request of the runner itself and returns the answer. A patch with a fieldManager is an apply.
func (c *remoteCluster) request(ctx context.Context, method, path string, body any) (code int, text []byte, err error) {
	var content io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return 0, nil, err
		}
		content = bytes.NewReader(data)
	}
	location, err := c.base.Parse(path)
	if err != nil {
		return 0, nil, err
	}
	request, err := http.NewRequestWithContext(ctx, method, location.String(), content)
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	switch {
	case method == http.MethodPatch && location.Query().Has("fieldManager"):
		request.Header.Set("Content-Type", "application/apply-patch+yaml")
	case method == http.MethodPatch:
		request.Header.Set("Content-Type", "application/merge-patch+json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	text, err = io.ReadAll(response.Body)
	return response.StatusCode, text, err
}

// errOutside is the error of an operation that a cluster outside of this process does not support.
var errOutside = errors.New("a cluster outside of this process cannot inject faults or forget its history")

// Inject returns an error: the player skips scenarios with faults.
func (c *remoteCluster) Inject(faults.Fault) error { return errOutside }

// Compact returns an error: the player skips scenarios that compact.
func (c *remoteCluster) Compact() error { return errOutside }
