package player

import (
	"slices"
	"strings"

	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// On one cluster scenarios can be played concurrently if each of them sees and changes only its own objects: those
// in its namespaces, its definitions and their objects. The others are played one after the other.

// isIsolated reports whether a scenario keeps to its own namespaces and definitions.
func isIsolated(s *syntax.Scenario) bool {
	groups := s.Groups()
	return !slices.ContainsFunc(s.All(), func(s syntax.Step) bool { return !stepIsIsolated(s, groups) })
}

// sharedGroups are the groups of Kubernetes whose objects affect the whole cluster.
var sharedGroups = []string{
	"admissionregistration.k8s.io", "apiregistration.k8s.io", "certificates.k8s.io", "flowcontrol.apiserver.k8s.io",
	"internal.apiserver.k8s.io", "node.k8s.io", "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io", "storagemigration.k8s.io",
}

// sharedKinds are the kinds of other groups whose objects affect the whole cluster. A Service has a unique
// address.
var sharedKinds = []string{"ClusterRole", "ClusterRoleBinding", "IPAddress", "IngressClass", "Node", "PersistentVolume", "Service", "ServiceCIDR"}

// stepIsIsolated reports whether a step keeps to the namespaces of its scenario, and to the groups that it defines.
func stepIsIsolated(s syntax.Step, groups []string) bool {
	targets := []target{targetOfReference(s.Argument)}
	if s.Argument["metadata"] != nil {
		targets[0] = targetOfManifest(s.Argument)
	}
	if s.To != nil {
		targets = append(targets, targetOfReference(s.To))
	}
	return !slices.ContainsFunc(targets, func(t target) bool { return !targetIsIsolated(t, groups, concernsCollection(s)) })
}

// concernsCollection reports whether a step concerns all objects of a kind.
func concernsCollection(s syntax.Step) bool {
	return actionOf(s).collection && s.Argument["name"] == nil
}

func targetIsIsolated(t target, groups []string, many bool) bool {
	if t.path != "" {
		segments := strings.Split(t.path, "/")
		return slices.Contains(segments, "namespaces") && !slices.Contains(segments, "services") ||
			len(segments) > 2 && segments[1] == "apis" && slices.Contains(groups, segments[2])
	}
	group, _, _ := strings.Cut(t.apiVersion, "/")
	switch {
	case t.kind == "" || slices.Contains(groups, group):
		return true
	case slices.Contains(sharedGroups, group) || slices.Contains(sharedKinds, t.kind):
		return false
	}
	return !many || t.namespace != ""
}
