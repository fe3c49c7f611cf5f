package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fakecluster/fakecluster/internal/scenario/player"
)

// A real server reacts to many writes a little later: it serves a definition, enforces a policy, removes a definition.
// The code in this file waits for that, so that the next request gets the same answer as in a cluster in this process.

// waitLimit bounds each of these waits. After that the scenario continues, and fails if it depends on the reaction.
const waitLimit = 10 * time.Second

// waitUntil waits until try returns true, or the time is over.
func waitUntil(ctx context.Context, try func() bool) { player.Retry(ctx, waitLimit, try) }

// waitServed waits until a definition is served: discovery has its versions, and its objects can be listed.
func (c *remoteCluster) waitServed(ctx context.Context, definition map[string]any) {
	var it struct {
		Spec struct {
			Group    string
			Names    struct{ Plural string }
			Scope    string
			Versions []struct {
				Name   string
				Served bool
			}
		}
	}
	data, err := json.Marshal(definition)
	if err != nil || json.Unmarshal(data, &it) != nil {
		return
	}
	waitUntil(ctx, func() bool {
		for _, version := range it.Spec.Versions {
			if !version.Served {
				continue
			}
			path := "/apis/" + it.Spec.Group + "/" + version.Name
			_, text, err := c.request(ctx, http.MethodGet, path, nil)
			if err != nil || !strings.Contains(string(text), `"name":"`+it.Spec.Names.Plural+`"`) {
				return false
			}
			code, _, err := c.request(ctx, http.MethodGet, path+"/"+it.Spec.Names.Plural+"?limit=1", nil)
			if err != nil || code == http.StatusNotFound || code == http.StatusTooManyRequests {
				return false
			}
		}
		return true
	})
}

// waitForQuotaStatus waits until the quota controller has set status.used for each resource in spec.hard. Objects that
// are created before are not charged.
func (c *remoteCluster) waitForQuotaStatus(ctx context.Context, path string) {
	waitUntil(ctx, func() bool {
		_, text, err := c.request(ctx, http.MethodGet, path, nil)
		var quota struct {
			Spec   struct{ Hard map[string]string }
			Status struct{ Used map[string]string }
		}
		if err != nil || json.Unmarshal(text, &quota) != nil {
			return true
		}
		for name := range quota.Spec.Hard {
			if _, counted := quota.Status.Used[name]; !counted {
				return false
			}
		}
		return true
	})
}

// waitGone waits until there is nothing at a path.
func (c *remoteCluster) waitGone(ctx context.Context, path string) {
	waitUntil(ctx, func() bool {
		code, _, err := c.request(ctx, http.MethodGet, path, nil)
		return err != nil || code == http.StatusNotFound
	})
}

// policyPath matches the paths of admission policies, their bindings, and webhook configurations.
var policyPath = regexp.MustCompile(`^/apis/admissionregistration\.k8s\.io/[^/]+/((validating|mutating)(admissionpolic|webhookconfiguration))(ies|ybindings|s)(/|$)`)

// marker is a policy with a binding, or a webhook configuration, that applies only to a dry run of the runner. A server
// observes policies in the order in which they are written, and bindings too. So when it enforces the last write of the
// marker, it enforces all earlier writes.
type marker struct {
	kind string // of the policy or the webhook configuration
	// behind: policies were written after the marker.
	behind bool
	count  int
}

// notePolicyWrite records a write of policies or bindings whose resource names begin with prefix.
func (c *remoteCluster) notePolicyWrite(prefix string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kind := markerKinds[prefix]
	if c.webhooks == nil && strings.HasSuffix(kind, "WebhookConfiguration") {
		return // it calls no webhook of the scenario
	}
	if c.markers[prefix] == nil {
		if c.markers == nil {
			c.markers = map[string]*marker{}
		}
		c.markers[prefix] = &marker{kind: kind}
	}
	c.markers[prefix].behind = true
}

