package controlplane

import (
	"context"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/serviceaccount"
	"k8s.io/utils/clock"
)

// secretTokens writes tokens into Secrets of the type kubernetes.io/service-account-token. As in a real cluster, its
// user is that of kube-controller-manager itself.
func secretTokens(b *builder) (runFunc, error) {
	client, err := b.root("tokens-controller")
	if err != nil {
		return nil, err
	}
	signing, err := b.signing()
	if err != nil {
		return nil, err
	}
	core := b.informers.Core().V1()
	c, err := serviceaccount.NewTokensController(klog.FromContext(b.ctx), core.ServiceAccounts(), core.Secrets(), client,
		serviceaccount.TokensControllerOptions{TokenGenerator: signing.Tokens, RootCA: certificatePEM(signing.Certificate.Raw)})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) { c.Run(ctx, 5) }, nil
}

func tokenCleaner(b *builder) (runFunc, error) {
	client, err := b.client("legacy-service-account-token-cleaner")
	if err != nil {
		return nil, err
	}
	core := b.informers.Core().V1()
	c, err := serviceaccount.NewLegacySATokenCleaner(core.ServiceAccounts(), core.Secrets(), core.Pods(), client, clock.RealClock{},
		serviceaccount.LegacySATokenCleanerOptions{CleanUpPeriod: 365 * 24 * time.Hour, SyncInterval: serviceaccount.DefaultCleanerSyncInterval})
	if err != nil {
		return nil, err
	}
	return c.Run, nil
}
