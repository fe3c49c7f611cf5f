package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// signer is an authority that signs CertificateSigningRequests.
type signer struct {
	*testing.T
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
}

func newSigner(t *testing.T) signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s := signer{t, key, &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "signer"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}}
	raw, err := x509.CreateCertificate(rand.Reader, s.certificate, s.certificate, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	if s.certificate, err = x509.ParseCertificate(raw); err != nil {
		t.Fatal(err)
	}
	return s
}

// sign issues a client certificate.
func (s signer) sign(request []byte) []byte {
	s.Helper()
	block, _ := pem.Decode(request)
	parsed, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		s.Fatal(err)
	}
	raw, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: parsed.Subject, NotBefore: s.certificate.NotBefore, NotAfter: s.certificate.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, s.certificate, parsed.PublicKey, s.key)
	if err != nil {
		s.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
}

// A certificate that is issued through a CertificateSigningRequest authenticates, because serve takes the flags of
// kube-apiserver, and the mode Node lets a kubelet make its Node.
func TestServeTakesTheFlagsOfKubeAPIServer(t *testing.T) {
	folder := t.TempDir()
	authority := newSigner(t)
	ca, kubeconfig := filepath.Join(folder, "ca.crt"), filepath.Join(folder, "kubeconfig")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.certificate.Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	_, port, _ := net.SplitHostPort(address)
	s := serveArgs(t, "--kubeconfig", kubeconfig, "--port", port, "--client_ca_file="+ca, "--authorization-mode=Node,RBAC", "--profiling=false", "-v", "4")
	defer s.end(t)
	if want := "https://" + address; s.url != want {
		t.Errorf("URL %s, want %s", s.url, want)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	admin := kubernetes.NewForConfigOrDie(config)
	kubelet := kubernetes.NewForConfigOrDie(authority.issued(t.Context(), admin, config, pkix.Name{CommonName: "system:node:a", Organization: []string{"system:nodes"}}))
	review, err := kubelet.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := review.Status.UserInfo; got.Username != "system:node:a" || strings.Join(got.Groups, ",") != "system:nodes,system:authenticated" {
		t.Errorf("the certificate is of %v", got)
	}
	if _, err := kubelet.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{}); err != nil {
		t.Errorf("its own node: %v", err)
	}
	text, err := admin.Discovery().RESTClient().Get().AbsPath("/flagz").SetHeader("Accept", "text/plain").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"5m0s", ca, "[Node,RBAC]"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("/flagz has no %s:\n%s", want, text)
		}
	}
}

// issued returns a configuration with a certificate that a CertificateSigningRequest was given.
func (s signer) issued(ctx context.Context, admin kubernetes.Interface, server *rest.Config, name pkix.Name) *rest.Config {
	s.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.Fatal(err)
	}
	encoded, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		s.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: name}, key)
	if err != nil {
		s.Fatal(err)
	}
	requests := admin.CertificatesV1().CertificateSigningRequests()
	request, err := requests.Create(ctx, &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: certificatesv1.CertificateSigningRequestSpec{
		Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), SignerName: certificatesv1.KubeAPIServerClientSignerName,
		Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
	}}, metav1.CreateOptions{})
	if err != nil {
		s.Fatal(err)
	}
	request.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test", Message: "approved"}}
	if request, err = requests.UpdateApproval(ctx, request.Name, request, metav1.UpdateOptions{}); err != nil {
		s.Fatal(err)
	}
	request.Status.Certificate = s.sign(request.Spec.Request)
	if request, err = requests.UpdateStatus(ctx, request, metav1.UpdateOptions{}); err != nil {
		s.Fatal(err)
	}
	config := rest.AnonymousClientConfig(server)
	config.CertData, config.KeyData = request.Status.Certificate, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded})
	return config
}

func TestFlagsOfKubeAPIServerThatServeRefuses(t *testing.T) {
	for _, c := range []struct {
		rule   string
		args   []string
		status int
		err    string
	}{
		{"a flag that kube-apiserver does not have", []string{"--insecure-port=0"}, wrongUsage, "unknown flag: --insecure-port"},
		{"what fakecluster does not have", []string{"--tracing-config-file=a"}, wrongUsage, "serve: fakecluster does not have --tracing-config-file=a: there are no traces"},
		{"a value that cannot be read", []string{"--secure-port=x"}, wrongUsage, `serve: invalid argument "x" for "--secure-port" flag: strconv.ParseInt: parsing "x": invalid syntax`},
		{"a file that is not there", []string{"--client-ca-file=none"}, failed, "serve: --client-ca-file: open none: no such file or directory"},
		{"an impossible interval", []string{"--etcd-compaction-interval=-1s"}, failed, "serve: --etcd-compaction-interval=-1s is negative; 0 means never"},
		{"what a scenario cannot say", []string{"--record=a.yaml", "--client-ca-file=none"}, wrongUsage,
			"serve: --record and --client-ca-file exclude each other, because the cluster of a scenario does not take flags of kube-apiserver; leave one of them out"},
		{"two ports", []string{"--port=1", "--secure-port=2"}, failed,
			"serve: WithPort and the flags --secure-port and --bind-address of WithAPIServerFlags exclude each other; give one of them"},
	} {
		var stdout, stderr bytes.Buffer
		status := execute(t.Context(), append([]string{"serve"}, c.args...), &stdout, &stderr)
		if got := strings.TrimSpace(strings.TrimPrefix(stderr.String(), "fakecluster: ")); status != c.status || got != c.err || stdout.Len() > 0 {
			t.Errorf("%s: status %d, %q, want %d, %q; stdout %q", c.rule, status, got, c.status, c.err, &stdout)
		}
	}
}
