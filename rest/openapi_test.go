package rest_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fakecluster/fakecluster/internal/openapi"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// described is a resource in v1 that counts how often it is looked at.
func described(group string, looks *int) *resource.Resource {
	r := &resource.Resource{Group: group}
	r.Names.Plural, r.Names.Kind = "things", "Thing"
	r.Versions = []*resource.Version{{Resource: r, Name: "v1", Served: true, OpenAPI: &resource.OpenAPI{
		V3: func() (*spec3.OpenAPI, error) {
			*looks++
			return &spec3.OpenAPI{}, nil
		},
		V2: func() (*spec.Swagger, error) { return &spec.Swagger{}, nil },
	}}}
	return r
}

func getDocument(t *testing.T, h http.Handler, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	req := httptest.NewRequest(http.MethodGet, path, nil)
	req.Header.Set("Authorization", "Bearer "+token)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w
}

// A change of one group does not rebuild the document of another group. A document that
// no client asks for is never built.
func TestOpenAPIIsBuiltPerGroupVersionWhenItChanges(t *testing.T) {
	var first, second, changed int
	a, b := described("a.example.com", &first), described("b.example.com", &second)
	before := openapi.New(resource.NewRegistry(1, []*resource.Resource{a, b}, nil), nil, nil)
	if first+second != 0 {
		t.Fatal("documents are built before they are requested")
	}
	index := func(d *openapi.Documents) map[string]map[string]string {
		var index struct{ Paths map[string]map[string]string }
		if err := json.Unmarshal(getDocument(t, d, "/openapi/v3").Body.Bytes(), &index); err != nil {
			t.Fatal(err)
		}
		return index.Paths
	}
	was := index(before)
	after := openapi.New(resource.NewRegistry(2, []*resource.Resource{a, described("b.example.com", &changed)}, nil), before, nil)
	is := index(after)
	if first != 1 || second != 1 || changed != 1 {
		t.Errorf("looked %d, %d, %d times at the resources, want once at each", first, second, changed)
	}
	if path := "apis/a.example.com/v1"; len(is) != 2 || is[path]["serverRelativeURL"] == "" || is[path]["serverRelativeURL"] != was[path]["serverRelativeURL"] {
		t.Errorf("index %v after %v", is, was)
	}
	gone := openapi.New(resource.NewRegistry(3, []*resource.Resource{a}, nil), after, nil)
	if w := getDocument(t, gone, "/openapi/v3/apis/b.example.com/v1"); w.Code != http.StatusNotFound {
		t.Errorf("the document of a group that is gone: %d", w.Code)
	}
}

// The documents describe what is exchanged beside objects: clients look for the kinds of
// Status and DeleteOptions there.
func TestOpenAPIDescribesWhatIsExchanged(t *testing.T) {
	d := startInProcess(t).server
	for _, test := range []struct {
		document, definition, want string
	}{
		{"/openapi/v3/version", "paths./version/.get.operationId", `"getCodeVersion"`},
		{"/openapi/v3/version", "info", `{"title":"Kubernetes","version":"1.37"}`},
		{"/openapi/v3/apis/apps", "paths./apis/apps/.get.operationId", `"getAppsAPIGroup"`},
		{"/openapi/v3/api", "paths./api/.get.operationId", `"getCoreAPIVersions"`},
		{"/openapi/v3/openid/v1/jwks", "paths./openid/v1/jwks/.get.operationId", `"getServiceAccountIssuerOpenIDKeyset"`},
		{"/openapi/v3/apis/apps/v1", "paths./apis/apps/v1/namespaces/{namespace}/deployments.post.operationId", `"createAppsV1NamespacedDeployment"`},
		{"/openapi/v3/api/v1", "paths./api/v1/namespaces/{namespace}/pods/{name}/exec.get.operationId", `"connectCoreV1GetNamespacedPodExec"`},
		{"/openapi/v3/apis/apps/v1", `components.schemas.io\.k8s\.apimachinery\.pkg\.apis\.meta\.v1\.DeleteOptions.x-kubernetes-group-version-kind.#`, `2`},
		{"/openapi/v2", "securityDefinitions.BearerToken.in", `"header"`},
		{"/openapi/v2", `definitions.io\.k8s\.api\.apps\.v1\.Deployment.properties.spec`, `{"description":"Specification of the desired behavior of the Deployment.","$ref":"#/definitions/io.k8s.api.apps.v1.DeploymentSpec"}`},
		{"/openapi/v3/version", `components.schemas.io\.k8s\.apimachinery\.pkg\.version\.Info.properties.gitVersion.type`, `"string"`},
		{"/openapi/v2", `paths./version/.get.responses.200.schema.$ref`, `"#/definitions/io.k8s.apimachinery.pkg.version.Info"`},
		{"/openapi/v3/api/v1", `components.schemas.io\.k8s\.apimachinery\.pkg\.apis\.meta\.v1\.Status.x-kubernetes-group-version-kind.0`, `{"group":"","kind":"Status","version":"v1"}`},
		{"/openapi/v3/api/v1", `components.schemas.io\.k8s\.apimachinery\.pkg\.apis\.meta\.v1\.APIResourceList.x-kubernetes-group-version-kind.0`, `{"group":"","kind":"APIResourceList","version":"v1"}`},
		{"/openapi/v3/apis/authentication.k8s.io/v1", `components.schemas.io\.k8s\.apimachinery\.pkg\.apis\.meta\.v1\.Status`, ``},
	} {
		w := getDocument(t, d, test.document)
		expect(t, test.document+": code", w.Code, http.StatusOK)
		expect(t, test.document+": "+test.definition, gjson.Get(w.Body.String(), test.definition).Raw, test.want)
	}
}

