package workloads_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads"
)

// approved creates the request "one" with an approval. The result is the key, as PEM.
func approved(ctx context.Context, t *testing.T, client kubernetes.Interface, request x509.CertificateRequest, spec certificatesv1.CertificateSigningRequestSpec) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &request, key)
	if err != nil {
		t.Fatal(err)
	}
	spec.Request = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	requests := client.CertificatesV1().CertificateSigningRequests()
	csr, err := requests.Create(ctx, &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "one"}, Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test"}}
	if _, err := requests.UpdateApproval(ctx, "one", csr, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded})
}

func TestApprovedRequestsAreSigned(t *testing.T) {
	node := pkix.Name{CommonName: "system:node:n1", Organization: []string{"system:nodes"}}
	client := []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth}
	for _, c := range []struct {
		signer   string
		rule     string
		request  x509.CertificateRequest
		usages   []certificatesv1.KeyUsage
		lifetime time.Duration
		want     x509.ExtKeyUsage
		failure  string
	}{
		{"kubernetes.io/kube-apiserver-client", "a client", x509.CertificateRequest{Subject: pkix.Name{CommonName: "jane"}}, client, 0, x509.ExtKeyUsageClientAuth, ""},
		{"kubernetes.io/kube-apiserver-client", "a client for an hour", x509.CertificateRequest{Subject: pkix.Name{CommonName: "jane"}}, client, time.Hour, x509.ExtKeyUsageClientAuth, ""},
		{"kubernetes.io/kube-apiserver-client", "a client that would be a server, too", x509.CertificateRequest{Subject: pkix.Name{CommonName: "jane"}},
			append(client, certificatesv1.UsageServerAuth), 0, 0, "invalid usage for client certificate: server auth"},
		{"kubernetes.io/kube-apiserver-client", "a client without its usage", x509.CertificateRequest{Subject: pkix.Name{CommonName: "jane"}},
			client[:1], 0, 0, "missing required usage for client certificate: client auth"},
		{"kubernetes.io/kube-apiserver-client-kubelet", "a kubelet", x509.CertificateRequest{Subject: node}, client, 0, x509.ExtKeyUsageClientAuth, ""},
		{"kubernetes.io/kube-apiserver-client-kubelet", "a kubelet with the name of a user", x509.CertificateRequest{Subject: pkix.Name{CommonName: "jane", Organization: node.Organization}},
			client, 0, 0, "subject common name does not begin with system:node:"},
		{"kubernetes.io/kubelet-serving", "the server of a kubelet", x509.CertificateRequest{Subject: node, DNSNames: []string{"n1"}, IPAddresses: []net.IP{{172, 18, 0, 2}}},
			[]certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth}, 0, x509.ExtKeyUsageServerAuth, ""},
	} {
		t.Run(c.signer+": "+c.rule, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w world) {
				spec := certificatesv1.CertificateSigningRequestSpec{SignerName: c.signer, Usages: c.usages}
				lifetime := 365*24*time.Hour - 5*time.Minute
				if c.lifetime > 0 {
					spec.ExpirationSeconds = new(int32(c.lifetime.Seconds()))
					lifetime = c.lifetime
				}
				began := time.Now()
				approved(w.Context(), w.T, w.client, c.request, spec)
				w.pass(0)
				csr, err := w.client.CertificatesV1().CertificateSigningRequests().Get(w.Context(), "one", metav1.GetOptions{})
				if err != nil {
					w.Fatal(err)
				}
				if c.failure != "" {
					if got := csr.Status.Conditions[len(csr.Status.Conditions)-1]; got.Type != certificatesv1.CertificateFailed || got.Reason != "SignerValidationFailure" || got.Message != c.failure {
						w.Errorf("the condition is %v", got)
					}
					return
				}
				block, _ := pem.Decode(csr.Status.Certificate)
				if block == nil {
					w.Fatalf("there is no certificate; conditions: %v", csr.Status.Conditions)
				}
				certificate, err := x509.ParseCertificate(block.Bytes)
				if err != nil {
					w.Fatal(err)
				}
				ca, err := w.client.CoreV1().ConfigMaps("default").Get(w.Context(), "kube-root-ca.crt", metav1.GetOptions{})
				if err != nil {
					w.Fatal(err)
				}
				roots := x509.NewCertPool()
				roots.AppendCertsFromPEM([]byte(ca.Data["ca.crt"]))
				if _, err := certificate.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{c.want}}); err != nil {
					w.Errorf("the certificate is not one of the cluster's authority: %v", err)
				}
				if got := certificate.Subject.CommonName; got != c.request.Subject.CommonName {
					w.Errorf("the name is %q", got)
				}
				if len(certificate.DNSNames) != len(c.request.DNSNames) || len(certificate.IPAddresses) != len(c.request.IPAddresses) || len(certificate.Subject.Organization) != len(c.request.Subject.Organization) {
					w.Errorf("the certificate lacks names: %v", certificate)
				}
				if !certificate.NotBefore.Equal(began.Add(-5*time.Minute)) || !certificate.NotAfter.Equal(began.Add(lifetime)) {
					w.Errorf("the certificate is valid from %v to %v", certificate.NotBefore, certificate.NotAfter)
				}
			}, workloads.Controllers("certificatesigningrequest-signing-controller", "root-ca-certificate-publisher-controller"), workloads.WithoutScheduler())
		})
	}
}

// TestACertificateIsACredentialOfItsCluster proves that a signed certificate authenticates its user, and in no other cluster.
func TestACertificateIsACredentialOfItsCluster(t *testing.T) {
	c, other := fakecluster.Start(t, fakecluster.WithTLS()), fakecluster.Start(t, fakecluster.WithTLS())
	workloads.Run(t, c, workloads.Controllers("certificatesigningrequest-signing-controller"), workloads.WithoutScheduler())
	client := kubernetes.NewForConfigOrDie(c.RESTConfig())
	key := approved(t.Context(), t, client, x509.CertificateRequest{Subject: pkix.Name{CommonName: "jane", Organization: []string{"dev", "ops"}, SerialNumber: "forged"}},
		certificatesv1.CertificateSigningRequestSpec{SignerName: certificatesv1.KubeAPIServerClientSignerName, Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth}})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	events, err := client.CertificatesV1().CertificateSigningRequests().Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	var certificate []byte
	for len(certificate) == 0 {
		e, more := <-events.ResultChan()
		if !more {
			t.Fatal("the request is not signed")
		}
		certificate = e.Object.(*certificatesv1.CertificateSigningRequest).Status.Certificate
	}
	whoAmI := func(cluster *fakecluster.Cluster) (*authenticationv1.SelfSubjectReview, error) {
		cfg := rest.AnonymousClientConfig(cluster.RESTConfig())
		cfg.CertData, cfg.KeyData = certificate, key
		return kubernetes.NewForConfigOrDie(cfg).AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	}
	review, err := whoAmI(c)
	if err != nil {
		t.Fatal(err)
	}
	if u := review.Status.UserInfo; u.Username != "jane" || len(u.Groups) != 3 || u.Groups[0] != "dev" || u.Groups[1] != "ops" {
		t.Errorf("the user is %v", u)
	}
	if _, err := whoAmI(other); !apierrors.IsUnauthorized(err) {
		t.Errorf("another cluster: %v", err)
	}
}
