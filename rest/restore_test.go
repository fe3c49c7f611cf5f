package rest_test

import (
	"net/http"
	"testing"

	"github.com/tidwall/gjson"
)

func TestWhatTheServerKeepsIsMadeAgain(t *testing.T) {
	c := start(t)
	without := func(text string) string { // what differs between two objects of a name
		spec := gjson.Get(text, "spec").Raw + gjson.Get(text, "subsets").Raw + gjson.Get(text, "endpoints").Raw
		return gjson.Get(text, "metadata.labels").Raw + gjson.Get(text, "metadata.annotations").Raw + gjson.Get(text, "metadata.ownerReferences").Raw + spec
	}
	for _, path := range []string{
		"/api/v1/namespaces/default/services/kubernetes",
		"/api/v1/namespaces/default/endpoints/kubernetes",
		"/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes",
		"/apis/networking.k8s.io/v1/servicecidrs/kubernetes",
		"/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/exempt",
		"/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations/catch-all",
	} {
		before := c.must("GET", path, "")
		c.must("DELETE", path, "")
		after := c.do(http.MethodGet, path, nil, "")
		if after.code != 200 || gjson.Get(after.body, "metadata.uid").Str == gjson.Get(before, "metadata.uid").Str {
			t.Errorf("%s: %d %s", path, after.code, after.body)
		}
		expect(t, path, without(after.body), without(before))
	}
	address := c.must("GET", "/apis/networking.k8s.io/v1/ipaddresses/10.0.0.1", "")
	expect(t, "the address of the service", gjson.Get(address, "spec.parentRef.name").Str, "kubernetes")
	for _, path := range []string{ // which a real server makes when it starts, and then no more
		"/apis/rbac.authorization.k8s.io/v1/clusterroles/view",
		"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/system:discovery",
	} {
		c.must("DELETE", path, "")
		expect(t, path, c.do(http.MethodGet, path, nil, "").code, 404)
	}
}
