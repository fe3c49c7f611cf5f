package fakecluster

import (
	"context"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fakecluster/fakecluster/internal/manifests"
	"github.com/fakecluster/fakecluster/internal/pipe"
)

// WithWebhookPaths installs the MutatingWebhookConfigurations and
// ValidatingWebhookConfigurations in manifest files and folders, as controller-gen writes them
// to config/webhook. The paths are read as those of WithCRDPaths. Objects of other kinds are
// ignored.
//
// Every service that a webhook refers to, except those of WithService, is the webhook server
// of the test: that of controller-runtime, unmodified, on the address that
// Cluster.WebhookServer returns, or a handler that the test gives to Cluster.ServeWebhooks.
// This includes the services of the conversion webhooks of WithCRDPaths. The cluster fills in the
// caBundle of all of them.
//
// The configurations are installed last, because the server can run only after the cluster
// has started; the webhooks are not called for the objects of WithObjects. In a
// testing/synctest bubble the server cannot listen on an address: use Cluster.ServeWebhooks, as
// package controllerruntime does. The option may be given more than once.
//
// Default: no webhooks.
func WithWebhookPaths(paths ...string) Option {
	return func(s *settings) { s.webhookPaths = append(s.webhookPaths, paths...) }
}

// WebhookServer has the address and the certificate with which the webhook server of a test must listen, so
// that the cluster reaches it for the webhooks of WithWebhookPaths. The fields have the names of
// controller-runtime's webhook.Options:
//
//	s := cluster.WebhookServer()
//	webhook.NewServer(webhook.Options{Host: s.Host, Port: s.Port, CertDir: s.CertDir})
type WebhookServer struct {
	Host string
	Port int
	// CertDir is a folder with tls.crt and tls.key. Close removes it.
	CertDir string
}

// WebhookServer returns the address and the certificate for the webhook server of WithWebhookPaths. A fork
// has another port and CertDir, and needs a server of its own. Without that option it returns the zero value.
func (c *Cluster) WebhookServer() WebhookServer { return c.services.server }

func (s WebhookServer) address() string { return fmt.Sprintf("%s:%d", s.Host, s.Port) }

// ServeWebhooks makes a handler answer the webhooks of WithWebhookPaths and the conversion webhooks of
// WithCRDPaths, in place of a server on the address of WebhookServer. It is the handler of that server,
// such as the WebhookMux of controller-runtime's. The cluster calls it through memory, so that it works in
// a testing/synctest bubble, and webhooks can be called when ServeWebhooks returns. A further call
// replaces the handler. A fork needs a call of its own.
//
// It is an error if the cluster does not have the option WithWebhookPaths, or is closed, or if the
// handler is nil.
func (c *Cluster) ServeWebhooks(h http.Handler) error {
	switch {
	case isNilHandler(h):
		return errors.New("ServeWebhooks: the handler is nil")
	case c.services.server.Port == 0:
		return errors.New("ServeWebhooks: no webhook calls the handler: start the cluster with WithWebhookPaths, " +
			"and with the folder of the definitions if only conversion webhooks call it, as WithWebhookPaths(\"config/crd\")")
	}
	return c.services.serveWebhooks(c.services.panics.noting("webhooks", h))
}

// isNilHandler reports whether a handler is nil, or a nil pointer or function. The mux of a
// controller-runtime manager without webhooks is a nil pointer.
func isNilHandler(h http.Handler) bool {
	v := reflect.ValueOf(h)
	return h == nil || (v.Kind() == reflect.Pointer || v.Kind() == reflect.Func) && v.IsNil()
}

// servedWebhooks is the handler of ServeWebhooks, with its server.
type servedWebhooks struct {
	mu      sync.Mutex
	handler http.Handler
	server  *pipe.Server // nil: there is no handler
	end     func()
	closed  bool
}

// serveWebhooks serves a handler in place of the test's webhook server.
func (s *services) serveWebhooks(h http.Handler) error {
	w := &s.served
	w.mu.Lock()
	defer w.mu.Unlock()
	w.handler = h
	switch {
	case w.closed:
		return errors.New("ServeWebhooks: the cluster is closed")
	case w.server != nil:
		return nil
	}
	certificate, err := s.authority.ServerCertificate(localServer)
	if err != nil {
		return fmt.Errorf("ServeWebhooks: making a certificate: %w", err)
	}
	server, end := newServer(w)
	w.server, w.end = pipe.Serve(server, &tls.Config{Certificates: []tls.Certificate{certificate}}), end
	return nil
}

// ServeHTTP calls the present handler.
func (w *servedWebhooks) ServeHTTP(rw http.ResponseWriter, req *http.Request) {
	w.mu.Lock()
	h := w.handler
	w.mu.Unlock()
	h.ServeHTTP(rw, req)
}

// dial returns a function that connects to the server, or nil if there is no handler.
func (w *servedWebhooks) dial() func(context.Context) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.server == nil {
		return nil
	}
	return w.server.DialContext
}

func (w *servedWebhooks) close() {
	w.mu.Lock()
	server, end := w.server, w.end
	w.server, w.closed = nil, true
	w.mu.Unlock()
	if server != nil {
		end()
		server.Stop()
	}
}

// loadWebhooks reads the manifests of WithWebhookPaths.
func (s *settings) loadWebhooks() error {
	for _, path := range s.webhookPaths {
		err := eachManifest("webhook path", path, func(m manifests.Manifest) error {
			switch m.Kind {
			case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
			default:
				return nil
			}
			if v := admissionregistrationv1.SchemeGroupVersion.String(); m.APIVersion != v {
				return fmt.Errorf("%s %q is in %s; write it in %s", m.Kind, m.Name, m.APIVersion, v)
			}
			u := &unstructured.Unstructured{}
			if err := u.UnmarshalJSON(m.Text); err != nil {
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

// localServer is the name in the certificate of the test's webhook server, because one server serves services
// of any name.
const localServer = "localhost"

// ServerName implements server.Services.
func (s *services) ServerName(namespace, name string, port int32) string {
	if s.server.Port == 0 || s.listenerOf(reference(namespace, name, port)) != nil {
		return ""
	}
	return localServer
}

// prepareServer finds a free port for the test's webhook server and writes its certificate. From then on
// every service that WithService does not name resolves to that server.
func (s *services) prepareServer() error {
	port, free, err := reservePort()
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
	return s.server.Port != 0 || s.listenerOf(reference(namespace, name, int32(port))) != nil
}