// waitForPolicies waits until all written policies are in force, and no deleted policy is.
func (c *remoteCluster) waitForPolicies(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.markers {
		if !m.behind {
			continue
		}
		m.behind = false
		if err := c.writeMarker(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// writeMarker rewrites a marker and waits until it is in force.
func (c *remoteCluster) writeMarker(ctx context.Context, m *marker) error {
	m.count++
	mark := fmt.Sprintf("%s-%s-%d", c.prefix, m.kind, m.count)
	for kind, fields := range m.fields(mark, c) {
		object := map[string]any{
			"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
			"metadata": map[string]any{"name": c.prefix + "-marker"},
		}
		maps.Copy(object, fields)
		marker := "/apis/admissionregistration.k8s.io/v1/" + resourceOfPolicies(kind) + "/" + c.prefix + "-marker?fieldManager=marker&force=true"
		if code, text, err := c.request(ctx, http.MethodPatch, marker, object); err != nil || code >= http.StatusBadRequest {
			return errors.Join(fmt.Errorf("writing a policy to wait for others: %s: %s", player.CodeText(code), text), err)
		}
	}
	probe := map[string]any{
		"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
		"metadata": map[string]any{"name": c.prefix + "-marker", "labels": map[string]any{"marker": mark}},
	}
	waitUntil(ctx, func() bool {
		_, text, err := c.request(ctx, http.MethodPost, "/apis/coordination.k8s.io/v1/namespaces/"+c.prefix+"-default/leases?dryRun=All", probe)
		return err != nil || strings.Contains(string(text), "marked "+mark)
	})
	return nil
}

// resourceOfPolicies returns the resource name of a kind of policies or bindings.
func resourceOfPolicies(kind string) string {
	kind = strings.ToLower(kind)
	if policies, isPolicy := strings.CutSuffix(kind, "policy"); isPolicy {
		return policies + "policies"
	}
	return kind + "s"
}

// markerKinds has the kinds of markers by the prefixes of their resource names.
var markerKinds = map[string]string{
	"validatingadmissionpolic": "ValidatingAdmissionPolicy", "mutatingadmissionpolic": "MutatingAdmissionPolicy",
	"validatingwebhookconfiguration": "ValidatingWebhookConfiguration", "mutatingwebhookconfiguration": "MutatingWebhookConfiguration",
}

// fields returns the fields of the objects of a marker, by kind.
func (m *marker) fields(mark string, c *remoteCluster) map[string]map[string]any {
	selector := map[string]any{"matchLabels": map[string]any{"marker": mark}}
	rules := []any{map[string]any{
		"apiGroups": []any{"coordination.k8s.io"}, "apiVersions": []any{"v1"}, "operations": []any{"CREATE"}, "resources": []any{"leases"},
	}}
	if strings.HasSuffix(m.kind, "WebhookConfiguration") {
		return map[string]map[string]any{m.kind: {"webhooks": []any{map[string]any{
			"name": "marker.fakecluster.example.com", "rules": rules, "objectSelector": selector, "admissionReviewVersions": []any{"v1"},
			"sideEffects": "None", "failurePolicy": "Ignore", "timeoutSeconds": 2,
			"clientConfig": map[string]any{"url": c.webhooks.addresses[0].outside + markerPath + mark, "caBundle": c.CABundle()},
		}}}}
	}
	name := c.prefix
	leases := map[string]any{"objectSelector": selector, "resourceRules": rules}
	policy := map[string]any{"matchConstraints": leases, "failurePolicy": "Ignore"}
	binding := map[string]any{"policyName": name + "-marker", "matchResources": map[string]any{"objectSelector": selector}}
	if m.kind == "ValidatingAdmissionPolicy" {
		policy["validations"] = []any{map[string]any{"expression": "false", "message": "marked " + mark}}
		binding["validationActions"] = []any{"Deny"}
	} else {
		policy["reinvocationPolicy"] = "Never"
		policy["mutations"] = []any{map[string]any{"patchType": "ApplyConfiguration", "applyConfiguration": map[string]any{
			"expression": `Object{metadata: Object.metadata{annotations: {"marker": "marked ` + mark + `"}}}`,
		}}}
	}
	return map[string]map[string]any{m.kind: {"spec": policy}, m.kind + "Binding": {"spec": binding}}
}

// deleteMarkers deletes the markers.
func (c *remoteCluster) deleteMarkers() error {
	var failed []error
	for _, m := range c.markers {
		for kind := range m.fields("", c) {
			failed = append(failed, c.do(http.MethodDelete, "/apis/admissionregistration.k8s.io/v1/"+resourceOfPolicies(kind)+"/"+c.prefix+"-marker", nil))
		}
	}
	return errors.Join(failed...)
}

// definitions returns the paths of CustomResourceDefinitions among the paths of created objects.
func definitions(paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		return !strings.HasPrefix(path, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/")
	})
}
