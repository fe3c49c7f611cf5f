package openapi

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// described is a resource of a group with one version, whose documents have a schema of its
// name. Built counts how often they are built.
func described(group, plural string, built *int) *resource.Resource {
	r := &resource.Resource{Group: group, Names: resource.Names{Plural: plural, Kind: plural}}
	r.Storage = &resource.Version{Resource: r, Name: "v1", Served: true, OpenAPI: &resource.OpenAPI{
		V3: func() (*spec3.OpenAPI, error) {
			*built++
			return &spec3.OpenAPI{
				Components: &spec3.Components{Schemas: map[string]*spec.Schema{plural: {}}},
				Paths:      &spec3.Paths{Paths: map[string]*spec3.Path{"/" + plural: {}}},
			}, nil
		},
		V2: func() (*spec.Swagger, error) {
			*built++
			return &spec.Swagger{SwaggerProps: spec.SwaggerProps{
				Definitions: spec.Definitions{plural: {}}, Paths: &spec.Paths{Paths: map[string]spec.PathItem{"/" + plural: {}}},
			}}, nil
		},
	}}
	r.Versions = []*resource.Version{r.Storage}
	return r
}

func get(d *Documents, path string, header http.Header) *httptest.ResponseRecorder {
	w, req := httptest.NewRecorder(), httptest.NewRequest("GET", path, nil)
	for name, values := range header {
		req.Header[name] = values
	}
	d.ServeHTTP(w, req)
	return w
}

// keys are the names of the fields at a path, sorted.
func keys(body, path string) []string {
	var names []string
	for name := range gjson.Get(body, path).Map() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func TestADocumentIsBuiltOnceAtTheFirstRequest(t *testing.T) {
	built := 0
	d := New(resource.NewRegistry(1, []*resource.Resource{described("a.com", "ants", &built), described("a.com", "apes", &built)}, nil), nil, nil)
	if built != 0 {
		t.Fatalf("%d are built before anybody asks", built)
	}
	for range 2 {
		w := get(d, "/openapi/v3/apis/a.com/v1", nil)
		if got := keys(w.Body.String(), "components.schemas"); w.Code != http.StatusOK || !slices.Equal(got, []string{"ants", "apes"}) {
			t.Errorf("%d with the schemas %v", w.Code, got)
		}
		if got := keys(w.Body.String(), "paths"); !slices.Equal(got, []string{"/ants", "/apes"}) {
			t.Errorf("paths %v", got)
		}
	}
	if built != 2 {
		t.Errorf("built %d times for two resources", built)
	}
}

func TestADocumentThatHasNotChangedIsUsedAgain(t *testing.T) {
	built := 0
	ants, bees := described("a.com", "ants", &built), described("b.com", "bees", &built)
	before := New(resource.NewRegistry(1, []*resource.Resource{ants, bees}, nil), nil, nil)
	get(before, "/openapi/v3/apis/a.com/v1", nil)
	get(before, "/openapi/v3/apis/b.com/v1", nil)
	changed := described("b.com", "bees", &built)
	c := resource.NewRegistry(2, []*resource.Resource{ants, changed}, nil)
	after := New(c, before, nil)
	if !after.IsFor(c) || before.IsFor(c) {
		t.Error("the documents do not know their registry")
	}
	get(after, "/openapi/v3/apis/a.com/v1", nil)
	if built != 2 {
		t.Errorf("the document of a group that is as it was is built again")
	}
	get(after, "/openapi/v3/apis/b.com/v1", nil)
	if built != 3 {
		t.Errorf("built %d times, want 3", built)
	}
}

func TestTheIndexNamesEachDocumentWithItsHash(t *testing.T) {
	built := 0
	hidden := described("a.com", "cats", &built)
	hidden.Unlisted = true
	unserved := described("d.com", "dogs", &built)
	unserved.Storage.Served = false
	d := New(resource.NewRegistry(1, []*resource.Resource{described("", "pods", &built), described("a.com", "ants", &built), hidden, unserved}, nil), nil, nil)
	w := get(d, "/openapi/v3", nil)
	if got := w.Header().Get("Content-Type"); got != "text/plain; charset=utf-8" {
		t.Errorf("it is %s", got)
	}
	paths := gjson.Get(w.Body.String(), "paths").Map()
	for _, path := range []string{"api/v1", "apis/a.com/v1"} {
		url := paths[path].Get("serverRelativeURL").Str
		document := get(d, url, nil)
		if document.Code != http.StatusOK {
			t.Errorf("%s is at %q: %d", path, url, document.Code)
		}
		tag := strings.Trim(document.Header().Get("Etag"), `"`)
		if want := "/openapi/v3/" + path + "?hash=" + tag; url != want || tag == "" {
			t.Errorf("%s is at %q, want %q", path, url, want)
		}
	}
	if _, ok := paths["apis/d.com/v1"]; ok {
		t.Error("a version that is not served is in the index")
	}
	if got := keys(get(d, "/openapi/v3/apis/a.com/v1", nil).Body.String(), "components.schemas"); !slices.Equal(got, []string{"ants"}) {
		t.Errorf("the document of a group has %v: a definition that is not established is not in it", got)
	}
	if tag := w.Header().Get("Etag"); tag != "" {
		t.Errorf("the index has the ETag %s; a real server sends none", tag)
	}
}

// Clients like kubectl keep the index, and send If-Modified-Since. The header
// counts in seconds: what came within the same one must be seen.
func TestTheIndexIgnoresIfModifiedSince(t *testing.T) {
	built := 0
	ants := described("a.com", "ants", &built)
	had := get(New(resource.NewRegistry(1, []*resource.Resource{ants}, nil), nil, nil), "/openapi/v3", nil)
	after := New(resource.NewRegistry(2, []*resource.Resource{ants, described("b.com", "bees", &built)}, nil), nil, nil)
	for _, since := range []string{had.Header().Get("Last-Modified"), time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)} {
		w := get(after, "/openapi/v3", http.Header{"If-Modified-Since": {since}})
		if got := keys(w.Body.String(), "paths"); w.Code != http.StatusOK || !slices.Equal(got, []string{"apis/a.com/v1", "apis/b.com/v1"}) {
			t.Errorf("if modified since %s: %d, %v", since, w.Code, got)
		}
	}
}

func TestVersion2IsOneDocument(t *testing.T) {
	built := 0
	d := New(resource.NewRegistry(1, []*resource.Resource{described("", "pods", &built), described("a.com", "ants", &built)}, nil), nil, nil)
	w := get(d, "/openapi/v2", nil)
	for _, name := range []string{"pods", "ants"} {
		if !gjson.Get(w.Body.String(), "definitions."+name).Exists() {
			t.Errorf("%s is not in %v", name, keys(w.Body.String(), "definitions"))
		}
	}
}

func TestUnknownPathsAreNotFound(t *testing.T) {
	built := 0
	broken := described("a.com", "ants", &built)
	broken.Storage.OpenAPI.V3 = func() (*spec3.OpenAPI, error) { return nil, errors.New("no types") }
	d := New(resource.NewRegistry(1, []*resource.Resource{broken}, nil), nil, nil)
	for path, want := range map[string]int{
		"/openapi/v3/apis/a.com/v2": http.StatusNotFound,
		"/openapi/v3/":              http.StatusNotFound,
		"/openapi/v4":               http.StatusNotFound,
		"/openapi/v3":               http.StatusInternalServerError,
	} {
		if got := get(d, path, nil).Code; got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
}
