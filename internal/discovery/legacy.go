package discovery

import (
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/discovery"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"

	"github.com/fakecluster/fakecluster/internal/release"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// ServeVersion answers /version.
func ServeVersion(w http.ResponseWriter, req *http.Request) {
	responsewriters.WriteRawJSON(http.StatusOK, release.Info(), w)
}

// ServeIndex answers / with the given paths.
func ServeIndex(w http.ResponseWriter, paths []string) {
	responsewriters.WriteRawJSON(http.StatusOK, metav1.RootPaths{Paths: paths}, w)
}

// Paths returns the served paths, sorted: those of discovery, and others.
func Paths(c *resource.Registry, registered []*apiregistrationv1.APIService, others ...string) []string {
	paths := append([]string{"/api", "/apis", "/apis/"}, others...)
	for _, g := range c.Groups() {
		if g.Name == "" {
			paths = append(paths, "/api/v1")
			continue
		}
		paths = append(paths, "/apis/"+g.Name)
		for _, v := range g.Versions {
			paths = append(paths, "/apis/"+g.Name+"/"+v)
		}
	}
	for _, a := range registered {
		if a.Spec.Group != "" {
			paths = append(paths, "/apis/"+a.Spec.Group, "/apis/"+a.Spec.Group+"/"+a.Spec.Version)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// ServeCore answers /api and /api/v1, and reports whether the path is one of these. For compatibility, their documents
// have no apiVersion.
func ServeCore(w http.ResponseWriter, req *http.Request, c *resource.Registry, parts []string) bool {
	switch {
	case parts[0] != "api":
		return false
	case len(parts) == 1:
		addresses := discovery.DefaultAddresses{DefaultAddress: req.Host}
		discovery.NewLegacyRootAPIHandler(addresses, scheme.Codecs, "/api").ServeHTTP(w, req)
		return true
	case len(parts) == 2 && c.Group("").Serves(parts[1]):
		list := resources(c.Group(""), parts[1]).(*metav1.APIResourceList)
		version := schema.GroupVersion{Version: parts[1]}
		lister := discovery.APIResourceListerFunc(func() []metav1.APIResource { return list.APIResources })
		discovery.NewAPIVersionHandler(scheme.Codecs, version, lister).ServeHTTP(w, req)
		return true
	}
	return false
}

// Document returns the discovery document at the path with the given parts; nil: none. The groups and versions below
// /apis come from APIServices, including those of other servers. A group without APIServices has a document, but is not
// in the list of groups.
func Document(c *resource.Registry, registered []*apiregistrationv1.APIService, parts []string) kruntime.Object {
	switch {
	case parts[0] == "api" && len(parts) == 1:
		return &metav1.APIVersions{Versions: c.Group("").Versions}
	case parts[0] == "api" && len(parts) == 2:
		return resources(c.Group(""), parts[1])
	case parts[0] == "apis" && len(parts) == 1:
		list := &metav1.APIGroupList{
			TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"},
			Groups:   []metav1.APIGroup{},
		}
		// The group of APIServices has no APIService, and comes first.
		if g := c.Group(apiregistrationv1.GroupName); g != nil {
			list.Groups = append(list.Groups, group(g.Name, g.Versions))
		}
		for _, services := range helper.SortedByGroupAndVersion(registered) {
			if name := services[0].Spec.Group; name != "" {
				list.Groups = append(list.Groups, group(name, versions(services)))
			}
		}
		return list
	case parts[0] == "apis" && len(parts) == 2 && parts[1] != "":
		var served []string
		if g := c.Group(parts[1]); g != nil {
			served = g.Versions
		}
		services := slices.DeleteFunc(slices.Clone(registered), func(a *apiregistrationv1.APIService) bool { return a.Spec.Group != parts[1] })
		if len(services) > 0 {
			served = versions(helper.SortedByGroupAndVersion(services)[0])
		}
		if len(served) == 0 {
			return nil
		}
		document := group(parts[1], served)
		document.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
		return &document
	case parts[0] == "apis" && len(parts) == 3 && parts[1] != "":
		return resources(c.Group(parts[1]), parts[2])
	}
	return nil
}

func versions(services []*apiregistrationv1.APIService) []string {
	names := make([]string, len(services))
	for i, a := range services {
		names[i] = a.Spec.Version
	}
	return names
}

func group(name string, versions []string) metav1.APIGroup {
	document := metav1.APIGroup{Name: name}
	for _, v := range versions {
		document.Versions = append(document.Versions, metav1.GroupVersionForDiscovery{GroupVersion: name + "/" + v, Version: v})
	}
	document.PreferredVersion = document.Versions[0]
	return document
}

// resources returns the resources of a group in one version.
func resources(g *resource.Group, name string) kruntime.Object {
	if g == nil || !g.Serves(name) || !g.Leads(name) {
		return nil
	}
	list := &metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: strings.TrimPrefix(g.Name+"/"+name, "/"),
		APIResources: []metav1.APIResource{},
	}
	for _, r := range g.Resources {
		v := g.Published(r, name)
		if v == nil {
			continue
		}
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: r.Names.Plural, SingularName: r.Names.Singular, Namespaced: r.Namespaced, Kind: r.Names.Kind,
			Verbs: r.Verbs, ShortNames: r.Names.ShortNames, Categories: r.Names.Categories,
			StorageVersionHash: storageVersionHash(r),
		})
		list.APIResources = append(list.APIResources, subresources(r, v)...)
	}
	if len(list.APIResources) == 0 {
		return nil
	}
	return list
}

func subresources(r *resource.Resource, v *resource.Version) []metav1.APIResource {
	var resources []metav1.APIResource
	for _, s := range v.SubresourceNames() {
		entry := metav1.APIResource{
			Name: r.Names.Plural + "/" + s, Namespaced: r.Namespaced, Kind: r.Names.Kind, Verbs: v.Subresource[s].Verbs,
		}
		shown := v.KindOf(v.Subresource[s])
		entry.Kind = shown.Kind
		if shown.GroupVersion() != v.GroupVersion() {
			entry.Group, entry.Version = shown.Group, shown.Version
		}
		resources = append(resources, entry)
	}
	return resources
}

// storageVersionHash returns a hash of the storage version of a resource, with which clients detect a change of the
// storage version.
func storageVersionHash(r *resource.Resource) string {
	if r.StorageVersionHash != "" {
		return r.StorageVersionHash
	}
	if r.Prefix == "" || r.HidesStorageVersion {
		return ""
	}
	stored := r.Storage.Kind()
	return discovery.StorageVersionHash(stored.Group, stored.Version, stored.Kind)
}
