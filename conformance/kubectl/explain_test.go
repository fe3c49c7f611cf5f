package kubectl

import (
	"bytes"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	openapiclient "k8s.io/client-go/openapi"
	explain "k8s.io/kubectl/pkg/explain/v2"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// kubectl can explain every built-in kind, with all of its fields.
func TestEveryBuiltInKindCanBeExplained(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	client := openapiclient.NewClient(c.Discovery().RESTClient())
	_, lists, err := c.Discovery().ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	explained := 0
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.APIResources {
			if strings.Contains(r.Name, "/") {
				continue
			}
			var out bytes.Buffer
			whole := r.Name != "customresourcedefinitions" // a schema has schemas in it, without end
			if err := explain.PrintModelDescription(nil, &out, client, gv.WithResource(r.Name), whole, 0, "plaintext"); err != nil {
				t.Errorf("%s %s: %v", gv, r.Name, err)
			}
			if !strings.Contains(out.String(), "KIND:       "+r.Kind+"\n") || !strings.Contains(out.String(), "FIELDS:\n") || !strings.Contains(out.String(), "\n  apiVersion\t<string>") {
				t.Errorf("%s %s is explained as\n%.400s", gv, r.Name, out.String())
			}
			explained++
		}
	}
	if explained < 60 {
		t.Errorf("only %d kinds have been explained", explained)
	}
}
