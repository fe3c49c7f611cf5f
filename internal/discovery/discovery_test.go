package discovery

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// kind is a resource with served versions, of which the first is stored.
func kind(group, plural, name string, versions ...string) *resource.Resource {
	r := &resource.Resource{
		Group: group, Names: resource.Names{Plural: plural, Singular: strings.ToLower(name), Kind: name},
		Verbs: []string{"get", "list"}, Prefix: "/registry/" + plural + "/", Namespaced: true,
	}
	for _, v := range versions {
		r.Versions = append(r.Versions, &resource.Version{Resource: r, Name: v, Served: true})
	}
	r.Storage = r.Versions[0]
	return r
}

// registry returns a registry with a core kind, and three kinds of one group: one in two versions of which the
// older is not served, one whose definition is not established, and one that shows its
// status and itself as a Scale.
func registry() *resource.Registry {
	pods := kind("", "pods", "Pod", "v1")
	pods.BriefKinds = true
	widgets := kind("example.com", "widgets", "Widget", "v1", "v1alpha1")
	widgets.Versions[1].Served = false
	widgets.Storage, widgets.HidesStorageVersion = widgets.Versions[1], true
	hidden := kind("example.com", "ghosts", "Ghost", "v1")
	hidden.Unlisted = true
	scaled := kind("example.com", "racks", "Rack", "v1")
	scaled.Storage.Subresource = map[string]*resource.Subresource{
		"status": {Verbs: []string{"get", "update"}},
		"scale":  {Verbs: []string{"get"}, Kind: schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}},
	}
	pods.Storage.Subresource = map[string]*resource.Subresource{
		"status":   {Verbs: []string{"get"}},
		"eviction": {Verbs: []string{"create"}, Kind: schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: "Eviction"}},
	}
	return resource.NewRegistry(1, []*resource.Resource{pods, widgets, hidden, scaled}, nil)
}

// registered are the APIServices of the registry.
var registered = []*apiregistrationv1.APIService{apiService("", "v1", 18000, 1), apiService("example.com", "v1", 1000, 100)}

func apiService(group, version string, groupPriority, priority int32) *apiregistrationv1.APIService {
	a := &apiregistrationv1.APIService{Spec: apiregistrationv1.APIServiceSpec{
		Group: group, Version: version, GroupPriorityMinimum: groupPriority, VersionPriority: priority,
	}}
	a.Name = version + "." + group
	return a
}

// alone returns no aggregated versions.
func alone() []Foreign { return nil }

func TestDocumentsListServedResources(t *testing.T) {
	for path, want := range map[string]string{
		"api": `{"versions":["v1"],"serverAddressByClientCIDRs":null}`,
		"api/v1": `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[` +
			`{"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","verbs":["get","list"],"storageVersionHash":"xPOwRZ+Yhw8="},` +
			`{"name":"pods/eviction","singularName":"","namespaced":true,"group":"policy","version":"v1","kind":"Eviction","verbs":["create"]},` +
			`{"name":"pods/status","singularName":"","namespaced":true,"kind":"Pod","verbs":["get"]}]}`,
		"apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"example.com",` +
			`"versions":[{"groupVersion":"example.com/v1","version":"v1"}],"preferredVersion":{"groupVersion":"example.com/v1","version":"v1"}}]}`,
		"apis/example.com": `{"kind":"APIGroup","apiVersion":"v1","name":"example.com",` +
			`"versions":[{"groupVersion":"example.com/v1","version":"v1"}],"preferredVersion":{"groupVersion":"example.com/v1","version":"v1"}}`,
		// A hash is there only if the stored version is served.
		"apis/example.com/v1": `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"example.com/v1","resources":[` +
			`{"name":"racks","singularName":"rack","namespaced":true,"kind":"Rack","verbs":["get","list"],"storageVersionHash":"0X0nZW63zLs="},` +
			`{"name":"racks/scale","singularName":"","namespaced":true,"group":"autoscaling","version":"v1","kind":"Scale","verbs":["get"]},` +
			`{"name":"racks/status","singularName":"","namespaced":true,"kind":"Rack","verbs":["get","update"]},` +
			`{"name":"widgets","singularName":"widget","namespaced":true,"kind":"Widget","verbs":["get","list"]}]}`,
		"apis/example.com/v1alpha1": "null",
		"apis/example.com/v2":       "null",
		"apis/other.com":            "null",
		"apis/other.com/v1":         "null",
		"api/v2":                    "null",
	} {
		got, err := json.Marshal(Document(registry(), registered, strings.Split(path, "/")))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", path, diff)
		}
	}
}

