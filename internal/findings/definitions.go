package findings

import (
	"slices"
	"strings"

	"github.com/fakecluster/fakecluster/inspect"
)

// define is the advice for a kind without a definition.
const define = "give the definition to fakecluster.WithCRDPaths, or to remote.CRDPaths"

// undefined returns advice for a path of a group or version that the cluster does not serve. It is empty for other
// paths.
func (c Source) undefined(path string) string {
	parts := strings.Split(path, "/") // "", "apis", group, version, …
	if len(parts) < 3 || parts[1] != "apis" {
		return ""
	}
	group := c.Registry.Group(parts[2])
	switch {
	case group == nil && strings.Contains(parts[2], "."):
		return ": " + define
	case group != nil && len(parts) > 3 && !slices.Contains(group.Versions, parts[3]):
		return ": it serves " + group.Name + " in " + strings.Join(group.Versions, ", ")
	}
	return ""
}

// onlyDiscovers reports whether a client has sent discovery requests only: a client that finds its kind sends others.
func onlyDiscovers(requests []inspect.Request, client string) bool {
	return slices.ContainsFunc(requests, func(q inspect.Request) bool { return q.Path == "/apis" && shownClient(q.User, q.UserAgent) == client })
}
