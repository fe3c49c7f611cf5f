package main

import (
	"testing"

	"github.com/fakecluster/fakecluster/conformance/random/play"
)

func TestReasons(t *testing.T) {
	const parameter = `{"spec":{"paramRef":{"namespace":"n","selector":{}}}}`
	patch := play.Step{Method: "PATCH", Path: "/api/v1/namespaces/a/pods/b", Type: play.StrategicPatch}
	const (
		pods   = "/api/v1/namespaces/a/pods"
		missed = "@@ -1 +1 @@\n-200\n+409\n+ \"message\": \"the ResourceVersion in the precondition (RV) does not match the ResourceVersion in record (RV)\",\n"
		older  = "@@ -1 +1 @@\n-    \"generation\": 1,\n+    \"generation\": 2,\n"
	)
	post := play.Step{Method: "POST", Path: pods}
	cached := play.Step{Method: "GET", Path: pods + "?resourceVersion=${listed}"}
	for _, c := range []struct {
		name       string
		difference play.Difference
		want       string
	}{
		{"two wrong directives of a strategic merge patch", play.Difference{Step: patch, Diff: "@@ -1 +1 @@\n-  \"message\": \"unknown patch type: x\"\n+  \"message\": \"invalid patch format of x\"\n"},
			"which of two wrong directives of a patch is named is chance"},
		{"a wrong directive and a list without a key", play.Difference{Step: patch, Diff: "@@ -1 +1 @@\n-  \"message\": \"cannot merge lists without merge key for struct\"\n+  \"message\": \"unknown patch type: x\"\n"},
			"which of two wrong directives of a patch is named is chance"},
		{"two wrong directives of another patch", play.Difference{Step: post, Diff: "@@ -1 +1 @@\n-  \"message\": \"unknown patch type: x\"\n+  \"message\": \"invalid patch format of x\"\n"}, ""},
		{"one wrong directive that only the real server refuses", play.Difference{Step: patch, Diff: "@@ -1 +1 @@\n-  \"message\": \"unknown patch type: x\"\n+  \"kind\": \"Pod\"\n"}, ""},
		{"two webhooks that refuse", play.Difference{Step: post, Diff: "@@ -1 +1 @@\n- \"message\": \"admission webhook \\\"validating.example.com\\\" denied\"\n+ \"message\": \"admission webhook \\\"revalidating.example.com\\\" denied\"\n"},
			"which of two webhooks that refuse is named is chance: a real server calls them at once"},
		{"two mutating webhooks, which a server calls in their order", play.Difference{Step: post, Diff: "@@ -1 +1 @@\n- \"message\": \"admission webhook \\\"mutating.example.com\\\" denied\"\n+ \"message\": \"admission webhook \\\"remutating.example.com\\\" denied\"\n"}, ""},
		{"two mistakes of an embedded resource in a default", play.Difference{Step: post, Diff: "@@ -1 +1 @@\n- spec.default.a.kind: Invalid value: 1\n+ spec.default.a.apiVersion: Invalid value: 1\n"},
			"which mistake of an embedded resource in a default is named is chance: a real server looks at its fields in the order of a map"},
		{"a mistake that only the real server finds", play.Difference{Step: post, Diff: "@@ -1 +1 @@\n- spec.default.a.kind: Invalid value: 1\n+ {}\n"}, ""},
		{"an empty certificate", play.Difference{Step: post, Diff: "@@ -1 +1 @@\n \"kind\": \"CertificateSigningRequest\",\n-  \"status\": {}\n+  \"status\": {}x\n"},
			"an empty certificate is another text than none in protobuf, so that a real server writes it"},
		{"an empty status of another kind", play.Difference{Step: post, Diff: "@@ -1 +1 @@\n \"kind\": \"Pod\",\n-  \"status\": {}\n"}, ""},
		{"a volume of a StatefulSet", play.Difference{Step: play.Step{Method: "POST", Path: "/apis/apps/v1/namespaces/a/statefulsets"}, Diff: "@@ -1 +1 @@\n- spec.template.spec.volumes[0].name: Required value\n+ spec.template.spec.volumes[1].name: Required value\n"},
			"which number a volume of a claim template has is chance: a real server adds them from a map"},
		{"a volume of a Deployment", play.Difference{Step: play.Step{Method: "POST", Path: "/apis/apps/v1/namespaces/a/deployments"}, Diff: "@@ -1 +1 @@\n- spec.template.spec.volumes[0].name: Required value\n+ spec.template.spec.volumes[1].name: Required value\n"}, ""},
		{"a watch of forgotten events", play.Difference{Step: post, Diff: "@@ -1 +1 @@\n-    \"message\": \"too old resource version: RV (RV)\",\n+  \"type\": \"ADDED\"\n"},
			"which events the watch cache of a real server still has is chance; it compacts nothing here"},
		{"a watch that only fakecluster refuses", play.Difference{Step: post, Diff: "@@ -1 +1 @@\n-  \"type\": \"ADDED\"\n+    \"message\": \"too old resource version: RV (RV)\",\n"}, ""},
		{"a panic", play.Difference{Step: post, Diff: "@@ -1 +1 @@\n-the stream was reset\n+{}\n"}, "a real server panics, and ends the connection"},
		{"a parameter of a policy", play.Difference{Before: []play.Step{{Body: parameter}}, Step: post, Diff: "@@ -1 +1 @@\n-ValidatingAdmissionPolicy 'a' with binding 'b' denied request: x\n+ValidatingAdmissionPolicy 'a' with binding 'b' denied request: y\n"},
			"which of a policy's parameters is the first that refuses is chance: a real server lists them from a map"},
		{"a policy without parameters", play.Difference{Step: post, Diff: "@@ -1 +1 @@\n-ValidatingAdmissionPolicy 'a' with binding 'b' denied request: x\n+ValidatingAdmissionPolicy 'a' with binding 'b' denied request: y\n"}, ""},
		{"another policy", play.Difference{Before: []play.Step{{Body: parameter}}, Step: post, Diff: "@@ -1 +1 @@\n-ValidatingAdmissionPolicy 'a' with binding 'b' denied request: x\n+ValidatingAdmissionPolicy 'c' with binding 'd' denied request: y\n"}, ""},
		{"two values that are not base64", play.Difference{Step: post, Diff: "@@ -1 +1 @@\n- \"message\": \"x: error decoding from json: illegal base64 data at input byte 0\",\n+ \"message\": \"x: error decoding from json: illegal base64 data at input byte 1\",\n"},
			"which of two values that are not base64 is named is chance: a real server reads them in the order of a map"},
		{"a value that only the real server refuses", play.Difference{Step: post, Diff: "@@ -1 +1 @@\n- \"message\": \"x: error decoding from json: illegal base64 data at input byte 0\",\n+ \"kind\": \"Secret\"\n"}, ""},
		{"the version of a list as a precondition", play.Difference{Step: play.Step{Method: "DELETE", Path: pods + "?limit=0&resourceVersion=${listed}"}, Diff: missed},
			"the resource version of a list is that of an object or a later one, by chance: other histories write at the same time"},
		{"the version of an object as a precondition", play.Difference{Step: play.Step{Method: "DELETE", Path: pods + "?resourceVersion=${resourceVersion}"}, Diff: missed}, ""},
		{"a list from the cache after a write", play.Difference{Before: []play.Step{post}, Step: cached, Diff: older},
			"a read from the watch cache of a real server may miss the last write, by chance"},
		{"a list from the cache after a read", play.Difference{Before: []play.Step{post, cached}, Step: cached, Diff: older}, ""},
		{"an exact list after a write", play.Difference{Before: []play.Step{post}, Step: play.Step{Method: "GET", Path: cached.Path + "&resourceVersionMatch=Exact"}, Diff: older}, ""},
		{"a newest list after a write", play.Difference{Before: []play.Step{post}, Step: play.Step{Method: "GET", Path: pods}, Diff: older}, ""},
		{"a list that one server refuses", play.Difference{Before: []play.Step{post}, Step: cached, Diff: "@@ -1 +1 @@\n- \"reason\": \"Expired\",\n+ \"items\": [],\n"}, ""},
		{"something else", play.Difference{Step: post, Diff: "@@ -1 +1 @@\n-  \"replicas\": 1\n+  \"replicas\": 2\n"}, ""},
	} {
		if got := reason(&c.difference); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
