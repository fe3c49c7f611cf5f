package write

import (
	"context"

	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/warning"
)

// detached is the context of what follows from a write. It outlives the request;
// what happens is neither part of the request's audit event nor something that
// the client is warned of.
type detached struct{ context.Context }

func detach(ctx context.Context) context.Context { return Detached(context.WithoutCancel(ctx)) }

// Detached is the context of a write that the server makes for a client's request: it ends with
// the request, but what happens is neither part of the request's audit event nor something that
// the client is warned of.
func Detached(ctx context.Context) context.Context { return detached{ctx} }

// Value implements context.Context.
func (d detached) Value(key any) any {
	switch value := d.Context.Value(key).(type) {
	case *audit.AuditContext, warning.Recorder:
		return nil
	default:
		return value
	}
}
