package rest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// A watch of one object checks the fields of its selector before it compares the names.
func TestAWatchOfOneObjectRejectsUnknownFieldsFirst(t *testing.T) {
	c := start(t)
	for selector, want := range map[string]string{
		"status.phase%3DPending": `"status.phase" is not a known field selector: only "metadata.name", "metadata.namespace"`,
		"metadata.name%3Db":      "fieldSelector metadata.name doesn't match requested name",
	} {
		a := c.do("GET", "/api/v1/watch/namespaces/default/configmaps/a?timeoutSeconds=1&fieldSelector="+selector, nil, "")
		expect(t, selector, a.code, http.StatusBadRequest)
		expect(t, selector, statusOf(t, a).Message, want)
	}
}

// The deletion of a namespace decides about its dependents in a way of its own.
func TestADeletedNamespaceHasTheFinalizersOfItsOptions(t *testing.T) {
	c := start(t)
	for _, tt := range []struct{ name, finalizers, options, want string }{
		{"foreground", `[]`, `{"orphanDependents":false}`, `["foregroundDeletion"]`},
		{"orphan", `["foregroundDeletion"]`, `{"orphanDependents":true}`, `["orphan"]`},
		{"kept", `["foregroundDeletion"]`, `{}`, `["foregroundDeletion"]`},
	} {
		c.must("POST", "/api/v1/namespaces", `{"metadata":{"name":"`+tt.name+`","finalizers":`+tt.finalizers+`}}`)
		expect(t, tt.name, gjson.Get(c.must("DELETE", "/api/v1/namespaces/"+tt.name, tt.options), "metadata.finalizers").String(), tt.want)
	}
}

// An object that is stored in another version lacks the defaults of this one, also in Tables and for selectors.
func TestTablesHaveNoDefaultsOfAnotherVersion(t *testing.T) {
	c := start(t)
	version := func(name, storage, selectable, properties string) string {
		return `{"name":"` + name + `","served":true,"storage":` + storage + `,"selectableFields":[` + selectable + `],"additionalPrinterColumns":[{"name":"Size","type":"string","jsonPath":".spec.size"}],` +
			`"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"size":` + properties + `}}}}}}`
	}
	c.must("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", `{"metadata":{"name":"things.d.example.com"},"spec":{"group":"d.example.com","scope":"Cluster","names":{"plural":"things","kind":"Thing"},`+
		`"versions":[`+version("v1", "true", "", `{"type":"string"}`)+`,`+version("v2", "false", `{"jsonPath":".spec.size"}`, `{"type":"string","default":"m"}`)+`]}}`)
	c.must("POST", "/apis/d.example.com/v1/things", `{"apiVersion":"d.example.com/v1","kind":"Thing","metadata":{"name":"a"},"spec":{}}`)
	const things = "/apis/d.example.com/v2/things"
	expect(t, "spec", gjson.Get(c.must("GET", things+"/a", ""), "spec").String(), "{}")
	for _, path := range []string{things, things + "/a"} {
		a := c.do("GET", path, http.Header{"Accept": {"application/json;as=Table;v=v1;g=meta.k8s.io"}}, "")
		expect(t, path, gjson.Get(a.body, "rows.0.cells.0").String(), "a")
		expect(t, path, gjson.Get(a.body, "rows.0.cells.1").Raw, "null")
	}
	expect(t, "selected", gjson.Get(c.must("GET", things+"?fieldSelector=spec.size%3Dm", ""), "items.#").Int(), int64(0))
}

// A limit makes a resourceVersion exact, except for a selector that names the object.
func TestAListOfANamedObjectIsNotOlderThanItsRevision(t *testing.T) {
	c := start(t)
	revision := gjson.Get(c.must("GET", configMapsPath, ""), "metadata.resourceVersion").Str
	c.must("POST", configMapsPath, `{"metadata":{"name":"a"}}`)
	for query, want := range map[string]string{"": "0", "&fieldSelector=metadata.name%3Da": "1"} {
		expect(t, query, gjson.Get(c.must("GET", configMapsPath+"?limit=2&resourceVersion="+revision+query, ""), "items.#").Raw, want)
	}
}

// A bookmark is an object without defaults, and each event of a watch is one line.
func TestABookmarkAsTableHasNoDefaultsAndIsOneLine(t *testing.T) {
	c := startInProcess(t)
	const query = "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&pretty=true"
	for path, want := range map[string]string{
		"/apis/autoscaling/v1/horizontalpodautoscalers": `["","/","\u003cnone\u003e","\u003cunset\u003e",0,0,"\u003cunknown\u003e"]`,
		"/apis/autoscaling/v2/horizontalpodautoscalers": `["","/","\u003cnone\u003e","\u003cunset\u003e",0,0,"\u003cunknown\u003e"]`,
		"/apis/apps/v1/deployments":                     `["","0/0",0,0,"\u003cunknown\u003e","","",""]`,
		"/apis/apps/v1/statefulsets":                    `["","0/0","\u003cunknown\u003e","",""]`,
	} {
		body := c.watchOnce(t, path+query, http.Header{"Accept": {"application/json;as=Table;v=v1;g=meta.k8s.io"}}).Body.String()
		expect(t, path, strings.Count(body, "\n"), 1)
		expect(t, path, gjson.Get(body, "object.rows.0.cells").Raw, want)
	}
}

// A token is relative to the namespace that the selector names, but the list that it continues looks in all namespaces.
func TestAListOfANamedNamespaceContinuesInAllNamespaces(t *testing.T) {
	c := start(t)
	for _, namespace := range []string{"aa", "zz"} {
		c.must("POST", "/api/v1/namespaces", `{"metadata":{"name":"`+namespace+`"}}`)
		for _, name := range []string{"b", "c", "d"} {
			c.must("POST", "/api/v1/namespaces/"+namespace+"/configmaps", `{"metadata":{"name":"`+name+`"}}`)
		}
	}
	for namespace, want := range map[string]string{"aa": `[]`, "zz": `["b","c"]`} {
		query := "/api/v1/configmaps?limit=2&fieldSelector=metadata.namespace%3D" + namespace
		first := c.must("GET", query, "")
		expect(t, "first page", gjson.Get(first, "items.#.metadata.name").Raw, `["b","c"]`)
		second := c.must("GET", query+"&continue="+gjson.Get(first, "metadata.continue").Str, "")
		expect(t, "second page of "+namespace, gjson.Get(second, "items.#.metadata.name").Raw, want)
	}
	whole := c.must("GET", "/api/v1/configmaps?limit=3&fieldSelector=metadata.namespace%3Daa", "")
	expect(t, "a page of all that is there", gjson.Get(whole, "metadata.continue").Exists(), false)
}

func TestATokenCountsForAListOfANamedObject(t *testing.T) {
	c := start(t)
	c.must("POST", configMapsPath, `{"metadata":{"name":"a"}}`)
	for _, name := range []string{"a", "", ".."} {
		a := c.do("GET", configMapsPath+"?continue=x&fieldSelector=metadata.name%3D"+name, nil, "")
		expect(t, "code", a.code, http.StatusBadRequest)
		expect(t, "message", gjson.Get(a.body, "message").Str, "invalid continue token: continue key is not valid: illegal base64 data at input byte 0")
	}
}
