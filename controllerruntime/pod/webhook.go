package pod

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path"
	"strconv"
	"sync/atomic"

	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/fakecluster/fakecluster/workloads"
)

// webhookServer is a webhook.Server that listens on the network of a container.
type webhookServer struct {
	webhook.Server // has the registered webhooks; it is never started
	container      *workloads.Container
	options        webhook.Options
	listens        atomic.Bool
}

// newWebhookServer returns a server with the options of the given one; nil: with the default options.
func newWebhookServer(c *workloads.Container, given webhook.Server) (webhook.Server, error) {
	if given == nil {
		given = webhook.NewServer(webhook.Options{})
	}
	s, ok := given.(*webhook.DefaultServer)
	if !ok {
		return nil, fmt.Errorf("WebhookServer is a %T; make it with webhook.NewServer", given)
	}
	return &webhookServer{Server: s, container: c, options: s.Options}, nil
}

// Start implements webhook.Server.
func (s *webhookServer) Start(ctx context.Context) error {
	o := s.options
	if o.Port < 0 {
		return nil
	}
	config, err := s.tlsConfig()
	if err != nil {
		return err
	}
	l, err := s.container.Listen("tcp", net.JoinHostPort(o.Host, strconv.Itoa(cmp.Or(o.Port, webhook.DefaultPort))))
	if err != nil {
		return err
	}
	s.listens.Store(true)
	var handler http.Handler = http.NotFoundHandler()
	if mux := s.WebhookMux(); mux != nil { // it is nil until the first webhook is registered
		handler = mux
	}
	return newServer("webhook", tls.NewListener(l, config), handler).Start(ctx)
}

func (s *webhookServer) tlsConfig() (*tls.Config, error) {
	o := s.options
	dir := cmp.Or(o.CertDir, path.Join(tempDir(s.container), "k8s-webhook-server", "serving-certs"))
	config := &tls.Config{NextProtos: []string{"h2"}}
	for _, set := range o.TLSOpts {
		set(config)
	}
	if config.GetCertificate == nil {
		files := certificate{s.container, dir, o.CertName, o.KeyName}
		if _, err := files.get(nil); err != nil {
			return nil, err
		}
		config.GetCertificate = files.get
	}
	if o.ClientCAName != "" {
		ca, err := s.container.ReadFile(path.Join(dir, o.ClientCAName))
		if err != nil {
			return nil, fmt.Errorf("failed to read client CA cert: %w", err)
		}
		config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		if !config.ClientCAs.AppendCertsFromPEM(ca) {
			return nil, errors.New("failed to append client CA cert to CA pool")
		}
	}
	return config, nil
}

// StartedChecker implements webhook.Server.
func (s *webhookServer) StartedChecker() healthz.Checker {
	return func(*http.Request) error {
		if s.options.Port >= 0 && !s.listens.Load() {
			return errors.New("webhook server has not been started yet")
		}
		return nil
	}
}
