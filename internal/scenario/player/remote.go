package player

import (
	"net/http"
	"slices"
	"strings"

	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// unsupportedRemotely returns why a scenario cannot be played on a cluster that already runs; empty: it can.
func unsupportedRemotely(s *syntax.Scenario) string {
	o := s.Cluster
	switch {
	case o.Fakecluster:
		return "the scenario tests behavior of fakecluster alone"
	case s.Workloads != nil:
		return "the scenario describes nodes and pods, and this cluster has others"
	case o.Alone:
		return "the scenario concerns everything in a cluster, and this cluster has other objects"
	case impersonates(s):
		return "the users of the scenario are impersonated, so they cannot impersonate others"
	case slices.ContainsFunc(s.All(), func(s syntax.Step) bool { return actionOf(s).inProcess }):
		return "fault and compact need a cluster in this process"
	case countsConversions(s):
		return "a real server also converts for its caches, so the calls of a conversion webhook cannot be counted"
	case needsVirtualTime(s) != "":
		return needsVirtualTime(s)
	case !o.Cluster.IsZero():
		return "the scenario needs cluster options that this cluster cannot change"
	}
	return ""
}

// impersonates reports whether a step of a user other than the administrator impersonates.
func impersonates(s *syntax.Scenario) bool {
	return slices.ContainsFunc(s.All(), func(s syntax.Step) bool {
		return s.By != nil && slices.ContainsFunc(syntax.SortedFields(s.Headers), func(name string) bool {
			return strings.HasPrefix(http.CanonicalHeaderKey(name), "Impersonate-")
		})
	})
}

// countsConversions reports whether a scenario checks the calls of a conversion webhook.
func countsConversions(s *syntax.Scenario) bool {
	looks := slices.ContainsFunc(s.All(), func(s syntax.Step) bool { return s.Verb.Name == "calls" })
	return looks && slices.ContainsFunc(s.All(), func(s syntax.Step) bool {
		spec, _ := s.Argument["spec"].(map[string]any)
		return s.Argument["kind"] == "CustomResourceDefinition" && spec["conversion"] != nil
	})
}

// SkipError is why a cluster cannot play a scenario.
type SkipError string

func (s SkipError) Error() string { return string(s) }
