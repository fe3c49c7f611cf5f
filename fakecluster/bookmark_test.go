package fakecluster_test

import (
	"testing"
	"testing/synctest"

	"github.com/tidwall/gjson"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// A bookmark has a resourceVersion and no generation, in every form.
func TestABookmarkDoesNotHaveAGeneration(t *testing.T) {
	const one = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
	for form, metadataPath := range map[string]string{"application/json": "object.metadata", one: "object.metadata", "application/json;as=Table;v=v1;g=meta.k8s.io": "object.rows.0.object.metadata"} {
		for _, path := range []string{"/apis/example.com/v1/gadgets", "/apis/apps/v1/deployments"} {
			synctest.Test(t, func(t *testing.T) {
				c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithObjects(definitionIn("v1")))
				_, event := send(t, c, path+"?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1", "Accept", form)
				if kind := gjson.Get(event, "type").Str; kind != "BOOKMARK" {
					t.Fatalf("%s as %s: %s", path, form, event)
				}
				if metadata := gjson.Get(event, metadataPath); metadata.Get("generation").Exists() || !metadata.Get("resourceVersion").Exists() {
					t.Errorf("%s as %s: %s", path, form, metadata.Raw)
				}
			})
		}
	}
}
