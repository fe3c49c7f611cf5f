package fakecluster_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	openapiclient "k8s.io/client-go/openapi"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// Every verb of every built-in resource and subresource has its path in OpenAPI v3.
func TestEveryBuiltInVerbHasAPathInOpenAPI(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	client := openapiclient.NewClient(c.Discovery().RESTClient())
	paths, err := client.Paths()
	if err != nil {
		t.Fatal(err)
	}
	_, lists, err := c.Discovery().ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	verbs, missing := 0, []string{}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		root := "apis/" + list.GroupVersion
		if gv.Group == "" {
			root = "api/" + gv.Version
		}
		if paths[root] == nil {
			t.Errorf("%s has no document", root)
			continue
		}
		text, err := paths[root].Schema("application/json")
		if err != nil {
			t.Fatal(err)
		}
		var document struct {
			Paths map[string]map[string]json.RawMessage `json:"paths"`
		}
		if err := json.Unmarshal(text, &document); err != nil {
			t.Fatal(err)
		}
		for _, r := range list.APIResources {
			name, subresource, isSub := strings.Cut(r.Name, "/")
			path := "/" + root + "/"
			if r.Namespaced {
				path += "namespaces/{namespace}/"
			}
			collection, object := path+name, path+name+"/{name}"
			if isSub {
				object += "/" + subresource
				collection = object
			}
			for _, verb := range r.Verbs {
				path, method := object, map[string]string{"create": "post", "update": "put", "list": "get", "deletecollection": "delete"}[verb]
				switch verb {
				case "create", "list", "deletecollection":
					path = collection
				case "watch":
					continue // a list with a parameter
				}
				if method == "" {
					method = verb
				}
				verbs++
				if document.Paths[path][method] == nil {
					missing = append(missing, method+" "+path)
				}
			}
		}
	}
	slices.Sort(missing)
	if len(missing) > 0 {
		t.Errorf("OpenAPI v3 has no\n%s", strings.Join(missing, "\n"))
	}
	if verbs < 500 {
		t.Errorf("only %d verbs have been looked up", verbs)
	}
}

// A real server merges its document of OpenAPI v2 of those that it has read from its parts, so that
// the keys of some extensions are in alphabetical order. They are not for its own kinds.
func TestTheOrderOfKeysInOpenAPIV2(t *testing.T) {
	c := defined(t, fakecluster.InProcess())
	_, text := answerTo(t, c.RESTConfig(), "/openapi/v2", "application/json")
	for _, want := range []string{
		`"x-kubernetes-group-version-kind":{"group":"","kind":"ConfigMap","version":"v1"}`,
		`"x-kubernetes-group-version-kind":{"group":"stable.example.com","kind":"CronTab","version":"v1"}`,
		`"x-kubernetes-group-version-kind":{"group":"apiregistration.k8s.io","version":"v1","kind":"APIService"}`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in the document", want)
		}
	}
}
