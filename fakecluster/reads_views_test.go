package fakecluster_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/testing/consistency"
	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

// The server makes a list as a Table, of partial metadata or in another version from the stored
// bytes, where that has the same result as decoding and encoding. A get always decodes and encodes.
// So each item of a list has to be the same as the answer to a get.
func TestListedViewsAreThoseOfTheObjects(t *testing.T) {
	seed := seedtest.Seed(t)
	// In a bubble time stands still between sleeps, so the ages in Tables do not change.
	synctest.Test(t, func(t *testing.T) { listedViewsAreThoseOfTheObjects(t, seedtest.Source(seed, 0)) })
}

func listedViewsAreThoseOfTheObjects(t *testing.T, random *rand.Rand) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	crd := consistency.Definition()
	preserve := true
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema.XPreserveUnknownFields = &preserve
	columns := crd.Spec.Versions[0].AdditionalPrinterColumns
	for _, column := range []struct{ kind, path string }{
		{"string", ".spec.any"}, {"integer", ".spec.any"}, {"number", ".spec.any"}, {"boolean", ".spec.any"}, {"date", ".spec.any"},
		{"string", ".spec"}, {"date", ".metadata.creationTimestamp"}, {"date", ".metadata.deletionTimestamp"}, {"string", ".spec.any.a"},
		{"string", ".metadata.labels"}, {"string", ".metadata.managedFields"}, {"string", ".a"},
	} {
		columns = append(columns, apiextensionsv1.CustomResourceColumnDefinition{Name: column.kind + column.path, Type: column.kind, JSONPath: column.path})
	}
	crd.Spec.Versions[0].AdditionalPrinterColumns = columns
	crd.Spec.Versions[0].SelectableFields, crd.Spec.Versions[1].SelectableFields = nil, nil
	// The other version has another schema, and a column whose path has an index.
	crd.Spec.Versions[1].AdditionalPrinterColumns = append(columns, apiextensionsv1.CustomResourceColumnDefinition{Name: "First", Type: "string", JSONPath: ".spec.any[0]"})
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"] = apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &preserve}
	define(t, c, crd)
	w := newWire(t, c)

	paths := []string{"/api/v1/namespaces", "/api/v1/namespaces/default/configmaps", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"}
	for _, version := range []string{"v1", "v2"} {
		paths = append(paths, consistency.GroupPath+version+"/namespaces/default/samples")
	}
	for n := range 60 {
		path := consistency.Path + "/namespaces/default/samples"
		o := object{"apiVersion": "reads.example.com/v1", "kind": "Sample", "metadata": someMetadata(random, n)}
		if spec := someValue(random, 3); random.IntN(6) > 0 {
			o["spec"] = object{"any": spec, "color": "<&>"}
		}
		for _, top := range []string{"a", "list", "zzz"} {
			if random.IntN(8) == 0 {
				o[top] = someValue(random, 2)
			}
		}
		if random.IntN(8) == 0 { // an object with a list called items is never answered
			o["items"] = seedtest.Pick[any](random, object{"metadata": object{"name": "within"}}, object{}, "a", nil)
		}
		if n%4 == 0 {
			path = "/api/v1/namespaces/default/configmaps"
			o = object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": o["metadata"], "data": object{"a": "<\u2028>"}}
		}
		code, answer, err := w.Send(t.Context(), http.MethodPost, path, "application/json", consistency.JSON(o))
		must(t, err)
		if code != http.StatusCreated {
			t.Fatalf("%s: %s", consistency.JSON(o), answer)
		}
		if random.IntN(4) == 0 {
			_, _, err := w.Send(t.Context(), http.MethodDelete, path+"/"+o["metadata"].(object)["name"].(string), "", "")
			must(t, err) // objects with finalizers stay
		}
		time.Sleep(time.Duration(random.Int64N(int64(time.Hour))))
	}

	get := func(path, accept string) string {
		resp, err := w.Open(t.Context(), http.MethodGet, path, "", accept, "")
		must(t, err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		must(t, err)
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("%s as %s: %s", path, accept, body)
		}
		if resp.ContentLength >= 0 && resp.ContentLength != int64(len(body)) {
			t.Errorf("%s: %d bytes, announced are %d", path, len(body), resp.ContentLength)
		}
		return string(body)
	}
	compared := 0
	for _, path := range paths {
		var names []string
		items, _, _ := w.Items(t, path)
		for _, item := range items {
			m, err := consistency.MetaOf(string(item))
			must(t, err)
			names = append(names, m.Metadata.Name)
		}
		for _, version := range []string{"v1", "v1beta1"} {
			for _, view := range []struct{ list, get, query string }{
				{"Table", "Table", "?includeObject=None"}, {"Table", "Table", "?includeObject=Metadata"}, {"Table", "Table", "?includeObject=Object"}, {"Table", "Table", ""},
				{"PartialObjectMetadataList", "PartialObjectMetadata", ""},
			} {
				as := func(kind string) string { return "application/json;as=" + kind + ";g=meta.k8s.io;v=" + version }
				var list struct {
					Kind, APIVersion  string
					Items, Rows       []json.RawMessage
					ColumnDefinitions json.RawMessage
				}
				body := get(path+view.query, as(view.list))
				must(t, json.Unmarshal([]byte(body), &list))
				equal(t, "kind", list.Kind+" "+list.APIVersion, view.list+" meta.k8s.io/"+version)
				got, want := append(list.Items, list.Rows...), []string{}
				var headers string
				for _, name := range names {
					one := get(path+"/"+name+view.query, as(view.get))
					if view.get != "Table" {
						want = append(want, strings.TrimSuffix(one, "\n"))
						continue
					}
					var table struct {
						Rows              []json.RawMessage
						ColumnDefinitions json.RawMessage
					}
					must(t, json.Unmarshal([]byte(one), &table))
					for _, row := range table.Rows {
						want = append(want, string(row))
					}
					if headers == "" {
						headers = string(table.ColumnDefinitions)
					}
				}
				equal(t, path+view.query+": columns", string(list.ColumnDefinitions), headers)
				equal(t, path+view.query+": items", len(got), len(want))
				for i := range min(len(got), len(want)) {
					compared++
					if string(got[i]) != want[i] {
						t.Fatalf("%s%s as %s:\n got %s\nwant %s", path, view.query, view.list, got[i], want[i])
					}
				}
				// Apart from the items, the list is the same as one that is decoded.
				if !strings.HasSuffix(body, "]}\n") {
					t.Errorf("%s as %s ends with %q", path, view.list, body[len(body)-10:])
				}
			}
		}
	}
	if compared < 500 {
		t.Errorf("%d compared: the test shows nothing", compared)
	}
}

