package controlplane

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/certificate/csr"
	certificateshelper "k8s.io/kubernetes/pkg/apis/certificates"
	"k8s.io/kubernetes/pkg/controller/certificates"
	"k8s.io/kubernetes/pkg/controller/certificates/authority"
)

// requestSigner signs approved CertificateSigningRequests. It is upstream's controller with a handler of ours, because
// upstream's handlers read their authority from files, and watch them by inotify and a ticker. Upstream runs one
// controller for each signer, because each can have another authority.
func requestSigner(b *builder) (runFunc, error) {
	client, err := b.client("certificate-controller")
	if err != nil {
		return nil, err
	}
	signing, err := b.signing()
	if err != nil {
		return nil, err
	}
	s := &signer{client, authority.CertificateAuthority{Certificate: signing.Certificate, PrivateKey: signing.Key}, signing.SerialNumber}
	c := certificates.NewCertificateController(b.ctx, "csrsigning", client, b.informers.Certificates().V1().CertificateSigningRequests(), s.sync)
	return func(ctx context.Context) { c.Run(ctx, 5) }, nil
}

// signers are the signers of kube-controller-manager, each with a function that checks its requests. The fourth one,
// kubernetes.io/legacy-unknown, is missing, because no served version allows a request for it.
var signers = map[string]func(*x509.CertificateRequest, []certificatesv1.KeyUsage) error{
	certificatesv1.KubeletServingSignerName: func(r *x509.CertificateRequest, usages []certificatesv1.KeyUsage) error {
		return certificateshelper.ValidateKubeletServingCSR(r, sets.NewString(asStrings(usages)...))
	},
	certificatesv1.KubeAPIServerClientKubeletSignerName: func(r *x509.CertificateRequest, usages []certificatesv1.KeyUsage) error {
		return certificateshelper.ValidateKubeletClientCSR(r, sets.NewString(asStrings(usages)...))
	},
	certificatesv1.KubeAPIServerClientSignerName: func(_ *x509.CertificateRequest, usages []certificatesv1.KeyUsage) error {
		return validateClientUsages(usages)
	},
}

func asStrings(usages []certificatesv1.KeyUsage) []string {
	names := make([]string, 0, len(usages))
	for _, u := range usages {
		names = append(names, string(u))
	}
	return names
}

// validateClientUsages checks the usages of a client certificate.
func validateClientUsages(usages []certificatesv1.KeyUsage) error {
	allowed := []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment, certificatesv1.UsageClientAuth}
	for _, u := range usages {
		if !slices.Contains(allowed, u) {
			return fmt.Errorf("invalid usage for client certificate: %s", u)
		}
	}
	if !slices.Contains(usages, certificatesv1.UsageClientAuth) {
		return fmt.Errorf("missing required usage for client certificate: %s", certificatesv1.UsageClientAuth)
	}
	return nil
}

// signer signs the requests for the signers of kube-controller-manager.
type signer struct {
	client    kubernetes.Interface
	authority authority.CertificateAuthority
	// serialNumber is an attribute of the subject of client certificates, because the clusters of one process have the
	// same authority.
	serialNumber string
}

// sync signs a request that is approved and for one of the signers. If it cannot be signed, sync adds the condition
// Failed.
func (s *signer) sync(ctx context.Context, request *certificatesv1.CertificateSigningRequest) error {
	validate, ours := signers[request.Spec.SignerName]
	if !ours || !certificates.IsCertificateRequestApproved(request) || certificates.HasTrueCondition(request, certificatesv1.CertificateFailed) {
		return nil
	}
	parsed, err := certificateshelper.ParseCSR(request.Spec.Request)
	if err != nil {
		return fmt.Errorf("unable to parse csr %q: %w", request.Name, err)
	}
	if err := validate(parsed, request.Spec.Usages); err != nil {
		request.Status.Conditions = append(request.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
			Type: certificatesv1.CertificateFailed, Status: corev1.ConditionTrue, Reason: "SignerValidationFailure", Message: err.Error(), LastUpdateTime: metav1.Now(),
		})
	} else if request.Status.Certificate, err = s.sign(parsed, request.Spec); err != nil {
		return fmt.Errorf("signing: %w", err)
	}
	_, err = s.client.CertificatesV1().CertificateSigningRequests().UpdateStatus(ctx, request, metav1.UpdateOptions{})
	return err
}

// The lifetimes of certificates, as in upstream's handlers. longest is kube-controller-manager's default.
const (
	longest  = 365 * 24 * time.Hour
	shortest = 10 * time.Minute
	backdate = 5 * time.Minute
	short    = 8 * time.Hour // of a certificate whose backdating is part of its lifetime
)

// sign returns the certificate for a request, as PEM.
func (s *signer) sign(request *x509.CertificateRequest, spec certificatesv1.CertificateSigningRequestSpec) ([]byte, error) {
	lifetime := longest
	if spec.ExpirationSeconds != nil {
		lifetime = min(max(csr.ExpirationSecondsToDuration(*spec.ExpirationSeconds), shortest), longest)
	}
	der, err := s.authority.Sign(request.Raw, authority.PermissiveSigningPolicy{TTL: lifetime, Usages: spec.Usages, Backdate: backdate, Short: short})
	if err != nil {
		return nil, err
	}
	if der, err = s.mark(der); err != nil {
		return nil, err
	}
	return certificatePEM(der), nil
}

// serialNumberOID is the attribute serialNumber of a subject.
var serialNumberOID = asn1.ObjectIdentifier{2, 5, 4, 5}

// mark adds the serial number of the cluster to the subject of a client certificate.
func (s *signer) mark(der []byte) ([]byte, error) {
	c, err := x509.ParseCertificate(der)
	if err != nil || !slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageClientAuth) {
		return der, err
	}
	others := slices.DeleteFunc(c.Subject.Names, func(n pkix.AttributeTypeAndValue) bool { return n.Type.Equal(serialNumberOID) })
	c.RawSubject, c.Subject.ExtraNames = nil, append(others, pkix.AttributeTypeAndValue{Type: serialNumberOID, Value: s.serialNumber})
	return x509.CreateCertificate(rand.Reader, c, s.authority.Certificate, c.PublicKey, s.authority.PrivateKey)
}

func certificatePEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
