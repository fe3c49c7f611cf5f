package main

import (
	"testing"

	"github.com/fakecluster/fakecluster/conformance/random/play"
)

func TestReasons(t *testing.T) {
	const parameter = `{"spec":{"paramRef":{"namespace":"n","selector":{}}}}`
	patch := play.Step{Method: "PATCH", Path: "/api/v1/namespaces/a/pods/b", Type: play.StrategicPatch}
	post := play.Step{Method: "POST", Path: "/api/v1/namespaces/a/pods"}
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
		{"a watch of forgotten events", play.Difference{Step: post, Diff: "@@ -1 +1 @@\n-    \"message\": \"too old resource version: RV (RV)\",\n+  \"type\": \"ADDED\"\n"},
			"which events the watch cache of a real server still has is chance; it compacts nothing here"},
		{"a watch that only fakecluster refuses", play.Difference{Step: post, Diff: "@@ -1 +1 @@\n-  \"type\": \"ADDED\"\n+    \"message\": \"too old resource version: RV (RV)\",\n"}, ""},
		{"a panic", play.Difference{Step: post, Diff: "@@ -1 +1 @@\n-the stream was reset\n+{}\n"}, "a real server panics, and ends the connection"},
		{"a parameter of a policy", play.Difference{Before: []play.Step{{Body: parameter}}, Step: post, Diff: "@@ -1 +1 @@\n-ValidatingAdmissionPolicy 'a' with binding 'b' denied request: x\n+ValidatingAdmissionPolicy 'a' with binding 'b' denied request: y\n"},
			"which of a policy's parameters is the first that refuses is chance: a real server lists them from a map"},
		{"a policy without parameters", play.Difference{Step: post, Diff: "@@ -1 +1 @@\n-ValidatingAdmissionPolicy 'a' with binding 'b' denied request: x\n+ValidatingAdmissionPolicy 'a' with binding 'b' denied request: y\n"}, ""},
		{"another policy", play.Difference{Before: []play.Step{{Body: parameter}}, Step: post, Diff: "@@ -1 +1 @@\n-ValidatingAdmissionPolicy 'a' with binding 'b' denied request: x\n+ValidatingAdmissionPolicy 'c' with binding 'd' denied request: y\n"}, ""},
		{"something else", play.Difference{Step: post, Diff: "@@ -1 +1 @@\n-  \"replicas\": 1\n+  \"replicas\": 2\n"}, ""},
	} {
		if got := reason(&c.difference); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
