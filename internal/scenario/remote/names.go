package remote

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// What a scenario calls its own is called otherwise in a cluster that others use, too. Here names are
// translated, outward and back.

// namespace is what the cluster calls a namespace of the scenario.
func (c *remoteCluster) namespace(name string) string {
	if name == "" || strings.HasPrefix(name, "kube-") {
		return name
	}
	return c.prefix + "-" + name
}

// noteGroup notes the group of a definition. A request that names one that the scenario did not say
// (ClusterOptions.Groups) is for an object of it. The groups of Kubernetes are the same for all, and
// a group without definitions, in a role for example, can be. Those that the cluster serves are its own.
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

// prefixGroups puts the word before the groups that a text names.
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

// toCluster is a value as the cluster gets it: with its namespaces, but not yet with its groups.
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

// bodyToCluster is the text of a body as the cluster gets it. A text that its author wrote, maybe with
// fields that are there twice, stays the text that it is.
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
		c.toCluster(value) // which notes the groups
	}
	for _, version := range apiVersionField.FindAllSubmatch(data, -1) {
		c.noteGroup(string(version[1]))
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

// toScenario is an answer as the scenario sees it.
func (c *remoteCluster) toScenario(text []byte) []byte {
	for _, before := range []string{c.prefix + "-", c.prefix + "."} {
		text = bytes.ReplaceAll(text, []byte(before), nil)
	}
	return c.webhooks.toScenario(text)
}
