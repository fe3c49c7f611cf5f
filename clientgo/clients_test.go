package clientgo

import (
	"encoding/json"
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// growingServer serves discovery of one group, once it is enabled.
type growingServer struct {
	served   bool
	requests int
}

func (s *growingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	group := metav1.APIGroup{
		Name:     "stable.example.com",
		Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: "stable.example.com/v1", Version: "v1"}},
	}
	w.Header().Set("Content-Type", "application/json")
	answer := func(v any) { json.NewEncoder(w).Encode(v) }
	switch r.URL.Path {
	case "/api":
		answer(metav1.APIVersions{})
	case "/apis":
		s.requests++
		list := metav1.APIGroupList{Groups: []metav1.APIGroup{}}
		if s.served {
			list.Groups = append(list.Groups, group)
		}
		answer(list)
	case "/apis/stable.example.com/v1":
		answer(metav1.APIResourceList{GroupVersion: "stable.example.com/v1", APIResources: []metav1.APIResource{
			{Name: "crontabs", SingularName: "crontab", Namespaced: true, Kind: "CronTab", ShortNames: []string{"ct"}},
		}})
	case "/apis/stable.example.com/v1/namespaces/default/crontabs/a":
		answer(object{"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": object{"name": "a"}})
	case "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/crontabs.stable.example.com":
		answer(object{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
			"metadata": object{"name": "crontabs.stable.example.com"}})
	default:
		http.NotFound(w, r)
	}
}

func TestClientsReachTheServer(t *testing.T) {
	tr := InProcess(&growingServer{})
	defer tr.Close()
	c, err := NewClients(Access{Transport: tr}.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	if o, err := c.Dynamic.Resource(cronTabs).Namespace("default").Get(t.Context(), "a", metav1.GetOptions{}); err != nil || o.GetName() != "a" {
		t.Errorf("dynamic: %v, %v", o, err)
	}
	const crd = "crontabs.stable.example.com"
	if o, err := c.Extensions.ApiextensionsV1().CustomResourceDefinitions().Get(t.Context(), crd, metav1.GetOptions{}); err != nil || o.Name != crd {
		t.Errorf("apiextensions: %v, %v", o, err)
	}
	if l, err := c.Discovery.ServerResourcesForGroupVersion("stable.example.com/v1"); err != nil || len(l.APIResources) != 1 {
		t.Errorf("discovery: %v, %v", l, err)
	}
}

func TestBadConfigIsAnError(t *testing.T) {
	if _, err := NewClients(&rest.Config{Host: "http://cluster.test", Transport: http.DefaultTransport,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true}}); err == nil {
		t.Error("no error")
	}
}

func TestMapperRefreshesForUnknownKinds(t *testing.T) {
	resource := cronTabs
	kind := schema.GroupVersionKind{Group: "stable.example.com", Version: "v1", Kind: "CronTab"}
	for rule, lookup := range map[string]func(meta.RESTMapper) (any, error){
		"KindFor":      func(m meta.RESTMapper) (any, error) { return m.KindFor(resource) },
		"KindsFor":     func(m meta.RESTMapper) (any, error) { k, err := m.KindsFor(resource); return first(k), err },
		"ResourceFor":  func(m meta.RESTMapper) (any, error) { return m.ResourceFor(resource) },
		"ResourcesFor": func(m meta.RESTMapper) (any, error) { r, err := m.ResourcesFor(resource); return first(r), err },
		"RESTMapping": func(m meta.RESTMapper) (any, error) {
			r, err := m.RESTMapping(kind.GroupKind(), "v1")
			if err != nil {
				return nil, err
			}
			return r.Resource, nil
		},
		"RESTMappings": func(m meta.RESTMapper) (any, error) {
			r, err := m.RESTMappings(kind.GroupKind())
			if err != nil {
				return nil, err
			}
			return first(r).Resource, nil
		},
	} {
		t.Run(rule, func(t *testing.T) {
			server := &growingServer{}
			tr := InProcess(server)
			defer tr.Close()
			c, err := NewClients(Access{Transport: tr}.RESTConfig())
			if err != nil {
				t.Fatal(err)
			}
			if server.requests != 0 {
				t.Error("making the clients sends requests")
			}
			if got, err := lookup(c.Mapper); !meta.IsNoMatchError(err) {
				t.Errorf("before it is served: %v, %v", got, err)
			}
			server.served = true
			for range 2 {
				server.requests = 0
				got, err := lookup(c.Mapper)
				if err != nil || got != any(resource) && got != any(kind) {
					t.Errorf("when it is served: %v, %v", got, err)
				}
			}
			if server.requests != 0 {
				t.Errorf("%d requests for discovery that the client has read before", server.requests)
			}
			if got, err := c.Mapper.ResourceSingularizer("crontabs"); got != "crontab" || err != nil {
				t.Errorf("singular: %q, %v", got, err)
			}
		})
	}
}

func first[T any](items []T) (t T) {
	if len(items) > 0 {
		return items[0]
	}
	return t
}
