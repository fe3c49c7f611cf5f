package generate

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/test/integration/etcd"
)

// Kind is a kind in one version, as the server describes it.
type Kind struct {
	schema.GroupVersionResource
	Kind         string
	Namespaced   bool
	Verbs        []string
	Subresources map[string]Subresource
	Schema       *Schema
	// Stub is an object of the kind that the server accepts, without apiVersion, kind and name; nil: there is none.
	Stub map[string]any
}

// Subresource is a subresource of a kind.
type Subresource struct {
	Verbs      []string
	APIVersion string // of its body
	Kind       string
	Schema     *Schema
}

func (k *Kind) can(verb string) bool { return slices.Contains(k.Verbs, verb) }

// collection returns the path of the objects in a namespace.
func (k *Kind) collection(namespace string) string {
	base := "/apis/" + k.GroupVersion().String()
	if k.Group == "" {
		base = "/api/" + k.Version
	}
	if k.Namespaced {
		base += "/namespaces/" + namespace
	}
	return base + "/" + k.Resource
}

// head returns what all bodies of an object have.
func (k *Kind) head(name string) map[string]any {
	return map[string]any{"apiVersion": k.GroupVersion().String(), "kind": k.Kind, "metadata": map[string]any{"name": name}}
}

// object returns the stub with a name.
func (k *Kind) object(name string) map[string]any {
	object := k.head(name)
	for field, value := range k.Stub {
		if field == "metadata" {
			metadata := maps.Clone(value.(map[string]any))
			metadata["name"] = name
			value = metadata
		}
		object[field] = value
	}
	return object
}

// Kinds returns the kinds that a server has, in an order that does not depend on chance, with their schemas.
func Kinds(ctx context.Context, cfg *rest.Config) ([]*Kind, error) {
	client, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, err
	}
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		return nil, err
	}
	stubs := etcd.GetEtcdStorageDataForNamespace(Namespace)
	var kinds []*Kind
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		doc, err := openAPI(ctx, client, gv)
		if err != nil {
			return nil, err
		}
		for _, resource := range list.APIResources {
			if strings.Contains(resource.Name, "/") {
				continue
			}
			k := &Kind{GroupVersionResource: gv.WithResource(resource.Name), Kind: resource.Kind, Namespaced: resource.Namespaced, Verbs: resource.Verbs,
				Subresources: map[string]Subresource{}, Schema: doc.kind(gv.Group, gv.Version, resource.Kind)}
			for _, s := range list.APIResources {
				if name, sub, ok := strings.Cut(s.Name, "/"); ok && name == resource.Name {
					k.Subresources[sub] = subresource(doc, gv, s)
				}
			}
			if k.Stub, err = stub(stubs, k.GroupVersionResource); err != nil {
				return nil, err
			}
			kinds = append(kinds, k)
		}
	}
	return kinds, nil
}

// subresource returns a subresource, whose body may be of another group, as that of scale is.
func subresource(doc *document, gv schema.GroupVersion, r metav1.APIResource) Subresource {
	if r.Version != "" {
		gv = schema.GroupVersion{Group: r.Group, Version: r.Version}
	}
	return Subresource{r.Verbs, gv.String(), r.Kind, doc.kind(gv.Group, gv.Version, r.Kind)}
}

// openAPI reads the document of a group and version.
func openAPI(ctx context.Context, client *discovery.DiscoveryClient, gv schema.GroupVersion) (*document, error) {
	path := "/openapi/v3/apis/" + gv.String()
	if gv.Group == "" {
		path = "/openapi/v3/api/" + gv.Version
	}
	text, err := client.RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("the OpenAPI document of %s: %w", gv, err)
	}
	d := &document{}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("the OpenAPI document of %s: %w", gv, err)
	}
	d.resolve()
	return d, nil
}

// stub returns the object that Kubernetes' own test of stored objects has for a resource, in this version or another one.
func stub(stubs map[schema.GroupVersionResource]etcd.StorageData, resource schema.GroupVersionResource) (map[string]any, error) {
	data, ok := stubs[resource]
	if !ok {
		for _, other := range slices.SortedFunc(maps.Keys(stubs), func(a, b schema.GroupVersionResource) int { return strings.Compare(a.String(), b.String()) }) {
			if other.Group == resource.Group && other.Resource == resource.Resource {
				data = stubs[other]
			}
		}
	}
	if data.Stub == "" {
		return nil, nil
	}
	object := map[string]any{}
	decoder := json.NewDecoder(strings.NewReader(data.Stub))
	decoder.UseNumber()
	if err := decoder.Decode(&object); err != nil {
		return nil, fmt.Errorf("the stub of %s: %w", resource, err)
	}
	delete(object, "apiVersion")
	delete(object, "kind")
	return object, nil
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
