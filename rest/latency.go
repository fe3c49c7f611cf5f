package rest

import (
	"context"
	"time"

	"k8s.io/apiserver/pkg/audit"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// slow is the latency above which the audit event of a request says what took the time, as on a real server.
const slow = 500 * time.Millisecond

// logLatency adds annotations to the audit event of a slow request: how long the request took, and its
// authentication, impersonation and authorization.
func logLatency(ctx context.Context, took time.Duration) {
	if took <= slow {
		return
	}
	audit.AddAuditAnnotationsMap(ctx, apirequest.AuditAnnotationsFromLatencyTrackers(ctx))
	audit.AddAuditAnnotation(ctx, "apiserver.latency.k8s.io/total", took.String())
}