func TestTheIndexHasThePathsOfGroupsThatAreServed(t *testing.T) {
	w := httptest.NewRecorder()
	ServeIndex(w, Paths(registry(), registered, "/version", "/healthz"))
	const want = `{"paths":["/api","/api/v1","/apis","/apis/","/apis/example.com","/apis/example.com/v1","/healthz","/version"]}`
	var compact any
	if err := json.Unmarshal(w.Body.Bytes(), &compact); err != nil {
		t.Fatal(err)
	}
	if got, _ := json.Marshal(compact); string(got) != want {
		t.Errorf("(-want +got)\n%s", cmp.Diff(want, string(got)))
	}
}

const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

func TestTheAggregatedDocumentIsNegotiated(t *testing.T) {
	for accept, want := range map[string]bool{
		aggregatedType:                       true,
		aggregatedType + ",application/json": true,
		"application/json," + aggregatedType: false,
		"application/json":                   false,
		"":                                   false,
		"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json": false,
	} {
		w, req := httptest.NewRecorder(), httptest.NewRequest("GET", "/apis", nil)
		req.Header.Set("Accept", accept)
		if got := ServeAggregated(w, req, registry(), alone); got != want {
			t.Errorf("Accept %q: %v", accept, got)
		}
		if got := w.Header().Get("Vary"); (got == "Accept") != want {
			t.Errorf("Accept %q: Vary is %q", accept, got)
		}
	}
	w := httptest.NewRecorder()
	if ServeAggregated(w, httptest.NewRequest("GET", "/apis/example.com", nil), registry(), alone) {
		t.Error("a group has an aggregated document")
	}
}

// A kind of the server's own leaves out the group and version of the document.
func TestTheAggregatedDocumentNamesKinds(t *testing.T) {
	ask := func(path, tag string) *httptest.ResponseRecorder {
		w, req := httptest.NewRecorder(), httptest.NewRequest("GET", path, nil)
		req.Header.Set("Accept", aggregatedType)
		if tag != "" {
			req.Header.Set("If-None-Match", tag)
		}
		if !ServeAggregated(w, req, registry(), alone) {
			t.Fatalf("%s has no aggregated document", path)
		}
		return w
	}
	core, apis := ask("/api", ""), ask("/apis", "")
	for _, c := range []struct{ body, path, want string }{
		{core.Body.String(), "items.#", "1"},
		{core.Body.String(), "items.0.versions.0.resources.0.responseKind", `{"group":"","version":"","kind":"Pod"}`},
		{core.Body.String(), "items.0.versions.0.resources.0.subresources.0.responseKind", `{"group":"policy","version":"v1","kind":"Eviction"}`},
		{core.Body.String(), "items.0.versions.0.resources.0.subresources.1.responseKind", `{"group":"","version":"","kind":"Pod"}`},
		{apis.Body.String(), "items.#.metadata.name", `["example.com"]`},
		{apis.Body.String(), "items.0.versions.#.version", `["v1"]`},
		{apis.Body.String(), "items.0.versions.0.resources.#.resource", `["racks","widgets"]`},
		{apis.Body.String(), "items.0.versions.0.resources.1.responseKind", `{"group":"example.com","version":"v1","kind":"Widget"}`},
		{apis.Body.String(), "items.0.versions.0.resources.0.scope", `"Namespaced"`},
	} {
		if got := gjson.Get(c.body, c.path).Raw; got != c.want {
			t.Errorf("%s is %s, want %s", c.path, got, c.want)
		}
	}
	if again := ask("/apis", apis.Header().Get("Etag")); again.Code != http.StatusNotModified {
		t.Errorf("the same document again: %d", again.Code)
	}
}
