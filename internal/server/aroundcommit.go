package server

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/klog/v2"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/fakecluster/fakecluster/internal/aggregation"
	"github.com/fakecluster/fakecluster/internal/controller"
	"github.com/fakecluster/fakecluster/internal/quota"
	"github.com/fakecluster/fakecluster/internal/write"
	"github.com/fakecluster/fakecluster/store"
)

var (
	_ write.Server = &loopback{}
	_ quota.Stager = &loopback{}
)

// Charge implements write.Server: it charges the quotas if the plugin ResourceQuota is on.
func (l *loopback) Charge(ctx context.Context, u write.Use) (write.Charge, error) {
	if !l.chargesQuotas {
		return write.Charge{}, nil
	}
	return l.quotas.Charge(ctx, l, u)
}

// ReleasesQuotas implements quota.Stager.
func (l *loopback) ReleasesQuotas() bool { return l.controllers.Acts(controller.ResourceQuotas) }

// StageQuota implements quota.Stager.
func (l *loopback) StageQuota(ctx context.Context, release bool, w write.Request, rq *corev1.ResourceQuota) (*store.Update, error) {
	by := controller.APIServer
	if release {
		by = controller.QuotaController
	}
	w.Manager = by.Manager()
	return l.stage(ctx, by, w, rq)
}

// Committed implements write.Server. It first brings admission, flow control and aggregation up to date with their
// configuration; then the controllers act.
func (l *loopback) Committed(ctx context.Context, c write.Commit) {
	if c.Resource.ConfiguresAdmission {
		if err := l.chain.refresh(); err != nil {
			klog.ErrorS(err, "The configuration of admission cannot be read")
		}
	}
	if c.Resource.Group == flowcontrolv1.GroupName {
		l.flows.Changed(c.Record.Revision)
	}
	if c.Resource.Group == apiregistrationv1.GroupName && (aggregation.PointsToService(c.Record.Value) || aggregation.PointsToService(c.Previous.Value)) {
		if err := l.aggregate.Refresh(); err != nil {
			klog.ErrorS(err, "The APIServices cannot be read")
		}
	}
	l.controllers.Committed(ctx, l, c)
}
