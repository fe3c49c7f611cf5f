package server

import (
	"context"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/klog/v2"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/fakecluster/fakecluster/internal/aggregation"
	"github.com/fakecluster/fakecluster/internal/controller"
	"github.com/fakecluster/fakecluster/internal/flowcontrol"
	"github.com/fakecluster/fakecluster/internal/write"
)

// afterCommit updates a server after a commit. It first brings admission and flow control up to date with their
// configuration; then the controllers act.
type afterCommit struct {
	chain       *admissionChain
	flows       *flowcontrol.Schemas
	aggregate   *aggregation.Registry
	controllers *controller.Controllers
}

// committed is the function for write.Pipeline.Follow.
func (a afterCommit) committed(ctx context.Context, c write.Commit) {
	if c.Resource.ConfiguresAdmission {
		if err := a.chain.refresh(); err != nil {
			klog.ErrorS(err, "The configuration of admission cannot be read")
		}
	}
	if c.Resource.Group == flowcontrolv1.GroupName {
		a.flows.Changed(c.Record.Revision)
	}
	if c.Resource.Group == apiregistrationv1.GroupName && (aggregation.PointsToService(c.Record.Value) || aggregation.PointsToService(c.Previous.Value)) {
		if err := a.aggregate.Refresh(); err != nil {
			klog.ErrorS(err, "The APIServices cannot be read")
		}
	}
	a.controllers.Committed(ctx, c)
}
