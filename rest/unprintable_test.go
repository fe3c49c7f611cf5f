package rest_test

import (
	"net/http"
	"strings"
	"testing"
)

// Upstream's YAML encoder refuses the character DEL, which JSON may have. So a real server answers
// such an object as JSON, and as YAML with an error.
func TestACharacterThatYAMLDoesNotHave(t *testing.T) {
	c := start(t)
	c.must("POST", "/api/v1/namespaces/default/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"x`+"\x7f"+`y"}}`)
	for _, path := range []string{"/api/v1/namespaces/default/configmaps/a", "/api/v1/namespaces/default/configmaps"} {
		if a := c.do("GET", path, nil, ""); a.code != http.StatusOK {
			t.Errorf("as JSON: %d %s", a.code, a.body)
		}
		a := c.do("GET", path, http.Header{"Accept": {"application/yaml"}}, "")
		expect(t, path+": code", a.code, http.StatusInternalServerError)
		if want := "message: 'yaml: control characters are not allowed'"; !strings.Contains(a.body, want) {
			t.Errorf("%s: %s, want …%s…", path, a.body, want)
		}
	}
}
