package fakecluster

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// WithWebhookPaths installs the MutatingWebhookConfigurations and
// ValidatingWebhookConfigurations in the given manifest files and folders, as
// controller-gen writes them to config/webhook; objects of other kinds are left out.
// The services that they refer to, unless WithService names them, are the server
// that the test is to run with what Cluster.WebhookServer says:
// controller-runtime's, unmodified. The caBundle of every service reference is
// filled in, and so it is in the conversion webhooks of WithCRDPaths, whose services
// are that server, too. The configurations are installed after everything else, so
// that WithObjects needs no server. The server is reached by a socket: this does not
// work in a testing/synctest bubble. The option may be given more than once.
//
// Default: no webhooks.
func WithWebhookPaths(paths ...string) Option {
	return func(s *settings) { s.webhookPaths = append(s.webhookPaths, paths...) }
}

// WebhookServer is how a test's webhook server has to run to be the one that the
// manifests of WithWebhookPaths refer to, in the words of controller-runtime's
// webhook.Options:
//
//	s := cluster.WebhookServer()
//	webhook.NewServer(webhook.Options{Host: s.Host, Port: s.Port, CertDir: s.CertDir})
type WebhookServer struct {
	Host string
	Port int
	// CertDir has tls.crt and tls.key in it, until the cluster is closed.
	CertDir string
}

// WebhookServer says how to run the server of WithWebhookPaths. A fork has a server
// of its own. It is the zero value without that option.
func (c *Cluster) WebhookServer() WebhookServer { return c.services.server }

// loadWebhooks reads the manifests.
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

// localServer is the name in the certificate of the test's webhook server, which is
// any service.
const localServer = "localhost"

// ServerName implements crd.Dialer.
func (s *services) ServerName(namespace, name string, port int32) string {
	if s.server.Port == 0 || s.listeners[reference(namespace, name, port)] != nil {
		return ""
	}
	return localServer
}

// prepareServer finds a port for the test's webhook server, and writes its
// certificate. Every service that is not known is that server from then on.
func (s *services) prepareServer() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.server = WebhookServer{Host: "127.0.0.1", Port: listener.Addr().(*net.TCPAddr).Port}
	if err := listener.Close(); err != nil {
		return err
	}
	certificate, err := s.authority.newCertificate(localServer)
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

// trustWebhooks fills in the bundle of every webhook of a configuration that refers
// to a service.
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

// trust fills in the bundle of a clientConfig that refers to a service that is here.
func (s *services) trust(u *unstructured.Unstructured, path ...string) {
	config, ok, err := unstructured.NestedMap(u.Object, path...)
	if !ok || err != nil || !s.has(config["service"]) {
		return
	}
	config["caBundle"] = base64.StdEncoding.EncodeToString(s.bundle())
	_ = unstructured.SetNestedMap(u.Object, config, path...) // the path was there
}

// has tells whether a reference to a service reaches a handler or the test's server.
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