// someMetadata returns metadata as clients write it, which is not always in the server's form.
func someMetadata(random *rand.Rand, n int) object {
	m := object{"name": fmt.Sprintf("o-%02d", n), "namespace": "default"}
	maybe := func(key string, values ...any) {
		if random.IntN(2) == 0 {
			m[key] = seedtest.Pick(random, values...)
		}
	}
	owner := func(more object) object {
		o := object{"apiVersion": "v1", "kind": "Secret", "name": "s", "uid": fmt.Sprint("u-", n)}
		for key, value := range more {
			o[key] = value
		}
		return o
	}
	maybe("labels", object{}, object{"a": "b"}, object{"z": "", "b/a": "1", "a": "2"})
	maybe("annotations", object{}, object{"a": "<b>&\u2028\"\\\n\x01é😀"}, object{"z": "", "k8s.io/initial-events-end": "true"}, object{"a": nil})
	maybe("finalizers", []any{}, []any{"example.com/hold"}, []any{"example.com/<", "example.com/b"}[1:])
	maybe("ownerReferences", []any{}, []any{owner(nil)}, []any{owner(object{"controller": true, "blockOwnerDeletion": false}), owner(object{"controller": false, "uid": "other"})})
	maybe("generateName", "", "o-")
	maybe("deletionGracePeriodSeconds", 0, 5)
	return m
}

// someValue returns a random JSON value.
func someValue(random *rand.Rand, depth int) any {
	switch n := random.IntN(9); {
	case depth > 0 && n < 2:
		o := object{}
		for _, key := range []string{"a", "b", "<"} {
			if random.IntN(2) == 0 {
				o[key] = someValue(random, depth-1)
			}
		}
		return o
	case depth > 0 && n == 2:
		return []any{someValue(random, depth-1), "x"}
	}
	return seedtest.Pick[any](random, "", "a", "<\u2029>", "2020-01-02T03:04:05Z", "2020-01-02T03:04:05.5+01:00", true, false, 0, -3, 1.5, 1e30, 12345678901234567, "null")
}
