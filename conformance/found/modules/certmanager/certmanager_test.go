package certmanager

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cert-manager/cert-manager/pkg/controller"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver" // the controllers register themselves
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
	"github.com/cert-manager/cert-manager/pkg/webhook/admission"
	"github.com/cert-manager/cert-manager/pkg/webhook/server"
	webhooktest "github.com/cert-manager/cert-manager/test/webhook"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/conformance/found/modules/explored"
	"github.com/fakecluster/fakecluster/explore"
	"github.com/fakecluster/fakecluster/fakecluster"
)

func TestCertManager(t *testing.T) {
	http.DefaultTransport = hosts
	const module = "github.com/cert-manager/cert-manager"
	in := explored.Folder(t, module)
	webhook := newWebhook(t)
	explored.Run(t, module, explore.Subject{
		Install: append(in("deploy/crds"), "issuer.yaml"),
		Roles:   []string{"roles.yaml"},
		Seeds:   []string{"certificate.yaml", newAuthority(t)},
		Options: []fakecluster.Option{fakecluster.WithWebhookPaths("webhook.yaml")},
		// cert-manager does not stop what sends its Events: that ends with the process.
		Without: []explore.Oracle{explore.NoLeak},
		Prepare: func(t testing.TB, c *fakecluster.Cluster) func(context.Context, *rest.Config) error {
			if err := c.ServeWebhooks(webhook); err != nil {
				t.Fatal(err)
			}
			return operate
		},
	})
}

// operate runs cert-manager as its command does, which reads the address of the API server from a flag.
func operate(ctx context.Context, cfg *rest.Config) error {
	host, err := hosts.add(cfg)
	if err != nil {
		return err
	}
	factory, err := controller.NewContextFactory(ctx, controller.ContextOptions{
		APIServerHost:      host,
		KubernetesAPIQPS:   20,
		KubernetesAPIBurst: 50,
		IssuerOptions:      controller.IssuerOptions{ClusterResourceNamespace: "cert-manager"},
		CertificateOptions: controller.CertificateOptions{
			CopiedAnnotationPrefixes:                 []string{"*", "-kubectl.kubernetes.io/", "-fluxcd.io/", "-argocd.argoproj.io/"},
			CertificateRequestMinimumBackoffDuration: time.Hour,
			CertificateRequestMaximumBackoffDuration: 32 * time.Hour,
		},
	})
	if err != nil {
		return err
	}
	controllerContext, err := factory.Build()
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	errs := make(chan error, len(controller.Known()))
	for name, construct := range controller.Known() {
		c, err := construct(factory)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		running.Go(func() { errs <- c.Run(5, ctx) })
	}
	controllerContext.SharedInformerFactory.Start(ctx.Done())
	controllerContext.KubeSharedInformerFactory.Start(ctx.Done())
	controllerContext.HTTP01ResourceMetadataInformersFactory.Start(ctx.Done())
	running.Wait()
	controllerContext.SharedInformerFactory.Shutdown()
	controllerContext.KubeSharedInformerFactory.Shutdown()
	controllerContext.HTTP01ResourceMetadataInformersFactory.Shutdown()
	close(errs)
	for failed := range errs {
		err = errors.Join(err, failed)
	}
	return err
}

// newAuthority returns the file of the Secret that the issuer in issuer.yaml signs with.
func newAuthority(t *testing.T) string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	// Time begins in the year 2000 in a bubble.
	template := &x509.Certificate{BasicConstraintsValid: true, IsCA: true, SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"},
		NotBefore: time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC), KeyUsage: x509.KeyUsageCertSign}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "ca"}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{
			corev1.TLSCertKey:       pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
			corev1.TLSPrivateKeyKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "ca.yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// newWebhook returns the webhook of cert-manager. Its constructor can be called only by a function that serves it, too.
func newWebhook(t *testing.T) http.Handler {
	var hooks *server.Server
	_, stop := webhooktest.StartWebhookServer(t, []string{"--api-server-host=http://webhook"}, func(s *server.Server) { hooks = s })
	stop()
	mux := http.NewServeMux()
	mux.Handle("/validate", admission.NewCustomValidationWebhook(hooks.ResourceScheme, hooks.ValidationWebhook))
	return mux
}

// transports are the default transport of net/http, which client-go uses for an address without TLS: each cluster has an address.
type transports struct {
	n       atomic.Int64
	targets sync.Map // of target by host
}

type target struct {
	*url.URL
	http.RoundTripper
}

var hosts = &transports{}

// add returns the address of what a configuration is for.
func (t *transports) add(cfg *rest.Config) (address string, err error) {
	var to target
	if to.RoundTripper, err = rest.TransportFor(cfg); err != nil {
		return "", err
	}
	if to.URL, _, err = rest.DefaultServerUrlFor(cfg); err != nil {
		return "", err
	}
	host := fmt.Sprintf("cluster-%d", t.n.Add(1))
	t.targets.Store(host, to)
	return "http://" + host, nil
}

// RoundTrip implements http.RoundTripper.
func (t *transports) RoundTrip(req *http.Request) (*http.Response, error) {
	found, ok := t.targets.Load(req.URL.Host)
	if !ok {
		return nil, fmt.Errorf("there is no cluster with the address %s", req.URL.Host)
	}
	to := found.(target)
	req = req.Clone(req.Context())
	req.URL.Scheme, req.URL.Host, req.Host = to.Scheme, to.Host, ""
	return to.RoundTripper.RoundTrip(req)
}
