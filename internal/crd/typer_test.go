package crd

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A JSON patch can take away the apiVersion or the kind, also through a subresource.
func TestKindsOfIncompleteObjects(t *testing.T) {
	for _, test := range []struct {
		object map[string]any
		want   string
	}{
		{map[string]any{"kind": "Widget", "apiVersion": "example.com/v1"}, ""},
		{map[string]any{"kind": "example.com/v1"}, "Object 'apiVersion' is missing in 'object has no apiVersion field'"},
		{map[string]any{"apiVersion": "example.com/v1"}, "Object 'Kind' is missing in 'object has no kind field '"},
	} {
		_, _, err := typer{}.ObjectKinds(&unstructured.Unstructured{Object: test.object})
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%v: %q, want %q", test.object, got, test.want)
		}
	}
}
