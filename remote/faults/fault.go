// Code generated from faults/fault.go by go test ./internal/description -run RemoteHasTheTypes -update. DO NOT EDIT.

package faults

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/fakecluster/fakecluster/remote/internal/printable"
)

// AnySubresource is the Subresource of a [Fault] that strikes objects and all their subresources.
const AnySubresource = "*"

// Fault makes requests of clients fail or wait, on purpose. Its fields select the requests, and set how often
// and in which way it strikes them. Cluster.Inject returns an error for a fault that contradicts itself, such
// as a negative count, or that names a verb, resource or subresource that the cluster does not serve.
//
// It strikes requests of clients. It does not strike the writes of the server's own controllers, except by
// [FailWebhook] and [FailConversion], nor requests that are not for a resource, such as discovery.
//
// If several faults match a request, the first that was injected strikes it, and the others do not
// count it. Faults that have only a Latency strike in addition.
type Fault struct {
	// Verb is a verb of RBAC: get, list, watch, create, update, patch, delete, deletecollection.
	// Empty: every verb that the effect can strike. For example, a Conflict strikes writes.
	Verb string
	// Resource is the plural name, with the group after a dot unless it is the core group:
	// "pods", "deployments.apps". Empty: every resource.
	Resource string
	// Subresource is a subresource, such as "status". As in RBAC, empty means the object itself,
	// without its subresources; AnySubresource means both.
	Subresource string
	// Namespace is the namespace of the request; empty: any.
	Namespace string
	// Name is the name of the object, including one that is being created; empty: any.
	Name string
	// User is the name of the user who makes the request, "system:serviceaccount:default:operator" for a
	// service account; empty: any user, including the administrator.
	User string
	// UserAgent is a prefix of the user agent of the client; empty: any.
	UserAgent string
	// AuditID is the header Audit-ID of the request, with which a client can name a single request; empty: any.
	AuditID string

	// After is how many matching requests pass before the fault strikes.
	After int
	// Times is how many requests the fault strikes at most; 0: all, until Stop.
	Times int
	// Probability is the probability, up to 1, with which the fault strikes a matching request once After
	// requests have passed; 0 means 1. With WithSeed, the same requests in the same order are struck again.
	Probability float64
	// Optional allows the fault to strike nothing. Without it, a fault that has struck nothing by
	// the end of the test fails the test.
	Optional bool

	// Latency is how long a request waits before it is processed, by the clock of the process or,
	// in a testing/synctest bubble, of the bubble. It counts towards the timeout of the request.
	Latency time.Duration
	// Effect is what happens to the request after Latency. With the zero value the request is
	// processed as usual.
	Effect Effect
}

// String describes the fault in one line, such as "update crontabs.stable.example.com/status: CutAfterCommit
// (at most once)".
func (f Fault) String() string {
	var b strings.Builder
	if f.Effect.Type == EffectFailConversion {
		b.WriteString("conversions of ")
	} else {
		b.WriteString(cmp.Or(f.Verb, "any verb of") + " ")
	}
	b.WriteString(cmp.Or(f.Resource, "any resource"))
	if f.Subresource != "" {
		b.WriteString("/" + f.Subresource)
	}
	for _, field := range []struct{ what, value string }{
		{"in namespace", f.Namespace}, {"of", f.Name}, {"by user", f.User}, {"with user agent", f.UserAgent}, {"with audit ID", f.AuditID},
	} {
		if field.value != "" {
			fmt.Fprintf(&b, " %s %s", field.what, field.value)
		}
	}
	b.WriteString(": ")
	switch {
	case f.Effect.Type == "":
		fmt.Fprintf(&b, "latency of %v", f.Latency)
	case f.Latency > 0:
		fmt.Fprintf(&b, "latency of %v, then %s", f.Latency, f.Effect)
	default:
		b.WriteString(f.Effect.String())
	}
	var how []string
	if f.After > 0 {
		how = append(how, "after "+printable.Count(f.After, "request"))
	}
	if f.Probability > 0 && f.Probability < 1 {
		how = append(how, fmt.Sprintf("with probability %v", f.Probability))
	}
	if f.Times > 0 {
		how = append(how, atMost(f.Times))
	}
	if len(how) > 0 {
		fmt.Fprintf(&b, " (%s)", strings.Join(how, ", "))
	}
	return b.String()
}

func atMost(times int) string {
	if times == 1 {
		return "at most once"
	}
	return fmt.Sprintf("at most %d times", times)
}
