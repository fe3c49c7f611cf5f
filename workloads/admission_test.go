package workloads_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fakecluster/fakecluster/workloads"
)

// hooks are a mutating and a validating webhook of the Service web, whose bundle is as in manifests that leave it to a program.
const hooks = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: web}
webhooks:
- name: mutates.example.com
  clientConfig: {service: {namespace: default, name: web}, caBundle: Cg==}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [configmaps]}]
  admissionReviewVersions: [v1beta1]
  sideEffects: None
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: web}
webhooks:
- name: validates.example.com
  clientConfig: {service: {namespace: default, name: web}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [configmaps]}]
  admissionReviewVersions: [v1]
  sideEffects: None
`

// TestABehaviorAllowsAdmission proves that webhooks allow everything whose Pods are to serve them and run no program, once they are ready.
func TestABehaviorAllowsAdmission(t *testing.T) {
	const refused = `Internal error occurred: failed calling webhook "mutates.example.com": could not get REST client: unable to load root certificates: unable to parse bytes as PEM block`
	for _, test := range []struct {
		name  string
		allow workloads.Behavior
	}{
		{"by image", workloads.Behavior{Image: "web", Admission: "allow", ReadyDelay: 30 * time.Second}},
		{"by service", workloads.Behavior{Service: "web", Admission: "allow", ReadyDelay: 30 * time.Second}},
	} {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(w world) {
				deployment, service, _ := strings.Cut(web, "---\n")
				w.create(service + "---\n" + deployment + "---" + hooks)
				w.check("a write before the pods are ready", w.configMap(), refused)
				w.pass(time.Minute)
				w.check("a write", w.configMap(), "")
				w.patch("deployments", "web", `{"spec": {"replicas": 0}}`)
				w.pass(time.Minute)
				w.check("a write without a pod", w.configMap(), refused)
			}, workloads.Nodes(1), workloads.Behaviors(test.allow))
		})
	}
}

// TestWebhooksWithoutAProgramAreNamed proves that a cluster says once which webhook nobody answers, and what to write.
func TestWebhooksWithoutAProgramAreNamed(t *testing.T) {
	var said []string
	inBubble(t, func(w world) {
		_, validating, _ := strings.Cut(hooks, "---")
		w.create(web + "---" + validating)
		w.pass(time.Minute)
		for range 2 {
			w.check("a write", w.configMap(), `Internal error occurred: failed calling webhook "validates.example.com": failed to call webhook: Post "https://web.default.svc:443/?timeout=10s": dial tcp `+
				field(w.object("services", "web"), "spec.clusterIP")+":443: connect: connection refused")
		}
	}, workloads.Nodes(1), workloads.Notices(func(sentence string) { said = append(said, sentence) }))
	want := []string{"the webhook validates.example.com calls the Service default/web, whose Pods run no program, so each call fails. " +
		`Let it allow everything with the behavior {image: "web", admission: allow} (serve: --behavior), or run a program of this machine as the image web (serve: --program)`}
	if !slices.Equal(said, want) {
		t.Errorf("said:\n%s\nwant:\n%s", strings.Join(said, "\n"), want[0])
	}
}
