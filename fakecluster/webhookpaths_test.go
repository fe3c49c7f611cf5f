package fakecluster_test

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// manifests are the files of controller-gen and a scaffold: configurations, and the service that
// they refer to.
const manifests = `---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata:
  name: mutating-webhook-configuration
webhooks:
- admissionReviewVersions: [v1]
  clientConfig:
    service: {name: webhook-service, namespace: system, path: /mutate}
  failurePolicy: Fail
  name: mcrontab.kb.io
  rules:
  - {apiGroups: [stable.example.com], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [crontabs]}
  sideEffects: None
---
apiVersion: v1
kind: Service
metadata: {name: webhook-service, namespace: system}
spec: {ports: [{port: 443}]}
`

// serveAsController runs a webhook at the address of the cluster, as controller-runtime's
// server does.
func serveAsController(t *testing.T, c *fakecluster.Cluster, h http.Handler) {
	t.Helper()
	s := c.WebhookServer()
	certificate, err := tls.LoadX509KeyPair(filepath.Join(s.CertDir, "tls.crt"), filepath.Join(s.CertDir, "tls.key"))
	must(t, err)
	listener, err := tls.Listen("tcp", s.Host+":"+strconv.Itoa(s.Port), &tls.Config{Certificates: []tls.Certificate{certificate}})
	must(t, err)
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: h}}
	server.Start()
	t.Cleanup(server.Close)
}

func TestWebhookManifestsReachTheServerOfTheTest(t *testing.T) {
	eachWay(t, func(t *testing.T, way ...fakecluster.Option) {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, "manifests.yaml"), []byte(manifests), 0o600))
		must(t, os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte("resources: [manifests.yaml]"), 0o600))
		c := fakecluster.Start(t, append(way, fakecluster.WithObjects(cronTabDefinition(), cronTab("before")), fakecluster.WithWebhookPaths(dir))...)

		_, err := inDefault(c).Create(t.Context(), cronTab("a"), metav1.CreateOptions{})
		address := "127.0.0.1:" + strconv.Itoa(c.WebhookServer().Port)
		fails(t, "create without a server", err, `Internal error occurred: failed calling webhook "mcrontab.kb.io": failed to call webhook: `+
			`Post "https://webhook-service.system.svc:443/mutate?timeout=10s": dial tcp `+address+`: connect: connection refused`)

		h := &hook{answer: patch(`[{"op":"add","path":"/metadata/labels","value":{"a":"b"}}]`)}
		serveAsController(t, c, h)
		equal(t, "labels", create(t, inDefault(c), cronTab("a")).GetLabels(), map[string]string{"a": "b"})
		equal(t, "the call", []any{len(h.calls), h.calls[0].Operation, h.calls[0].Name}, []any{1, admissionv1.Create, "a"})

		fork := c.Fork(t)
		if fork.WebhookServer().Port == c.WebhookServer().Port {
			t.Error("the fork has the same server")
		}
		serveAsController(t, fork, h)
		equal(t, "labels in the fork", create(t, inDefault(fork), cronTab("b")).GetLabels(), map[string]string{"a": "b"})
		dirOfFork := fork.WebhookServer().CertDir
		must(t, fork.Close())
		_, err = os.Stat(dirOfFork)
		equal(t, "the folder is gone", os.IsNotExist(err), true)
	})
}

