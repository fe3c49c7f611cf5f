package resource

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

func secretVersion() *Version {
	r := &Resource{Names: Names{Plural: "secrets", Kind: "Secret", ListKind: "SecretList"}, Namespaced: true,
		Verbs: []string{"create", "delete", "get", "list", "patch", "update"}}
	v := &Version{Resource: r, Name: "v1"}
	v.OpenAPI = TypedOpenAPI(v, &corev1.Secret{})
	return v
}

// jsonOf returns a value as JSON with sorted keys.
func jsonOf(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestSchemasOfGoTypes(t *testing.T) {
	v2, err := secretVersion().OpenAPI.V2()
	if err != nil {
		t.Fatal(err)
	}
	v3, err := secretVersion().OpenAPI.V3()
	if err != nil {
		t.Fatal(err)
	}
	const secret = "io.k8s.api.core.v1.Secret"
	plain := func(s spec.Schema) string {
		s.Description = ""
		return jsonOf(t, s)
	}
	for _, c := range []struct{ name, property, v2, v3 string }{
		{"bytes are a string in base64", "data", `{"type":"object","additionalProperties":{"type":"string","format":"byte"}}`,
			`{"type":"object","additionalProperties":{"type":"string","format":"byte"}}`},
		{"a map", "stringData", `{"type":"object","additionalProperties":{"type":"string"}}`, `{"type":"object","additionalProperties":{"type":"string"}}`},
		{"a pointer has the schema of what it points to", "immutable", `{"type":"boolean"}`, `{"type":"boolean"}`},
		{"a struct is referred to, in v3 within an allOf", "metadata", `{"$ref":"#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}`,
			`{"allOf":[{"$ref":"#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}]}`},
		{"an embedded struct's fields are those of the kind", "apiVersion", `{"type":"string"}`, `{"type":"string"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := plain(v2.Definitions[secret].Properties[c.property]); got != c.v2 {
				t.Errorf("in v2 %s, want %s", got, c.v2)
			}
			if got := plain(v3.Components.Schemas[secret].Properties[c.property]); got != c.v3 {
				t.Errorf("in v3 %s, want %s", got, c.v3)
			}
		})
	}
	if got, want := v2.Definitions[secret].Properties["data"].Description, (corev1.Secret{}).SwaggerDoc()["data"]; got != want {
		t.Errorf("the text of data is %q, want %q", got, want)
	}
	const list = `{"type":"object","required":["items"],"properties":{"apiVersion":{"type":"string"},` +
		`"items":{"type":"array","items":{"$ref":"#/components/schemas/io.k8s.api.core.v1.Secret"}},"kind":{"type":"string"}},` +
		`"x-kubernetes-group-version-kind":[{"group":"","kind":"SecretList","version":"v1"}]}`
	var want, got any
	if err := json.Unmarshal([]byte(list), &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(jsonOf(t, v3.Components.Schemas[secret+"List"])), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the list's schema (-want +got):\n%s", diff)
	}
}

func TestPathsAndOperationsAreTheSameInBothDocuments(t *testing.T) {
	v := secretVersion()
	v2, err := v.OpenAPI.V2()
	if err != nil {
		t.Fatal(err)
	}
	v3, err := v.OpenAPI.V3()
	if err != nil {
		t.Fatal(err)
	}
	type operation struct {
		ID, Action, Schema string
		Query              int
	}
	const root, secret = "/api/v1/namespaces/{namespace}/secrets", "io.k8s.api.core.v1.Secret"
	want := map[string]operation{
		"GET " + root:                {"listv1Secret", "list", secret + "List", 11},
		"POST " + root:               {"postv1Secret", "post", secret, 4},
		"GET " + root + "/{name}":    {"getv1Secret", "get", secret, 1},
		"PUT " + root + "/{name}":    {"putv1Secret", "put", secret, 4},
		"PATCH " + root + "/{name}":  {"patchv1Secret", "patch", secret, 5},
		"DELETE " + root + "/{name}": {"deletev1Secret", "delete", "io.k8s.apimachinery.pkg.apis.meta.v1.Status", 5},
		"GET /api/v1/secrets":        {"listv1SecretForAllNamespaces", "list", secret + "List", 11},
	}
	got2, got3 := map[string]operation{}, map[string]operation{}
	for path, item := range v2.Paths.Paths {
		for method, o := range map[string]*spec.Operation{"GET": item.Get, "POST": item.Post, "PUT": item.Put, "PATCH": item.Patch, "DELETE": item.Delete} {
			if o != nil {
				action, _ := o.Extensions.GetString("x-kubernetes-action")
				schema := o.Responses.StatusCodeResponses[200].Schema.Ref.String()
				got2[method+" "+path] = operation{o.ID, action, schema[len("#/definitions/"):], len(o.Parameters)}
			}
		}
	}
	for path, item := range v3.Paths.Paths {
		for method, o := range map[string]any{"GET": item.Get, "POST": item.Post, "PUT": item.Put, "PATCH": item.Patch, "DELETE": item.Delete} {
			var read struct {
				OperationID string `json:"operationId"`
				Action      string `json:"x-kubernetes-action"`
				Parameters  []struct{ Name string }
				Responses   map[string]struct {
					Content map[string]struct {
						Schema struct {
							Ref string `json:"$ref"`
						}
					}
				}
			}
			if err := json.Unmarshal([]byte(jsonOf(t, o)), &read); err != nil {
				t.Fatal(err)
			}
			if read.OperationID != "" {
				schema := read.Responses["200"].Content["application/json"].Schema.Ref
				got3[method+" "+path] = operation{read.OperationID, read.Action, schema[len("#/components/schemas/"):], len(read.Parameters)}
			}
		}
	}
	if diff := cmp.Diff(want, got2); diff != "" {
		t.Errorf("v2 (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, got3); diff != "" {
		t.Errorf("v3 (-want +got):\n%s", diff)
	}
}
