package envtest

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crenvtest "sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// An Environment takes a cluster that is there already: it installs definitions and webhooks, and
// takes them away again, and starts no process.
func TestUseExistingCluster(t *testing.T) {
	c := fakecluster.Start(t)
	existing := true
	environment := &crenvtest.Environment{
		UseExistingCluster: &existing, Config: c.RESTConfig(),
		CRDInstallOptions:     crenvtest.CRDInstallOptions{Paths: []string{"testdata/project/config/crd"}, ErrorIfPathMissing: true, CleanUpAfterUse: true},
		WebhookInstallOptions: crenvtest.WebhookInstallOptions{Paths: []string{"testdata/project/config/webhook"}},
	}
	cfg, err := environment.Start()
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Host != c.URL() {
		t.Errorf("the environment is at %s, the cluster at %s", cfg.Host, c.URL())
	}
	cl, err := client.New(cfg, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	guestbook := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Guestbook", "metadata": map[string]any{"name": "a", "namespace": "default"},
	}}
	if err := cl.Create(t.Context(), guestbook.DeepCopy()); err == nil || !apierrors.IsInternalError(err) {
		t.Errorf("before somebody serves the webhooks: %v", err)
	}
	serve(t, environment.WebhookInstallOptions)
	if err := cl.Create(t.Context(), guestbook); err != nil {
		t.Error(err)
	}
	if title, _, _ := unstructured.NestedString(guestbook.Object, "spec", "title"); title != "by default" {
		t.Errorf("the webhook has left the title %q", title)
	}

	definition := &unstructured.Unstructured{}
	definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	if err := environment.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := cl.Get(t.Context(), client.ObjectKey{Name: "guestbooks.example.com"}, definition); !apierrors.IsNotFound(err) {
		t.Errorf("the definition after the end of the environment: %v", err)
	}
	// The cluster outlives the environment.
	clients, err := kubernetes.NewForConfig(c.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := clients.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
}

// serve serves the webhooks at the address that an environment has given to the cluster.
func serve(t *testing.T, options crenvtest.WebhookInstallOptions) {
	t.Helper()
	certificate, err := tls.LoadX509KeyPair(filepath.Join(options.LocalServingCertDir, "tls.crt"), filepath.Join(options.LocalServingCertDir, "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := tls.Listen("tcp", net.JoinHostPort(options.LocalServingHost, strconv.Itoa(options.LocalServingPort)), &tls.Config{Certificates: []tls.Certificate{certificate}})
	if err != nil {
		t.Fatal(err)
	}
	webhooks := http.NewServeMux()
	for path, handler := range map[string]admission.HandlerFunc{
		"/mutate-example-com-v1-guestbook": func(_ context.Context, r admission.Request) admission.Response {
			return admission.PatchResponseFromRaw(r.Object.Raw, bytes.Replace(r.Object.Raw, []byte("{"), []byte(`{"spec":{"title":"by default"},`), 1))
		},
		"/validate-example-com-v1-guestbook": func(context.Context, admission.Request) admission.Response { return admission.Allowed("") },
	} {
		webhook, err := admission.StandaloneWebhook(&admission.Webhook{Handler: handler}, admission.StandaloneOptions{})
		if err != nil {
			t.Fatal(err)
		}
		webhooks.Handle(path, webhook)
	}
	server := &http.Server{Handler: webhooks}
	go func() { _ = server.Serve(listener) }() // until it is closed
	t.Cleanup(func() { _ = server.Close() })
}
