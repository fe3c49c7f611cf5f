package controller

import (
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/internal/auth"
)

func TestWhenASigningRequestIsDeleted(t *testing.T) {
	created := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	decided := created.Add(time.Minute)
	condition := func(of certificatesv1.RequestConditionType) []certificatesv1.CertificateSigningRequestCondition {
		return []certificatesv1.CertificateSigningRequestCondition{{Type: of, LastUpdateTime: metav1.NewTime(decided)}}
	}
	authority, err := auth.NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	expires, ok := expiryOf(authority.PEM())
	if !ok || !expires.After(created) {
		t.Fatalf("the certificate of an authority expires at %s, %t", expires, ok)
	}
	if _, ok := expiryOf([]byte("no certificate")); ok {
		t.Error("a text that is no certificate expires")
	}
	for _, c := range []struct {
		rule   string
		status certificatesv1.CertificateSigningRequestStatus
		want   time.Time
	}{
		{"a day after its creation, if nothing happens", certificatesv1.CertificateSigningRequestStatus{}, created.Add(24 * time.Hour)},
		{"an hour after it was denied", certificatesv1.CertificateSigningRequestStatus{Conditions: condition(certificatesv1.CertificateDenied)}, decided.Add(time.Hour)},
		{"an hour after it has failed", certificatesv1.CertificateSigningRequestStatus{Conditions: condition(certificatesv1.CertificateFailed)}, decided.Add(time.Hour)},
		{"a day after its approval, without a certificate", certificatesv1.CertificateSigningRequestStatus{Conditions: condition(certificatesv1.CertificateApproved)}, decided.Add(24 * time.Hour)},
		{"an hour after its approval, with one", certificatesv1.CertificateSigningRequestStatus{Conditions: condition(certificatesv1.CertificateApproved), Certificate: authority.PEM()}, decided.Add(time.Hour)},
		{"never, with an unknown condition", certificatesv1.CertificateSigningRequestStatus{Conditions: condition("Other")}, time.Time{}},
	} {
		request := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(created)}, Status: c.status}
		if got, ok := endOf(request); !got.Equal(c.want) || ok == c.want.IsZero() {
			t.Errorf("%s: %s, %t; want %s", c.rule, got, ok, c.want)
		}
	}
}