// What the documents of OpenAPI are answered with, in each of their forms.
func TestOpenAPIForms(t *testing.T) {
	d := startInProcess(t).server
	gv := schema.GroupVersion{Group: "apiextensions.k8s.io", Version: "v1"}
	document := "/openapi/v3/apis/" + gv.String()
	for _, test := range []struct {
		path, accept string
		code         int
		contentType  string
	}{
		{"/openapi/v3", "application/json", 200, "text/plain; charset=utf-8"},
		{document, "", 200, "application/json"},
		{document, "application/com.github.proto-openapi.spec.v3@v1.0+protobuf", 200, "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"},
		{document, "application/com.github.proto-openapi.spec.v3.v1.0+protobuf", 200, "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"},
		{document, "text/html", 406, ""},
		{"/openapi/v2", "", 200, "application/json"},
		{"/openapi/v2", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf", 200, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"},
		{"/openapi/v2", "text/html", 406, ""},
		{"/openapi/v3/", "", 404, ""},
		{"/openapi/v3/apis/absent.example.com/v1", "", 404, ""},
		{"/openapi", "", 404, "text/plain; charset=utf-8"},
	} {
		w := getDocument(t, d, test.path, "Accept", test.accept)
		if got := w.Header().Get("Content-Type"); w.Code != test.code || got != test.contentType {
			t.Errorf("%s as %q: %d %s, want %d %s", test.path, test.accept, w.Code, got, test.code, test.contentType)
		}
		if w.Code != 200 {
			continue
		}
		tag := w.Header().Get("Etag")
		if test.path == "/openapi/v3" { // a real server says when it has made the index: now
			if tag != "" || w.Header().Get("Last-Modified") == "" {
				t.Errorf("%s has the ETag %q and was modified at %q", test.path, tag, w.Header().Get("Last-Modified"))
			}
			continue
		}
		if again := getDocument(t, d, test.path, "Accept", test.accept, "If-None-Match", tag); tag == "" || again.Code != http.StatusNotModified || again.Body.Len() != 0 {
			t.Errorf("%s as %q, unless it is %s: %d, %d bytes, want 304 and none", test.path, test.accept, tag, again.Code, again.Body.Len())
		}
	}
	hash := strings.Trim(getDocument(t, d, document).Header().Get("Etag"), `"`)
	if w := getDocument(t, d, document+"?hash="+hash); w.Code != 200 || w.Header().Get("Cache-Control") != "public, immutable" {
		t.Errorf("by its hash: %d %s", w.Code, w.Header().Get("Cache-Control"))
	}
	if w := getDocument(t, d, document+"?hash=OLD"); w.Code != http.StatusMovedPermanently || w.Header().Get("Location") != document+"?hash="+hash {
		t.Errorf("by an old hash: %d %s", w.Code, w.Header().Get("Location"))
	}
	if index := getDocument(t, d, "/openapi/v3").Body.String(); !strings.Contains(index, `"apis/`+gv.String()+`":{"serverRelativeURL":"`+document+"?hash="+hash+`"}`) {
		t.Errorf("the index does not have the hash %s: %s", hash, index)
	}
}

// A definition whose group becomes the name of one of Kubernetes' own packages has a type of the
// same name as a built-in one. The built-in one keeps it.
func TestOpenAPIRenamesWhatOverlaps(t *testing.T) {
	c := start(t)
	const group, name = "apiextensions.apis.pkg.apiextensions-apiserver.k8s.io", "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition"
	before := c.must("GET", "/openapi/v2", "")
	c.must("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", `{"metadata":{"name":"customresourcedefinitions.`+group+`",
		"annotations":{"api-approved.kubernetes.io":"unapproved, test-only"}},
		"spec":{"group":"`+group+`","scope":"Cluster","names":{"plural":"customresourcedefinitions","singular":"customresourcedefinition","kind":"CustomResourceDefinition"},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"probe":{"type":"boolean"}}}}}]}}`)
	after := c.must("GET", "/openapi/v2", "")
	definition := func(document, name string) string {
		return gjson.Get(document, "definitions."+strings.ReplaceAll(name, ".", `\.`)).Raw
	}
	if definition(after, name) != definition(before, name) {
		t.Errorf("the built-in type has changed: %s", definition(after, name))
	}
	if got := gjson.Get(definition(after, name+"_v2"), "properties.probe.type").String(); got != "boolean" {
		t.Errorf("the custom type under another name: %s", definition(after, name+"_v2"))
	}
	path := gjson.Get(after, `paths./apis/`+strings.ReplaceAll(group, ".", `\.`)+`/v1/customresourcedefinitions.post.parameters.0.schema.$ref`).String()
	if path != "#/definitions/"+name+"_v2" {
		t.Errorf("its create refers to %s", path)
	}
}
