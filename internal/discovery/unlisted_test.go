package discovery

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// The lists of groups follow from APIServices, which a definition has whether it is
// established or not. What is served there, and the aggregated document, follow from those
// that are established.
func TestDefinitionsThatAreNotEstablished(t *testing.T) {
	shown := kind("example.com", "widgets", "Widget", "v1")
	unlisted := func(r *resource.Resource) *resource.Resource {
		r.Unlisted = true
		return r
	}
	c := resource.NewRegistry(1, []*resource.Resource{
		shown, unlisted(kind("example.com", "ghosts", "Ghost", "v2")), unlisted(kind("ghosts.com", "ghosts", "Ghost", "v1")),
	}, nil)
	const example = `"name":"example.com","versions":[{"groupVersion":"example.com/v2","version":"v2"},{"groupVersion":"example.com/v1","version":"v1"}],` +
		`"preferredVersion":{"groupVersion":"example.com/v2","version":"v2"}`
	const ghosts = `"name":"ghosts.com","versions":[{"groupVersion":"ghosts.com/v1","version":"v1"}],"preferredVersion":{"groupVersion":"ghosts.com/v1","version":"v1"}`
	services := []*apiregistrationv1.APIService{
		apiService("example.com", "v1", 1000, 100), apiService("example.com", "v2", 1000, 100), apiService("ghosts.com", "v1", 1000, 100),
	}
	for path, want := range map[string]string{
		"apis":                `{"kind":"APIGroupList","apiVersion":"v1","groups":[{` + example + `},{` + ghosts + `}]}`,
		"apis/example.com":    `{"kind":"APIGroup","apiVersion":"v1",` + example + `}`,
		"apis/ghosts.com":     `{"kind":"APIGroup","apiVersion":"v1",` + ghosts + `}`,
		"apis/example.com/v2": "null",
		"apis/ghosts.com/v1":  "null",
	} {
		got, err := json.Marshal(Document(c, services, strings.Split(path, "/")))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", path, diff)
		}
	}
	var aggregated []string
	for _, g := range aggregate(c, false).Items {
		for _, v := range g.Versions {
			for _, r := range v.Resources {
				aggregated = append(aggregated, g.Name+"/"+v.Version+" "+r.Resource)
			}
			if len(v.Resources) == 0 {
				aggregated = append(aggregated, g.Name+"/"+v.Version)
			}
		}
	}
	if diff := cmp.Diff([]string{"example.com/v1 widgets"}, aggregated); diff != "" {
		t.Errorf("the aggregated document (-want +got)\n%s", diff)
	}
}
