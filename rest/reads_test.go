package rest_test

import (
	"net/http"
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
