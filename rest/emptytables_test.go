package rest_test

import (
	"strings"
	"testing"
)

// TestEmptyTables checks the rows of Tables without objects: null if a real server uses its default columns.
func TestEmptyTables(t *testing.T) {
	c := start(t)
	c.must("POST", definitionsPath, definition(t, "widgets"))
	for path, rows := range map[string]string{
		"/apis/apiregistration.k8s.io/v1/apiservices":             "[]",
		"/api/v1/componentstatuses":                               "[]",
		"/api/v1/namespaces/default/configmaps":                   "[]",
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions": "null",
		"/api/v1/namespaces/default/limitranges":                  "null",
		"/apis/rbac.authorization.k8s.io/v1/clusterroles":         "null",
		"/apis/storage.k8s.io/v1/csistoragecapacities":            "null",
		widgetsPath: "[]",
	} {
		a := c.serveAs("GET "+path+"?labelSelector=a%3Dnosuch", "application/json;as=Table;v=v1;g=meta.k8s.io", "", "")
		expect(t, path+": "+a.body, strings.Contains(a.body, `"rows":`+rows), true)
	}
}
