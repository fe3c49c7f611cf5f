package openapi

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/emicklei/go-restful/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/endpoints"
	apidiscovery "k8s.io/apiserver/pkg/endpoints/discovery"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	registryrest "k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/server/routes"

	"github.com/fakecluster/fakecluster/internal/release"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// server describes the kinds of a registry that one of the API servers with Go types serves.
type server struct {
	*resource.OpenAPIServer
	services []*service
	merges   bool // it merges the documents of the others into its own
}

// service is the part of a server below one path: a version of a group, or a discovery document.
type service struct {
	path string // below the root, as OpenAPI v3 names its document
	// versions are those of kinds, in a version of a group.
	versions []*resource.Version
	install  func(*restful.Container) error
}

// optionsVersion is the version of the options in requests, and of Status.
var optionsVersion = schema.GroupVersion{Version: "v1"}

// servers returns the servers of a registry in the order in which their documents are merged.
// No kind is described yet.
func servers(c *resource.Registry) []*server {
	var servers []*server
	for _, g := range c.Groups() {
		for _, name := range g.Versions {
			gv := schema.GroupVersion{Group: g.Name, Version: name}
			var versions []*resource.Version
			for _, r := range g.Resources {
				if v := g.Published(r, name); v != nil && v.OpenAPI != nil && v.OpenAPI.Server != nil {
					versions = append(versions, v)
				}
			}
			if len(versions) == 0 {
				continue
			}
			s := serverOf(versions[0].OpenAPI.Server, &servers)
			s.add(gv, versions)
		}
	}
	slices.SortFunc(servers, func(a, b *server) int { return cmp.Compare(a.Order, b.Order) })
	for i, s := range servers {
		s.merges = i == 0
		s.addRoots(s.merges)
	}
	return servers
}

// serverOf returns the server, and adds it if it does not exist yet.
func serverOf(described *resource.OpenAPIServer, servers *[]*server) *server {
	for _, s := range *servers {
		if s.OpenAPIServer == described {
			return s
		}
	}
	s := &server{OpenAPIServer: described}
	*servers = append(*servers, s)
	return s
}

// add adds a version of a group, and the discovery of the group.
func (s *server) add(gv schema.GroupVersion, versions []*resource.Version) {
	root, group := "apis", "apis/"+gv.Group
	if gv.Group == "" {
		root, group = "api", "api"
	}
	serializer := versions[0].Serializer
	if !slices.ContainsFunc(s.services, func(other *service) bool { return other.path == group }) {
		s.services = append(s.services, &service{path: group, install: func(c *restful.Container) error {
			if gv.Group == "" {
				c.Add(aggregated.WrapAggregatedDiscoveryToHandler(nil, nil, nil).GenerateWebService("/api", metav1.APIVersions{}))
			} else {
				c.Add(apidiscovery.NewAPIGroupHandler(serializer, metav1.APIGroup{Name: gv.Group}).WebService())
			}
			return nil
		}})
	}
	s.services = append(s.services, &service{path: pathOf(gv), versions: versions, install: func(c *restful.Container) error {
		return s.install(c, "/"+root, gv, versions)
	}})
}

// pathOf returns the path of a version of a group below the root.
func pathOf(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "api/" + gv.Version
	}
	return "apis/" + gv.String()
}

// install adds the paths of the kinds of a version of a group, as upstream's installer describes
// them.
func (s *server) install(c *restful.Container, root string, gv schema.GroupVersion, versions []*resource.Version) error {
	scheme := s.Scheme()
	storage := map[string]registryrest.Storage{}
	for _, v := range versions {
		if err := storages(scheme, v, storage); err != nil {
			return err
		}
	}
	group := &endpoints.APIGroupVersion{
		Storage: storage, Root: root, GroupVersion: gv, OptionsExternalVersion: &optionsVersion,
		Serializer: versions[0].Serializer, ParameterCodec: runtime.NewParameterCodec(scheme),
		Typer: scheme, Creater: scheme, Convertor: scheme, ConvertabilityChecker: scheme, Defaulter: scheme,
		UnsafeConvertor:            runtime.UnsafeObjectConvertor(scheme),
		TypeConverter:              managedfields.NewDeducedTypeConverter(), // never called
		Namer:                      runtime.Namer(meta.NewAccessor()),
		EquivalentResourceRegistry: runtime.NewEquivalentResourceRegistry(),
	}
	if _, _, err := group.InstallREST(c); err != nil {
		return fmt.Errorf("OpenAPI of %s: %w", gv, err)
	}
	return nil
}

// addRoots adds the paths without kinds. The first server has those that all servers have.
func (s *server) addRoots(first bool) {
	add := func(path string, install func(*restful.Container)) {
		s.services = append(s.services, &service{path: path, install: func(c *restful.Container) error {
			install(c)
			return nil
		}})
	}
	if first {
		add("apis", func(c *restful.Container) {
			c.Add(aggregated.WrapAggregatedDiscoveryToHandler(nil, nil, nil).GenerateWebService("/apis", metav1.APIGroupList{}))
		})
		add("version", func(c *restful.Container) { routes.Version{Version: new(release.Info())}.Install(c) })
	}
	if s.Install == nil {
		return
	}
	c := restful.NewContainer()
	s.Install(c)
	for _, ws := range c.RegisteredWebServices() {
		add(strings.TrimPrefix(ws.RootPath(), "/"), func(c *restful.Container) { c.Add(ws) })
	}
}

// webServices returns the web services of some services.
func webServices(services ...*service) ([]*restful.WebService, error) {
	c := restful.NewContainer()
	for _, s := range services {
		if err := s.install(c); err != nil {
			return nil, err
		}
	}
	return c.RegisteredWebServices(), nil
}
