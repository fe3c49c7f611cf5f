package write

import (
	"context"

	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/warning"
)

// detached is a context without the audit event and the warnings of a request.
type detached struct{ context.Context }

func detach(ctx context.Context) context.Context { return Detached(context.WithoutCancel(ctx)) }

// Detached returns the context for a write of the server during a client's request. It ends with the request. The write
// is not part of the request's audit event, and the client does not get its warnings.
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
