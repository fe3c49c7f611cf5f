package builtin_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/fakecluster/fakecluster/internal/builtin"
	"github.com/fakecluster/fakecluster/internal/crd"
	"github.com/fakecluster/fakecluster/internal/discovery"
	"github.com/fakecluster/fakecluster/internal/resource"
)

func registry(o builtin.Options) *resource.Registry {
	return resource.NewRegistry(1, builtin.Resources(o, crd.Definitions(o.LegacyAPIs)), nil)
}

// recorded is what a real server answered.
func recorded(t *testing.T, name string) *apidiscoveryv2.APIGroupDiscoveryList {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	list := &apidiscoveryv2.APIGroupDiscoveryList{}
	if err := json.Unmarshal(text, list); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestAggregatedDiscoveryIsThatOfARealServer(t *testing.T) {
	everything, err := builtin.ParseRuntimeConfig("api/all=true")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		path    string
		options builtin.Options
	}{
		"discovery-api.json":      {"/api", builtin.Options{}},
		"discovery-apis.json":     {"/apis", builtin.Options{}},
		"discovery-apis-all.json": {"/apis", builtin.Options{RuntimeConfig: everything}},
	} {
		c := registry(test.options)
		req := httptest.NewRequest(http.MethodGet, test.path, nil)
		req.Header.Set("Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
		w := httptest.NewRecorder()
		if !discovery.ServeAggregated(w, req, c, func() []discovery.Foreign { return nil }) {
			t.Fatalf("%s: not aggregated", name)
		}
		got := &apidiscoveryv2.APIGroupDiscoveryList{}
		if err := json.Unmarshal(w.Body.Bytes(), got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(recorded(t, name), got); diff != "" {
			t.Errorf("%s (-real +got):\n%s", name, diff)
		}
	}
}

// TestPlainDiscoverySaysTheSame holds the documents of each group and version to the
// aggregated one.
func TestPlainDiscoverySaysTheSame(t *testing.T) {
	c := registry(builtin.Options{})
	var groups []metav1.APIGroup
	for _, name := range []string{"discovery-api.json", "discovery-apis.json"} {
		for _, g := range recorded(t, name).Items {
			group := metav1.APIGroup{Name: g.Name}
			for _, v := range g.Versions {
				gv := metav1.GroupVersionForDiscovery{GroupVersion: strings.TrimPrefix(g.Name+"/"+v.Version, "/"), Version: v.Version}
				group.Versions = append(group.Versions, gv)
				compareResources(t, c, gv.GroupVersion, v.Resources)
			}
			group.PreferredVersion = group.Versions[0]
			if g.Name != "" {
				groups = append(groups, group)
			}
		}
	}
	list := discovery.Document(c, registered(t), []string{"apis"}).(*metav1.APIGroupList)
	if diff := cmp.Diff(groups, list.Groups); diff != "" {
		t.Errorf("groups (-real +got):\n%s", diff)
	}
}

// registered are the APIServices that a cluster begins with.
func registered(t *testing.T) []*apiregistrationv1.APIService {
	t.Helper()
	var services []*apiregistrationv1.APIService
	for _, r := range builtin.InitialRecords(builtin.Options{}, time.Now(), func() string { return "" }, 1) {
		if strings.HasPrefix(r.Key, "/registry/apiservices/") {
			a := &apiregistrationv1.APIService{}
			if err := json.Unmarshal([]byte(r.Value), a); err != nil {
				t.Fatal(err)
			}
			services = append(services, a)
		}
	}
	return services
}

// compareResources compares the list of a version with what the aggregated document
// says of it.
func compareResources(t *testing.T, c *resource.Registry, groupVersion string, real []apidiscoveryv2.APIResourceDiscovery) {
	t.Helper()
	var want []metav1.APIResource
	for _, r := range real {
		namespaced := r.Scope == apidiscoveryv2.ScopeNamespace
		want = append(want, metav1.APIResource{
			Name: r.Resource, SingularName: r.SingularResource, Namespaced: namespaced,
			Kind: r.ResponseKind.Kind, Verbs: r.Verbs, ShortNames: r.ShortNames, Categories: r.Categories,
		})
		for _, s := range r.Subresources {
			want = append(want, metav1.APIResource{
				Name: r.Resource + "/" + s.Subresource, Namespaced: namespaced,
				Group: s.ResponseKind.Group, Version: s.ResponseKind.Version, Kind: s.ResponseKind.Kind, Verbs: s.Verbs,
			})
		}
	}
	parts := append([]string{"apis"}, strings.Split(groupVersion, "/")...)
	if groupVersion == "v1" {
		parts = []string{"api", "v1"}
	}
	list, ok := discovery.Document(c, nil, parts).(*metav1.APIResourceList)
	if !ok {
		t.Errorf("%s: there is no document", groupVersion)
		return
	}
	got := list.APIResources
	for i := range got {
		if stored := len(got[i].Verbs) > 1 && !strings.Contains(got[i].Name, "/") && got[i].Name != "componentstatuses"; stored != (got[i].StorageVersionHash != "") {
			t.Errorf("%s %s: storageVersionHash %q", groupVersion, got[i].Name, got[i].StorageVersionHash)
		}
		got[i].StorageVersionHash = ""
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-real +got):\n%s", groupVersion, diff)
	}
}
