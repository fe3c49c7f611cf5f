package rest

import (
	"context"
	"time"

	"k8s.io/apiserver/pkg/audit"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// slow is how long a request takes if its audit event says what took the time.
const slow = 500 * time.Millisecond

// logLatency says in the event of a slow request how long it and the parts of it took that are
// measured: authentication, impersonation and authorization.
func logLatency(ctx context.Context, took time.Duration) {
	if took <= slow {
		return
	}
	audit.AddAuditAnnotationsMap(ctx, apirequest.AuditAnnotationsFromLatencyTrackers(ctx))
	audit.AddAuditAnnotation(ctx, "apiserver.latency.k8s.io/total", took.String())
}
