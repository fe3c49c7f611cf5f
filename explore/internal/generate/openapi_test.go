package generate

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Quantities, and what may be a number or a text, are changed as those of definitions. Of the metadata of a template the labels and the annotations are changed,
// and what is set.
func TestChangesByAPublishedSchema(t *testing.T) {
	const quantity = `{"oneOf": [{"type": "string"}, {"type": "number"}]}`
	published := &spec.Schema{}
	err := json.Unmarshal([]byte(`{"type": "object", "properties": {"spec": {"type": "object", "properties": {
		"requests": {"type": "object", "additionalProperties": `+quantity+`},
		"limits": {"type": "array", "items": `+quantity+`},
		"port": {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
		"template": {"type": "object", "properties": {"metadata": {"type": "object", "properties": {
			"name": {"type": "string"}, "uid": {"type": "string"}, "managedFields": {"type": "array", "items": {"type": "object"}},
			"labels": {"type": "object", "additionalProperties": {"type": "string"}}}}}}}}}}`), published)
	if err != nil {
		t.Fatal(err)
	}
	s, err := FromOpenAPI(published)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range Changes(s, map[string]any{"spec": map[string]any{
		"requests": map[string]any{"memory": "64Mi"}, "limits": []any{"1Gi"}, "port": "80%",
		"template": map[string]any{"metadata": map[string]any{"name": "data"}}}}) {
		text := Text(c.Steps)
		if strings.HasPrefix(text, "set") && !strings.Contains(text, "explore.example.com") {
			got = append(got, text)
		}
	}
	want := []string{
		`set /spec/limits/0 "2Gi"`,
		`set /spec/port 1`,
		`set /spec/port "25%"`,
		`set /spec/requests/memory "128Mi"`,
		`set /spec/template/metadata/labels {}`,
		`set /spec/template/metadata/name "data2"`,
	}
	for _, text := range want {
		if !slices.Contains(got, text) {
			t.Errorf("there is no change %s", text)
		}
	}
	got = slices.DeleteFunc(got, func(text string) bool { return !strings.Contains(text, "metadata") })
	if diff := cmp.Diff([]string{
		`set /spec/template/metadata/labels {}`,
		`set /spec/template/metadata/labels {"explored":"explored"}`,
		`set /spec/template/metadata/name "explored"`,
		`set /spec/template/metadata/name "explored-again"`,
		`set /spec/template/metadata/name "data2"`,
		`set /spec/template/metadata/name ""`,
	}, got); diff != "" {
		t.Errorf("changes of the metadata (-want +got):\n%s", diff)
	}
}