func TestAHandlerServesWebhooksInsideAndOutsideOfABubble(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "manifests.yaml"), []byte(manifests), 0o600))
	serve := func(t *testing.T, c *fakecluster.Cluster) {
		for _, label := range []string{"first", "second"} { // which replaces the first
			must(t, c.ServeWebhooks(&hook{answer: patch(`[{"op":"add","path":"/metadata/labels","value":{"a":"` + label + `"}}]`)}))
			equal(t, "labels", create(t, inDefault(c), cronTab(label)).GetLabels(), map[string]string{"a": label})
		}
	}
	eachWay(t, func(t *testing.T, way ...fakecluster.Option) {
		c := fakecluster.Start(t, append(way, fakecluster.WithObjects(cronTabDefinition()), fakecluster.WithWebhookPaths(dir))...)
		fork := c.Fork(t)
		serve(t, c)
		serve(t, fork)
		must(t, c.Close())
		err := c.ServeWebhooks(&hook{})
		fails(t, "closed", err, "ServeWebhooks: the cluster is closed")
	})
	base := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithObjects(cronTabDefinition()), fakecluster.WithWebhookPaths(dir))
	synctest.Test(t, func(t *testing.T) { serve(t, base.Fork(t)) })
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithObjects(cronTabDefinition()), fakecluster.WithWebhookPaths(dir))
		_, err := inDefault(c).Create(t.Context(), cronTab("a"), metav1.CreateOptions{})
		fails(t, "no server", err, `Internal error occurred: failed calling webhook "mcrontab.kb.io": failed to call webhook: Post "https://webhook-service.system.svc:443/mutate?timeout=10s": `+
			`no webhook server runs: in a testing/synctest bubble it cannot listen on a socket; give its handler to Cluster.ServeWebhooks, or run the manager with package controllerruntime`)
	})
	c := fakecluster.Start(t, fakecluster.InProcess())
	fails(t, "no webhooks", c.ServeWebhooks(&hook{}), "ServeWebhooks: no webhook calls the handler: start the cluster with WithWebhookPaths, "+
		"and with the folder of the definitions if only conversion webhooks call it, as WithWebhookPaths(\"config/crd\")")
	fails(t, "a mux that is nil", c.ServeWebhooks((*http.ServeMux)(nil)), "ServeWebhooks: the handler is nil")
	fails(t, "no handler", c.ServeWebhooks(nil), "ServeWebhooks: the handler is nil")
}

func TestWebhookManifestsThatCannotBeReadAreRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "old.yaml")
	must(t, os.WriteFile(path, []byte("apiVersion: admissionregistration.k8s.io/v1beta1\nkind: MutatingWebhookConfiguration\nmetadata: {name: old}\n"), 0o600))
	equal(t, "an old version", refused(t, fakecluster.WithWebhookPaths(dir)),
		path+`: document 1: MutatingWebhookConfiguration "old" is in admissionregistration.k8s.io/v1beta1; write it in admissionregistration.k8s.io/v1`)
	equal(t, "nothing there", refused(t, fakecluster.WithWebhookPaths("nowhere")), "webhook path: stat nowhere: no such file or directory")
}

// versioned is a definition whose objects the service of the manifests converts, as
// a scaffold patches it: without a bundle.
const versioned = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crontabs.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: crontabs, kind: CronTab}
  versions:
  - {name: v1beta1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
  - {name: v1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig: {service: {name: webhook-service, namespace: system, path: /convert}}
`

func TestDefinitionsAreConvertedByTheServerOfTheTest(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "crd.yaml"), []byte(versioned), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "manifests.yaml"), []byte(manifests), 0o600))
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithCRDPaths(filepath.Join(dir, "crd.yaml")),
		fakecluster.WithWebhookPaths(filepath.Join(dir, "manifests.yaml")))
	h := &converter{}
	serveAsController(t, c, h)
	u := &unstructured.Unstructured{Object: object{"apiVersion": "example.com/v1beta1", "kind": "CronTab", "metadata": object{"name": "a"}}}
	_, err := cronTabsIn(c, "v1beta1").Create(t.Context(), u, metav1.CreateOptions{})
	must(t, err)
	got, err := cronTabsIn(c, "v1").Get(t.Context(), "a", metav1.GetOptions{})
	must(t, err)
	equal(t, "apiVersion and calls", []string{got.GetAPIVersion(), h.calls()}, []string{"example.com/v1", "[1]"})
}

// The port of the test's webhook server is reserved until that server takes it.
func TestThePortOfTheWebhookServerIsReserved(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux can reserve a port")
	}
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "manifests.yaml"), []byte(manifests), 0o600))
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithWebhookPaths(dir))
	mine := c.WebhookServer().Port
	for range 2000 { // the system goes round its free ports
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		if l.Addr().(*net.TCPAddr).Port == mine {
			t.Error("the port was given to somebody else")
		}
		must(t, l.Close())
	}
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", mine))
	must(t, err)
	must(t, l.Close())
}
