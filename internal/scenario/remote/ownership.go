package remote

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/yaml"
)

// Option changes what scenarios may do on a cluster that runs already. See [NewStarter].
type Option func(*remoteCluster)

// AllowClusterChanges lets scenarios change what they do not own: objects without a namespace, objects in the namespaces
// of Kubernetes, and whole collections. Use it for a cluster that is thrown away afterwards. Without it, such a write
// fails and is not sent.
func AllowClusterChanges() Option { return func(c *remoteCluster) { c.allowAll = true } }

// checkOwn returns an error for a write that may change what the scenario does not own. The request has the names of the
// cluster. A scenario owns its namespaces, the groups of its definitions, the objects that it has created, and objects
// with its prefix in a label.
func (c *remoteCluster) checkOwn(request *http.Request, body []byte) error {
	if c.allowAll || isRead(request) || c.owns(request, body) {
		return nil
	}
	return fmt.Errorf("%s %s is not sent: it may change what is not this scenario's own in the cluster; "+
		"use a namespace or a definition of the scenario, or run with --allow-cluster-changes on a cluster that nobody needs afterwards",
		request.Method, c.toScenario([]byte(request.URL.Path)))
}

// isRead reports whether a request changes nothing.
func isRead(request *http.Request) bool {
	switch request.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return !connection.MatchString(request.URL.Path)
	}
	return slices.Equal(request.URL.Query()["dryRun"], []string{metav1.DryRunAll})
}

// reviews are the resources whose objects are never stored.
var reviews = []string{"tokenreviews", "selfsubjectreviews", "subjectaccessreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews"}

// owns reports whether a write concerns only objects of the scenario.
func (c *remoteCluster) owns(request *http.Request, body []byte) bool {
	path := strings.TrimSuffix(request.URL.Path, "/")
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	group, rest := "", []string(nil)
	switch {
	case len(segments) > 2 && segments[0] == "api":
		rest = segments[2:]
	case len(segments) > 3 && segments[0] == "apis":
		group, rest = segments[1], segments[3:]
	default:
		return false
	}
	if strings.HasPrefix(group, c.prefix+".") || rest[0] == "namespaces" && len(rest) > 1 && c.hasPrefix(rest[1]) {
		return true
	}
	if c.hasCreated(path) {
		return true
	}
	if isCollection := len(rest) == 1 || len(rest) == 3 && rest[0] == "namespaces"; isCollection && c.selectsOwn(request) {
		return true
	}
	switch rest[0] {
	case "namespaces":
		return request.Method == http.MethodPost && len(rest) == 1 && c.hasPrefix(nameIn(body))
	case "customresourcedefinitions":
		name := nameIn(body)
		if len(rest) > 1 {
			name = rest[1]
		}
		return strings.Contains(name, "."+c.prefix+".")
	}
	return slices.Contains(reviews, rest[0])
}

// selectsOwn reports whether a request deletes only objects that have a label of the scenario. The server ignores the
// selector of any other write.
func (c *remoteCluster) selectsOwn(request *http.Request) bool {
	selector, err := labels.Parse(request.URL.Query().Get("labelSelector"))
	if err != nil || request.Method != http.MethodDelete {
		return false
	}
	requirements, _ := selector.Requirements()
	return slices.ContainsFunc(requirements, func(r labels.Requirement) bool {
		return isEquality(r.Operator()) && r.Values().Len() == 1 && c.hasPrefix(r.Values().UnsortedList()[0])
	})
}

// isEquality reports whether an operator of a selector matches only the listed values.
func isEquality(o selection.Operator) bool {
	return o == selection.Equals || o == selection.DoubleEquals || o == selection.In
}

// hasPrefix reports whether a name begins with the prefix of the scenario.
func (c *remoteCluster) hasPrefix(name string) bool { return strings.HasPrefix(name, c.prefix+"-") }

// hasCreated reports whether the scenario has created the object at a path, or the object of a subresource at a path.
func (c *remoteCluster) hasCreated(path string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.created, func(own string) bool { return path == own || strings.HasPrefix(path, own+"/") })
}

// nameIn returns the name of the object in the body of a request, in JSON or YAML, or its generateName.
func nameIn(body []byte) string {
	var object struct {
		Metadata struct{ Name, GenerateName string } `json:"metadata"`
	}
	if yaml.Unmarshal(body, &object) != nil {
		return ""
	}
	if object.Metadata.Name == "" {
		return object.Metadata.GenerateName
	}
	return object.Metadata.Name
}
