package remote

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// In a shared cluster, the namespaces and API groups of a scenario have a prefix. This file translates names in both
// directions.

// namespace returns the name that a namespace of the scenario has in the cluster.
func (c *remoteCluster) namespace(name string) string {
	if name == "" || strings.HasPrefix(name, "kube-") {
		return name
	}
	return c.prefix + "-" + name
}

// noteGroup stores the group of a definition, so that it gets the prefix. It may be missing in ClusterOptions.Groups if
// a request computes it. Groups of Kubernetes, groups without a dot, and groups that the cluster serves have no prefix.
func (c *remoteCluster) noteGroup(group string) {
	group, _, _ = strings.Cut(group, "/")
	if !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io") || strings.ContainsAny(group, " *") {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.groups, group) && !slices.Contains(c.clusterGroups, group) {
		c.groups = append(c.groups, group)
		slices.SortFunc(c.groups, func(a, b string) int { return len(b) - len(a) })
	}
}

// prefixGroups adds the prefix to the stored groups in a text.
func (c *remoteCluster) prefixGroups(text string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.groups) == 0 {
		return text
	}
	quoted := make([]string, len(c.groups))
	for i, group := range c.groups {
		quoted[i] = regexp.QuoteMeta(group)
	}
	return regexp.MustCompile(strings.Join(quoted, "|")).ReplaceAllString(text, c.prefix+".$0")
}

// toCluster changes a body for the cluster and returns it: namespaces get the prefix, but groups do not get it yet.
func (c *remoteCluster) toCluster(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, field := range v {
			text, isText := field.(string)
			switch {
			case isText && (name == "namespace" || name == "kubernetes.io/metadata.name"):
				v[name] = c.namespace(text)
			case name == "clientConfig":
				c.webhooks.rewriteClientConfig(field)
				v[name] = c.toCluster(field)
			case isText && name == "apiVersion":
				c.noteGroup(text)
			default:
				v[name] = c.toCluster(field)
			}
		}
		if metadata, ok := v["metadata"].(map[string]any); ok && v["kind"] == "Namespace" {
			if name, ok := metadata["name"].(string); ok {
				metadata["name"] = c.namespace(name)
			}
		}
	case []any:
		for i, item := range v {
			v[i] = c.toCluster(item)
		}
	}
	return value
}

// bodyToCluster returns a body for the cluster. In a text that is not canonical JSON, for example with duplicate fields,
// it replaces only the names.
func (c *remoteCluster) bodyToCluster(data []byte) []byte {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if decoder.Decode(&value) == nil {
		if same, err := json.Marshal(value); err == nil && bytes.Equal(same, bytes.TrimSpace(data)) {
			if changed, err := json.Marshal(c.toCluster(value)); err == nil {
				return changed
			}
		}
		c.toCluster(value) // stores the groups
	}
	for _, version := range apiVersionField.FindAllSubmatch(data, -1) {
		c.noteGroup(string(version[1]))
	}
	return namespaceField.ReplaceAllFunc(data, func(found []byte) []byte {
		m := namespaceField.FindSubmatch(found)
		return append(slices.Clone(m[1]), c.namespace(string(m[2]))...)
	})
}

// The fields with a namespace or a group in a text of JSON or YAML.
var (
	namespaceField  = regexp.MustCompile(`(\bnamespace"?\s*:\s*"?)([a-z0-9][-a-z0-9]*)`)
	apiVersionField = regexp.MustCompile(`\bapiVersion"?\s*:\s*"?([-.a-z0-9]+/)`)
)

// path returns the path in the cluster for a path of the scenario.
func (c *remoteCluster) path(path string) string {
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		switch {
		case i > 0 && segments[i-1] == "namespaces":
			segments[i] = c.namespace(segment)
		case i == 2 && segments[1] == "apis":
			c.noteGroup(segment)
		}
	}
	return c.prefixGroups(strings.Join(segments, "/"))
}

// toScenario returns an answer for the scenario, without prefixes.
func (c *remoteCluster) toScenario(text []byte) []byte {
	for _, before := range []string{c.prefix + "-", c.prefix + "."} {
		text = bytes.ReplaceAll(text, []byte(before), nil)
	}
	return c.webhooks.toScenario(text)
}
