package host

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// Object identifies an object.
type Object struct {
	APIVersion string `json:"apiVersion,omitempty" doc:"such as apps/v1; it may be left out if only one group has the kind"`
	Kind       string `json:"kind" doc:"such as Deployment, or a type of Go, such as k8s.io/api/apps/v1.Deployment"`
	Namespace  string `json:"namespace,omitempty" doc:"default: default"`
	Name       string `json:"name" doc:"the name of the object"`
}

// typesOfGo has the kinds of the types of client-go, by the package and the name of the type.
var typesOfGo = sync.OnceValue(func() map[string]schema.GroupVersionKind {
	kinds := map[string]schema.GroupVersionKind{}
	for kind, t := range scheme.Scheme.AllKnownTypes() {
		if kind.Version != runtime.APIVersionInternal && strings.HasSuffix(t.PkgPath(), "/"+kind.Version) {
			kinds[nameOfType(t)] = kind
		}
	}
	return kinds
})

func nameOfType(t reflect.Type) string { return t.PkgPath() + "." + t.Name() }

// kindOf returns the kind for an apiVersion and a kind, or for a type of client-go in place of the kind.
func kindOf(apiVersion, kind string) (schema.GroupVersionKind, error) {
	if apiVersion != "" && kind != "" {
		return schema.FromAPIVersionAndKind(apiVersion, kind), nil
	}
	if known, ok := typesOfGo()[kind]; ok {
		return known, nil
	}
	if kind == "" {
		return schema.GroupVersionKind{}, refuse(http.StatusBadRequest, "the object does not have a kind: give its apiVersion and kind")
	}
	return schema.GroupVersionKind{}, refuse(http.StatusBadRequest, "the object of the type %s does not name its apiVersion and kind: set both", kind)
}

// readObject reads an object, whose kind may be a type of Go. kindOf returns the kind that it names.
func readObject(text []byte, kindOf func(apiVersion, kind string) (schema.GroupVersionKind, error)) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(text, &u.Object); err != nil { // whole numbers become int64
		return nil, fmt.Errorf("not an object: %w", err)
	}
	if len(u.Object) == 0 {
		return nil, errors.New("the object is empty")
	}
	kind, err := kindOf(u.GetAPIVersion(), u.GetKind())
	if err != nil {
		return nil, err
	}
	u.SetGroupVersionKind(kind)
	return u, nil
}

// kindOf is like the function kindOf, but without an apiVersion it looks for the only served kind with the name.
func (c *cluster) kindOf(apiVersion, kind string) (schema.GroupVersionKind, error) {
	found, err := kindOf(apiVersion, kind)
	if err != nil && kind != "" {
		return c.onlyKind(kind[strings.LastIndex(kind, ".")+1:])
	}
	return found, err
}

// find returns an empty object with the kind and the name of o.
func (c *cluster) find(o Object) (runtime.Object, error) {
	kind, err := c.kindOf(o.APIVersion, o.Kind)
	if err != nil {
		return nil, err
	}
	if o.Name == "" {
		return nil, refuse(http.StatusBadRequest, "the %s does not have a name: give one", kind.Kind)
	}
	return fakecluster.Named(kind.GroupVersion().String(), kind.Kind, o.Namespace, o.Name), nil
}

// onlyKind returns the kind with a name in the preferred version of its group. It fails if several groups have such a
// kind.
func (c *cluster) onlyKind(name string) (found schema.GroupVersionKind, err error) {
	groups := map[string]bool{}
	for kind := range scheme.Scheme.AllKnownTypes() {
		if kind.Kind == name && kind.Version != runtime.APIVersionInternal && kind.Group != "extensions" { // no server has it any more
			groups[kind.Group] = true
		}
	}
	for group := range groups {
		for _, version := range scheme.Scheme.PrioritizedVersionsForGroup(group) {
			if scheme.Scheme.Recognizes(version.WithKind(name)) {
				found = version.WithKind(name)
				break
			}
		}
	}
	if len(groups) == 0 {
		if groups, found, err = c.discover(name); err != nil {
			return found, err
		}
	}
	switch len(groups) {
	case 0:
		return found, refuse(http.StatusBadRequest, "the cluster does not serve a kind %s: give an apiVersion and a kind that it serves", name)
	case 1:
		return found, nil
	}
	return found, refuse(http.StatusBadRequest, "the kind %s is in the groups %q: give its apiVersion", name, slices.Sorted(maps.Keys(groups)))
}

// discover returns the served groups with a kind. It sends discovery requests as the client fakecluster-host.
func (c *cluster) discover(name string) (groups map[string]bool, found schema.GroupVersionKind, err error) {
	cfg := c.RESTConfig()
	cfg.UserAgent = "fakecluster-host"
	client, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, found, err
	}
	lists, err := client.ServerPreferredResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) { // leave out aggregated APIs that are not available
		return nil, found, err
	}
	groups = map[string]bool{}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, found, err
		}
		for _, resource := range list.APIResources {
			if resource.Kind == name {
				groups[version.Group], found = true, version.WithKind(name)
			}
		}
	}
	return groups, found, nil
}
