package controller

import (
	"crypto/x509"
	"encoding/pem"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var requests = kind{certificatesv1.GroupName, "certificatesigningrequests"}

// How long CertificateSigningRequests are kept.
const (
	decidedFor = time.Hour      // after they were issued, denied or have failed
	pendingFor = 24 * time.Hour // while nothing has become of them
)

// requestCleaner deletes CertificateSigningRequests that are old, or whose certificate has
// expired. Upstream's checks once an hour.
func requestCleaner() *controller {
	return &controller{
		identity: ServiceAccount("certificate-controller"),
		follows:  []followed{{kind: requests, begins: true, concerns: changed}},
		sync: func(s *step, k key) error {
			request, err := find[*certificatesv1.CertificateSigningRequest](s, requests, "", k.name)
			if err != nil || request == nil || request.DeletionTimestamp != nil {
				return err
			}
			end, ok := endOf(request)
			switch {
			case !ok:
				return nil
			case !s.now().After(end):
				s.by(end.Add(1)) // just after it
				return nil
			}
			return s.delete(requests, request, metav1.DeleteOptions{})
		},
	}
}

// endOf returns the time after which a request is deleted. Ok is false if that is not
// known.
func endOf(request *certificatesv1.CertificateSigningRequest) (end time.Time, ok bool) {
	until := func(since metav1.Time, kept time.Duration) {
		if since.IsZero() {
			return
		}
		if t := since.Add(kept); !ok || t.Before(end) {
			end, ok = t, true
		}
	}
	if len(request.Status.Conditions) == 0 {
		until(request.CreationTimestamp, pendingFor)
	}
	for _, c := range request.Status.Conditions {
		switch c.Type {
		case certificatesv1.CertificateDenied, certificatesv1.CertificateFailed:
			until(c.LastUpdateTime, decidedFor)
		case certificatesv1.CertificateApproved:
			if len(request.Status.Certificate) == 0 {
				until(c.LastUpdateTime, pendingFor)
				continue
			}
			until(c.LastUpdateTime, decidedFor)
			if expires, issued := expiryOf(request.Status.Certificate); issued {
				until(metav1.NewTime(expires), 0)
			}
		}
	}
	return end, ok
}

// expiryOf returns when a certificate expires. Ok is false if it is not a certificate.
func expiryOf(certificate []byte) (t time.Time, ok bool) {
	block, _ := pem.Decode(certificate)
	if block == nil {
		return t, false
	}
	parsed, err := x509.ParseCertificates(block.Bytes)
	if err != nil || len(parsed) == 0 {
		return t, false
	}
	return parsed[0].NotAfter, true
}
