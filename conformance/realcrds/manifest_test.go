package realcrds

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

const complete = `
kind: CustomResourceDefinition
metadata: {name: a.g}
spec: {group: g, versions: [{name: v1}]}
`

func TestInFolder(t *testing.T) {
	file := func(content string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(content)} }
	found, err := inFolder(fstest.MapFS{
		"deploy/crd.yaml":              file("---\n" + complete + "---\nkind: Service\n---" + complete),
		"deploy/crd.json":              file(`{"kind": "CustomResourceDefinition", "spec": {"versions": []}}`),
		"deploy/README.md":             file(complete),
		"deploy/list-of-patches.yaml":  file("- {op: add, path: /kind, value: CustomResourceDefinition}"),
		"patches/webhook.yaml":         file("kind: CustomResourceDefinition\nspec: {conversion: {strategy: Webhook}}"),
		"chart/templates/crd.yaml":     file("{{ if CustomResourceDefinition }}"),
		"pkg/test/crd.yaml":            file(complete),
		"pkg/testdata/crd.yaml":        file(complete),
		"_shared/crd.yaml":             file(complete),
		".github/crd.yaml":             file(complete),
		"docs/about-testing/crds.yaml": file(complete),
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range found {
		got = append(got, m.file)
	}
	want := []string{"deploy/crd.json", "deploy/crd.yaml", "deploy/crd.yaml", "docs/about-testing/crds.yaml"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
