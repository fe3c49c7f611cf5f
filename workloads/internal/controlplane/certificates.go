package controlplane

import (
	"context"
	"time"

	"k8s.io/kubernetes/pkg/controller/certificates/approver"
	"k8s.io/kubernetes/pkg/controller/certificates/cleaner"
	"k8s.io/utils/clock"
)

func requestApprover(b *builder) (runFunc, error) {
	client, err := b.client("certificate-controller")
	if err != nil {
		return nil, err
	}
	c := approver.NewCSRApprovingController(b.ctx, client, b.informers.Certificates().V1().CertificateSigningRequests())
	return func(ctx context.Context) { c.Run(ctx, 5) }, nil
}

func requestCleaner(b *builder) (runFunc, error) {
	client, err := b.client("certificate-controller")
	if err != nil {
		return nil, err
	}
	c := cleaner.NewCSRCleanerController(client.CertificatesV1().CertificateSigningRequests(), b.informers.Certificates().V1().CertificateSigningRequests())
	return func(ctx context.Context) { c.Run(ctx, 1) }, nil
}

func podCertificateRequestCleaner(b *builder) (runFunc, error) {
	client, err := b.client("podcertificaterequestcleaner")
	if err != nil {
		return nil, err
	}
	const (
		threshold = 15 * time.Minute
		period    = 5 * time.Minute
	)
	c := cleaner.NewPCRCleanerController(client, b.informers.Certificates().V1().PodCertificateRequests(), clock.RealClock{}, threshold, period)
	return func(ctx context.Context) { c.Run(ctx, 1) }, nil
}
