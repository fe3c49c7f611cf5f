package fakecluster

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fakecluster/fakecluster/internal/freeport"
)

// WithWebhookPaths installs the MutatingWebhookConfigurations and
// ValidatingWebhookConfigurations in manifest files and folders, as controller-gen writes them
// to config/webhook. The paths are read as those of WithCRDPaths. Objects of other kinds are
// ignored.
//
// Every service that a webhook refers to, except those of WithService, is the webhook server
// of the test: that of controller-runtime, unmodified, on the address that
// Cluster.WebhookServer returns. This includes the services of the conversion webhooks of
// WithCRDPaths. The cluster fills in the caBundle of all of them.
//
// The configurations are installed last, because the server can run only after the cluster
// has started; the webhooks are not called for the objects of WithObjects. The cluster calls
// the server over a socket, so this does not work in a testing/synctest bubble. The option
// may be given more than once.
//
// Default: no webhooks.
func WithWebhookPaths(paths ...string) Option {
	return func(s *settings) { s.webhookPaths = append(s.webhookPaths, paths...) }
}

// WebhookServer says where the webhook server of a test has to listen, and with which
// certificate, so that the cluster reaches it for the webhooks of WithWebhookPaths. The fields
// have the names of controller-runtime's webhook.Options:
//
//	s := cluster.WebhookServer()
//	webhook.NewServer(webhook.Options{Host: s.Host, Port: s.Port, CertDir: s.CertDir})
type WebhookServer struct {
	Host string
	Port int
	// CertDir is a folder with tls.crt and tls.key. Close removes it.
	CertDir string
}

// WebhookServer returns how to run the webhook server of WithWebhookPaths. A fork has another
// port and certificate, and needs a server of its own. Without that option it returns the zero
// value.
func (c *Cluster) WebhookServer() WebhookServer { return c.services.server }

// loadWebhooks reads the manifests of WithWebhookPaths.
func (s *settings) loadWebhooks() error {
	for _, path := range s.webhookPaths {
		err := eachManifest("webhook path", path, func(m manifest) error {
			switch m.Kind {
			case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
			default:
				return nil
			}
			if v := admissionregistrationv1.SchemeGroupVersion.String(); m.APIVersion != v {
				return fmt.Errorf("%s %q is of %s, not %s", m.Kind, m.Name, m.APIVersion, v)
			}
			u := &unstructured.Unstructured{}
			if err := u.UnmarshalJSON(m.text); err != nil {
				return err
			}
			s.webhooks = append(s.webhooks, u)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// localServer is the name in the certificate of the test's webhook server, which stands for
// services of all names.
const localServer = "localhost"

// ServerName implements rest.Services.
func (s *services) ServerName(namespace, name string, port int32) string {
	if s.server.Port == 0 || s.listeners[reference(namespace, name, port)] != nil {
		return ""
	}
	return localServer
}

// prepareServer finds a free port for the test's webhook server and writes its certificate.
// From then on every service that WithService does not name stands for that server.
func (s *services) prepareServer() error {
	port, free, err := freeport.Reserve()
	if err != nil {
		return err
	}
	s.server, s.freePort = WebhookServer{Host: "127.0.0.1", Port: port}, free
	certificate, err := s.authority.ServerCertificate(localServer)
	if err != nil {
		return err
	}
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey.(*ecdsa.PrivateKey))
	if err != nil {
		return err
	}
	if s.server.CertDir, err = os.MkdirTemp("", "fakecluster-webhooks-"); err != nil {
		return err
	}
	var chain []byte
	for _, der := range certificate.Certificate {
		chain = append(chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
	return errors.Join(
		os.WriteFile(filepath.Join(s.server.CertDir, "tls.crt"), chain, 0o600),
		os.WriteFile(filepath.Join(s.server.CertDir, "tls.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600))
}

// trustWebhooks fills in the caBundle of every webhook of a configuration that refers to a
// service of the cluster or of the test.
func (s *services) trustWebhooks(u *unstructured.Unstructured) {
	webhooks, _, _ := unstructured.NestedSlice(u.Object, "webhooks")
	for _, w := range webhooks {
		if w, ok := w.(map[string]any); ok {
			s.trust(&unstructured.Unstructured{Object: w}, "clientConfig")
		}
	}
	if len(webhooks) > 0 {
		u.Object["webhooks"] = webhooks
	}
}

// trust fills in the caBundle of a clientConfig that refers to a service of the cluster or of
// the test.
func (s *services) trust(u *unstructured.Unstructured, path ...string) {
	config, ok, err := unstructured.NestedMap(u.Object, path...)
	if !ok || err != nil || !s.has(config["service"]) {
		return
	}
	config["caBundle"] = base64.StdEncoding.EncodeToString(s.bundle())
	_ = unstructured.SetNestedMap(u.Object, config, path...) // NestedMap has found the path
}

// has reports whether a reference to a service reaches a handler or the test's server.
func (s *services) has(service any) bool {
	ref, ok := service.(map[string]any)
	if !ok {
		return false
	}
	namespace, _ := ref["namespace"].(string)
	name, _ := ref["name"].(string)
	port, ok := ref["port"].(int64)
	if !ok {
		port = 443
	}
	return s.server.Port != 0 || s.listeners[reference(namespace, name, int32(port))] != nil
}
