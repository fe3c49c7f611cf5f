package host

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// Object names an object.
type Object struct {
	APIVersion string `json:"apiVersion,omitempty" doc:"such as apps/v1; it may be left out if only one group has the kind"`
	Kind       string `json:"kind" doc:"such as Deployment, or a type of Go, such as k8s.io/api/apps/v1.Deployment"`
	Namespace  string `json:"namespace,omitempty" doc:"default: default"`
	Name       string `json:"name" doc:"the name of the object"`
}

// typesOfGo has the kinds of the types of client-go, by the package and the name of the type.
var typesOfGo = sync.OnceValue(func() map[string]schema.GroupVersionKind {
	all := map[string]schema.GroupVersionKind{}
	for kind, t := range scheme.Scheme.AllKnownTypes() {
		if kind.Version != runtime.APIVersionInternal && strings.HasSuffix(t.PkgPath(), "/"+kind.Version) {
			all[nameOfType(t)] = kind
		}
	}
	return all
})

func nameOfType(t reflect.Type) string { return t.PkgPath() + "." + t.Name() }

// kindOf returns the kind that a client names.
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

// readObject reads an object, whose kind may be a type of Go.
func readObject(text []byte) (*unstructured.Unstructured, error) {
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

// find returns the object that a client names, with its kind. Without an apiVersion, the kind is the only one of that name.
func (c *cluster) find(o Object) (runtime.Object, error) {
	kind, err := kindOf(o.APIVersion, o.Kind)
	if err != nil && o.Kind != "" {
		kind, err = c.onlyKind(o.Kind[strings.LastIndex(o.Kind, ".")+1:])
	}
	if err != nil {
		return nil, err
	}
	if o.Name == "" {
		return nil, refuse(http.StatusBadRequest, "the %s does not have a name", kind.Kind)
	}
	return fakecluster.Named(kind.GroupVersion().String(), kind.Kind, o.Namespace, o.Name), nil
}

// onlyKind returns the kind of a name that one group alone serves, in the version that the group prefers.
func (c *cluster) onlyKind(name string) (found schema.GroupVersionKind, err error) {
	lists, err := c.Discovery().ServerPreferredResources()
	if err != nil {
		return found, err
	}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return found, err
		}
		for _, resource := range list.APIResources {
			switch {
			case resource.Kind != name:
			case found.Empty() || found.Group == version.Group:
				found = version.WithKind(name)
			default:
				return found, refuse(http.StatusBadRequest, "the kind %s is in the groups %q and %q: give its apiVersion", name, found.Group, version.Group)
			}
		}
	}
	if found.Empty() {
		return found, refuse(http.StatusBadRequest, "the cluster does not serve a kind %s: give an apiVersion and a kind that it serves", name)
	}
	return found, nil
}
