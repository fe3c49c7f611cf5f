package server

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/internal/testing/compare"
)

func TestReadsAreAnnouncedToTheFunctionsOfTheirResource(t *testing.T) {
	leases, pods := schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}, schema.GroupResource{Resource: "pods"}
	var r Reads
	var calls []string
	note := func(name string) BeforeRead {
		return func(userAgent string, watch context.Context) {
			if watch != nil {
				userAgent += " watches"
			}
			calls = append(calls, name+": "+userAgent)
		}
	}
	compare.Equal(t, "there are functions at first", r.Any(), false)
	stop := r.Before(leases, note("first"))
	stopSecond := r.Before(leases, note("second"))
	stopPods := r.Before(pods, note("pods"))
	r.Announce(leases, "kubectl", nil)
	r.Announce(schema.GroupResource{Resource: "leases"}, "kubectl", nil) // of another group
	r.Announce(pods, "operator", t.Context())
	stop()
	r.Announce(leases, "kubectl", nil)
	compare.Equal(t, "the calls", calls, []string{"first: kubectl", "second: kubectl", "pods: operator watches", "second: kubectl"})

	stopSecond()
	compare.Equal(t, "there are functions while one is left", r.Any(), true)
	stopPods()
	compare.Equal(t, "there are functions in the end", r.Any(), false)
}

// A function may end itself, and register others.
func TestAFunctionEndsItselfDuringARead(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	var r Reads
	called := 0
	var stop func()
	stop = r.Before(pods, func(string, context.Context) {
		called++
		stop()
	})
	r.Before(pods, func(string, context.Context) { called++ })
	r.Announce(pods, "", nil)
	r.Announce(pods, "", nil)
	compare.Equal(t, "the calls", called, 3)
}
