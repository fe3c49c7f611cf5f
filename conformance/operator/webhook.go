package operator

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	admission "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	admissionwebhook "sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

const defaultLanguage = "en"

// defaulter gives a greeting its language.
type defaulter struct{}

func (defaulter) Default(_ context.Context, g *Greeting) error {
	if g.Spec.Language == "" {
		g.Spec.Language = defaultLanguage
	}
	return nil
}

const refusal = "a greeting needs a text"

// validator refuses a greeting without a text.
type validator struct{}

func (validator) ValidateCreate(_ context.Context, g *Greeting) (admissionwebhook.Warnings, error) {
	if g.Spec.Text == "" {
		return nil, errors.New(refusal)
	}
	return nil, nil
}

func (v validator) ValidateUpdate(ctx context.Context, _, g *Greeting) (admissionwebhook.Warnings, error) {
	return v.ValidateCreate(ctx, g)
}

func (validator) ValidateDelete(context.Context, *Greeting) (admissionwebhook.Warnings, error) {
	return nil, nil
}

// endpoint is where webhooks are served, and by which certificate.
type endpoint struct {
	port    int
	certDir string
	ca      []byte // PEM
}

// newEndpoint finds a free port and writes a certificate for it into a folder.
func newEndpoint(certDir string) (endpoint, error) {
	// The webhook server of controller-runtime takes a port, not a listener.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return endpoint{}, err
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if err := listener.Close(); err != nil {
		return endpoint{}, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return endpoint{}, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return endpoint{}, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return endpoint{}, err
	}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
	return endpoint{port: port, certDir: certDir, ca: ca}, errors.Join(
		os.WriteFile(filepath.Join(certDir, "tls.crt"), ca, 0o600),
		os.WriteFile(filepath.Join(certDir, "tls.key"), keyPEM, 0o600))
}

// configurations registers the webhooks with the server.
func (e endpoint) configurations() []client.Object {
	clientConfig := func(path string) admission.WebhookClientConfig {
		url := fmt.Sprintf("https://127.0.0.1:%d%s", e.port, path)
		return admission.WebhookClientConfig{URL: &url, CABundle: e.ca}
	}
	rules := []admission.RuleWithOperations{{
		Operations: []admission.OperationType{admission.Create, admission.Update},
		Rule: admission.Rule{
			APIGroups:   []string{groupVersion.Group},
			APIVersions: []string{groupVersion.Version},
			Resources:   []string{greetingResource.Resource},
		},
	}}
	none := admission.SideEffectClassNone
	name := "greetings.conformance.example.com"
	return []client.Object{
		&admission.MutatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Webhooks: []admission.MutatingWebhook{{
				Name: "default." + name, Rules: rules, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
				ClientConfig: clientConfig("/mutate-conformance-example-com-v1-greeting"),
			}},
		},
		&admission.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Webhooks: []admission.ValidatingWebhook{{
				Name: "validate." + name, Rules: rules, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
				ClientConfig: clientConfig("/validate-conformance-example-com-v1-greeting"),
			}},
		},
	}
}
