package faultinjection

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/faults"
	"github.com/fakecluster/fakecluster/internal/observe"
)

// callingKey is the key of the name of a webhook in the context of a call.
type callingKey struct{}

// Calling returns the context for a call of an admission webhook.
func Calling(ctx context.Context, webhook string) context.Context {
	return context.WithValue(ctx, callingKey{}, webhook)
}

// FailWebhook returns the error of a call of an admission webhook at a host, if a fault strikes it, and the name of that
// fault. ctx is the context of the call.
func (e *Engine) FailWebhook(ctx context.Context, host string) (fault string, err error) {
	if !e.Active() {
		return "", nil
	}
	name, _ := ctx.Value(callingKey{}).(string)
	var r Request
	if s := From(ctx); s != nil {
		r = s.Request
	}
	fault = e.failCall(faults.EffectFailWebhook, func(i *Injection) bool {
		if wanted := i.fault.Effect.Webhook; wanted != "" && wanted != name {
			return false
		}
		return i.take(&r)
	})
	if fault == "" {
		return "", nil
	}
	return fault, Unreached(host)
}

// FailConversion returns the name of the fault that strikes a call of the conversion webhook of a resource; empty: none.
// The caller fails the call with Unreached, and wraps the resulting error in a CallError, because a conversion does not
// have its request.
func (e *Engine) FailConversion(resource schema.GroupResource) (fault string) {
	return e.failCall(faults.EffectFailConversion, func(i *Injection) bool {
		if i.fault.Resource != "" && groupOf(&i.fault) != resource {
			return false
		}
		i.mu.Lock()
		defer i.mu.Unlock()
		return i.strikes()
	})
}

func (e *Engine) failCall(effect faults.EffectType, strikes func(*Injection) bool) (fault string) {
	for _, i := range e.inForce() {
		if i.fault.Effect.Type == effect && strikes(i) {
			i.keep()
			return i.fault.Effect.String()
		}
	}
	return ""
}

// Unreached is the error of a connection to a host at which nothing listens.
func Unreached(host string) error {
	return &net.OpError{Op: "dial", Net: "tcp", Addr: address(host), Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
}

// address is a net.Addr.
type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }

// CallError is an error of a call that a fault has struck. Its text is that of Err.
type CallError struct {
	Fault string
	Err   error
}

// Error implements error.
func (e *CallError) Error() string { return e.Err.Error() }

// Unwrap returns the error.
func (e *CallError) Unwrap() error { return e.Err }

// Behind returns the name of the fault that caused an error; empty: none.
func Behind(err error) string {
	var struck *CallError
	if errors.As(err, &struck) {
		return struck.Fault
	}
	return ""
}

// Observe reports the fault that caused an error to the observer of the request. It does nothing for other errors.
func Observe(ctx context.Context, err error) {
	if fault := Behind(err); fault != "" {
		observe.From(ctx).Fault(fault)
	}
}

// Answer returns the error for a client because of another error, and keeps the fault of the latter.
func Answer(answer, because error) error {
	if fault := Behind(because); fault != "" {
		return &CallError{Fault: fault, Err: answer}
	}
	return answer
}
