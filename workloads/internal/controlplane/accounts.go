package controlplane

import (
	"time"

	"k8s.io/kubernetes/pkg/controller/serviceaccount"
	"k8s.io/utils/clock"
)

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
