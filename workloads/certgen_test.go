package workloads_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/workloads"
)

// certgenObjects are as those of ingress-nginx and kube-prometheus-stack.
const certgenObjects = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: admission, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: admission}
rules:
- {apiGroups: [admissionregistration.k8s.io], resources: [validatingwebhookconfigurations, mutatingwebhookconfigurations], verbs: [get, update]}
- {apiGroups: [apiregistration.k8s.io], resources: [apiservices], verbs: [get, update]}
- {apiGroups: [""], resources: [secrets], verbs: [get, create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: admission}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: admission}
subjects: [{kind: ServiceAccount, name: admission, namespace: default}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: admission}
webhooks:
- name: validate.nginx.ingress.kubernetes.io
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Ignore
  clientConfig: {service: {name: controller, namespace: default}}
  rules: [{apiGroups: [networking.k8s.io], apiVersions: [v1], operations: [CREATE], resources: [ingresses]}]
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.example.com}
spec: {group: example.com, version: v1, groupPriorityMinimum: 100, versionPriority: 1, insecureSkipTLSVerify: true, service: {name: controller, namespace: default}}`

// TestKubeWebhookCertgen runs the image as Jobs of charts do. It creates the Secret once, and writes its authority into the webhook.
func TestKubeWebhookCertgen(t *testing.T) {
	inBubble(t, func(w world) {
		for _, object := range strings.Split(certgenObjects, "\n---\n") {
			w.post(object)
		}
		const image = "registry.k8s.io/ingress-nginx/kube-webhook-certgen:v1.6.0@sha256:4e90a6d2f1a9b3a5a4c6a5d7e1d7a4e2b9a7f0a8e4a1c3b2d5e6f708192a3b4c"
		const create = `[create, "--host=controller,controller.default.svc", --namespace=default, --secret-name=admission]`
		const patch = "[patch, --webhook-name=admission, --namespace=default, --patch-mutating=false, --secret-name=admission, --patch-failure-policy=Fail]"
		for _, c := range []struct{ name, args, end, log string }{
			{"early", patch, "Error 1 after 0s", "no secret with 'admission' in 'default'\n"},
			{"create", create, "Completed 0 after 0s", `{"level":"info","msg":"creating new secret","time":"2000-01-01T00:00:TT"}` + "\n"},
			{"again", create, "Completed 0 after 0s", `{"level":"info","msg":"secret already exists","time":"2000-01-01T00:00:TT"}` + "\n"},
			{"patch", patch, "Completed 0 after 0s", `{"level":"info","msg":"patched validating webhook configuration admission","time":"2000-01-01T00:00:TT"}` + "\n"},
			{"mutating", strings.Replace(patch, "--patch-mutating=false, ", "--patch-validating=false, ", 1), "Error 1 after 0s",
				"failed patching mutating webhook: mutatingwebhookconfigurations.admissionregistration.k8s.io \"admission\" not found\n"},
			{"service", "[patch, --apiservice-name=v1.example.com, --namespace=default, --secret-name=admission]", "Completed 0 after 0s",
				`{"level":"info","msg":"patched APIService v1.example.com","time":"2000-01-01T00:00:TT"}` + "\n"},
			{"none", "[patch, --apiservice-name=v2.example.com, --namespace=default, --secret-name=admission]", "Error 1 after 0s",
				"failed patching APIService: apiservices.apiregistration.k8s.io \"v2.example.com\" not found\n"},
			{"flags", "[create, --host=x]", "Error 1 after 0s", "Error: required flag(s) \"secret-name\" not set\n"},
			{"command", "[renew, --secret-name=a, --namespace=b]", "Error 1 after 0s", "Error: unknown command \"renew\" for \"kube-webhook-certgen\"\n"},
		} {
			w.createPod(c.name, "restartPolicy: Never\nserviceAccountName: admission\ncontainers: [{name: create, image: '"+image+"', args: "+c.args+"}]")
			w.pass(5 * time.Second)
			equal(w.T, "the end of "+c.name, w.endOf(c.name), c.end)
			got := w.log(c.name, corev1.PodLogOptions{})
			if before, after, ok := strings.Cut(got, `"time":"2000-01-01T00:00:`); ok {
				got = before + `"time":"2000-01-01T00:00:TT` + after[2:]
				got = strings.Replace(got, `Z"}`, `"}`, 1)
			}
			equal(w.T, "the log of "+c.name, got, c.log)
		}
		secret, err := w.client.CoreV1().Secrets("default").Get(w.Context(), "admission", metav1.GetOptions{})
		if err != nil {
			w.Fatal(err)
		}
		pair, err := tls.X509KeyPair(secret.Data["cert"], secret.Data["key"])
		if err != nil {
			w.Fatal(err)
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(secret.Data["ca"])
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "controller.default.svc"}); err != nil {
			w.Error(err)
		}
		configuration, err := w.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(w.Context(), "admission", metav1.GetOptions{})
		if err != nil {
			w.Fatal(err)
		}
		webhook := configuration.Webhooks[0]
		equal(w.T, "the authority", string(webhook.ClientConfig.CABundle), string(secret.Data["ca"]))
		equal(w.T, "the policy", string(*webhook.FailurePolicy), "Fail")
		service := w.object("apiservices", "v1.example.com")
		equal(w.T, "the authority", field(service, "spec.caBundle"), base64.StdEncoding.EncodeToString(secret.Data["ca"]))
		equal(w.T, "the check", field(service, "spec.insecureSkipTLSVerify"), "")
		w.createPod("decided", "restartPolicy: Never\ncontainers: [{name: c, image: jettech/kube-webhook-certgen:v1.5.1}]")
		w.pass(5 * time.Second)
		equal(w.T, "the end", w.endOf("decided"), "Error 7 after 0s")
	}, workloads.Nodes(1), workloads.Behaviors(workloads.Behavior{Image: "jettech/kube-webhook-certgen", ExitCode: new(int32(7))}))
}
