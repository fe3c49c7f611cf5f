package rest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// A real server reads the list of a deletecollection in pages, and a page with a resourceVersion is exactly of that revision.
func TestDeleteCollectionWithAResourceVersionDeletesWhatWasThere(t *testing.T) {
	const names = "items.#.metadata.name"
	c := start(t)
	c.must("POST", configMapsPath, `{"metadata":{"name":"a"}}`)
	revision := gjson.Get(c.must("GET", configMapsPath, ""), "metadata.resourceVersion").Str
	c.must("POST", configMapsPath, `{"metadata":{"name":"b"}}`)
	c.must("PUT", configMapsPath+"/a", `{"metadata":{"name":"a"},"data":{"k":"v"}}`)
	deleted := c.must("DELETE", configMapsPath+"?resourceVersion=1", `{"propagationPolicy":"Background"}`)
	expect(t, "deleted at the first revision", gjson.Get(deleted, names).String(), "[]")
	a := c.do("DELETE", configMapsPath+"?resourceVersion="+revision, nil, "") // it is a precondition, too
	expect(t, "code", a.code, http.StatusConflict)
	deleted = c.must("DELETE", configMapsPath+"?resourceVersion="+revision, `{"propagationPolicy":"Background"}`)
	expect(t, "deleted at the revision of the list", gjson.Get(deleted, names).String(), `["a"]`)
	expect(t, "left", gjson.Get(c.must("GET", configMapsPath, ""), names).String(), `["b"]`)
	deleted = c.must("DELETE", configMapsPath+"?resourceVersion="+revision+"&resourceVersionMatch=NotOlderThan", `{"propagationPolicy":"Background"}`)
	expect(t, "deleted at that revision or a later one", gjson.Get(deleted, names).String(), `["b"]`)
}

// The handler of a watch of a real server begins to watch before it looks for a serializer of its events.
func TestAWatchWithABadRevisionFailsBeforeItsFormIsNegotiated(t *testing.T) {
	c := start(t)
	for _, accept := range []string{"application/yaml", "application/json;as=Table;v=v1;g=meta.k8s.io"} {
		a := c.do("GET", configMapsPath+"?watch=1&timeoutSeconds=1&includeObject=Nope&resourceVersion=abc", http.Header{"Accept": {accept}}, "")
		expect(t, accept, a.code, http.StatusInternalServerError)
	}
	a := c.do("GET", configMapsPath+"?watch=1&timeoutSeconds=1&resourceVersion=0", http.Header{"Accept": {"application/yaml"}}, "")
	expect(t, "code", a.code, http.StatusNotAcceptable)
	expect(t, "text", strings.Join(strings.Fields(a.body), " "), "apiVersion: v1 code: 406 kind: Status message: 'only the following media types are accepted: application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch' metadata: {} reason: NotAcceptable status: Failure")
}

// A delete that takes the last finalizer by its options cannot have a resourceVersion as its precondition on a real server.
func TestADeleteThatOrphansNothingWithAResourceVersionIsRefused(t *testing.T) {
	c := start(t)
	c.must("POST", configMapsPath, `{"metadata":{"name":"a","finalizers":["orphan"]}}`)
	revision := gjson.Get(c.must("GET", configMapsPath+"/a", ""), "metadata.resourceVersion").Str
	options := `{"orphanDependents":false,"preconditions":{"resourceVersion":"` + revision + `"}}`
	a := c.do("DELETE", configMapsPath+"/a", jsonBody, options)
	expect(t, "code", a.code, http.StatusConflict)
	expect(t, "message", statusOf(t, a).Message, `Operation cannot be fulfilled on configmaps "a": StorageError: invalid object, Code: 4, Key: /registry/configmaps/default/a, `+
		`ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ResourceVersion in precondition: , ResourceVersion in object meta: `+revision)
	c.must("DELETE", configMapsPath+"/a", strings.Replace(options, "{", `{"dryRun":["All"],`, 1))
	c.must("DELETE", configMapsPath+"/a", `{"orphanDependents":false}`)
	expect(t, "then", c.do("GET", configMapsPath+"/a", nil, "").code, http.StatusNotFound)
}
