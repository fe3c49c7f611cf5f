package faultinjection

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/faults"
)

var update = Request{Verb: "update", Group: "apps", Resource: "deployments", Namespace: "default", Name: "a", User: "jane", UserAgent: "kubectl/v1", AuditID: "a-17"}

// anything is what the servers of the tests serve.
func anything(schema.GroupResource, string, string) error { return nil }

func inject(t *testing.T, e *Engine, f faults.Fault) *Injection {
	t.Helper()
	i, err := e.Inject(f, anything)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func TestExactlyTimesOfConcurrentRequestsAreStruck(t *testing.T) {
	var e Engine
	i := inject(t, &e, faults.Fault{Resource: "deployments.apps", After: 30, Times: 20, Effect: faults.Conflict()})
	var struck atomic.Int64
	var callers sync.WaitGroup
	for range 100 {
		callers.Go(func() {
			s := e.Strike(update)
			defer s.Done()
			if s.Answer() != nil {
				struck.Add(1)
			}
		})
	}
	callers.Wait()
	if struck.Load() != 20 || i.Fired() != 20 || i.Matched() != 100 {
		t.Errorf("struck %d, fired %d, matched %d; want 20, 20, 100", struck.Load(), i.Fired(), i.Matched())
	}
}

func TestAnEffectThatDoesNotComeToPassIsNotCounted(t *testing.T) {
	var e Engine
	i := inject(t, &e, faults.Fault{Times: 1, Effect: faults.CutAfterCommit()})
	for n, want := range []int{0, 1, 1} {
		s := e.Strike(update)
		if s.MayBeCutAfter() && n > 0 {
			s.CutAfter()
		}
		s.Done()
		if got := i.Fired(); got != want {
			t.Errorf("after request %d: fired %d, want %d", n, got, want)
		}
	}
}

func TestTheFirstFaultStrikesAndLatencyStrikesBesideIt(t *testing.T) {
	var e Engine
	slow := inject(t, &e, faults.Fault{Latency: 3})
	first := inject(t, &e, faults.Fault{Latency: 4, Effect: faults.Unavailable()})
	second := inject(t, &e, faults.Fault{Effect: faults.Timeout()})
	late := inject(t, &e, faults.Fault{Latency: 5})
	s := e.Strike(update)
	by, ok := s.By()
	if s.Latency != 12 || !ok || by.Effect.String() != "Unavailable" {
		t.Errorf("latency %d, by %v", s.Latency, by)
	}
	if text := s.Answer().Error(); text != "apiserver is shutting down" {
		t.Error(text)
	}
	s.Done()
	for n, i := range []*Injection{slow, first, second, late} {
		if got, want := i.Fired(), []int{1, 1, 0, 1}[n]; got != want {
			t.Errorf("fault %d fired %d times, want %d", n, got, want)
		}
	}
	if text := second.Unfired(); text != "the fault never fired: any verb of any resource: Timeout; no request matched" {
		t.Error(text)
	}
}

func TestAFaultThatNeverStrikesNamesTheClosestRequest(t *testing.T) {
	for field, tt := range map[string]struct {
		fault faults.Fault
		text  string
	}{
		"Verb":        {faults.Fault{Verb: "patch"}, `has the Verb "update"`},
		"Resource":    {faults.Fault{Resource: "pods"}, `has the Resource "deployments.apps"`},
		"Subresource": {faults.Fault{Subresource: "status"}, `has the Subresource ""`},
		"Namespace":   {faults.Fault{Namespace: "other"}, `has the Namespace "default"`},
		"Name":        {faults.Fault{Name: "b"}, `has the Name "a"`},
		"User":        {faults.Fault{User: "joe"}, `has the User "jane"`},
		"UserAgent":   {faults.Fault{UserAgent: "helm"}, `has the UserAgent "kubectl/v1"`},
		"AuditID":     {faults.Fault{AuditID: "a-1"}, `has the AuditID "a-17"`},
	} {
		t.Run(field, func(t *testing.T) {
			var e Engine
			tt.fault.Effect = faults.Unavailable()
			i := inject(t, &e, tt.fault)
			if field != "Subresource" {
				e.Strike(Request{Verb: "get", Resource: "nodes", Subresource: "proxy", User: "x"}).Done() // differs in more
			}
			want := "the fault never fired: " + tt.fault.String() + "; no request matched; 2 requests differ in one field only: the last " + tt.text
			e.Strike(update).Done()
			e.Strike(update).Done()
			if got := i.Unfired(); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestFaultsOfCallsDoNotStrikeRequests(t *testing.T) {
	var e Engine
	hook := inject(t, &e, faults.Fault{Verb: "update", Times: 1, Effect: faults.FailWebhook("a.example.com")})
	conversion := inject(t, &e, faults.Fault{Resource: "deployments.apps", Times: 1, Effect: faults.FailConversion()})
	s := e.Strike(update)
	defer s.Done()
	if _, struck := s.By(); struck {
		t.Error("the request is struck")
	}
	ctx := With(context.Background(), s)
	if fault, err := e.FailWebhook(Calling(ctx, "b.example.com"), "host:443"); err != nil {
		t.Error(fault, err)
	}
	fault, err := e.FailWebhook(Calling(ctx, "a.example.com"), "host:443")
	if fault != `FailWebhook("a.example.com")` || err == nil || err.Error() != "dial tcp host:443: connect: connection refused" {
		t.Error(fault, err)
	}
	if fault := e.FailConversion(schema.GroupResource{Resource: "pods"}); fault != "" {
		t.Error(fault)
	}
	if text := conversion.Unfired(); text != "the fault never fired: conversions of deployments.apps: FailConversion (at most once); no conversion webhook was called for the resource" {
		t.Error(text)
	}
	if fault := e.FailConversion(schema.GroupResource{Group: "apps", Resource: "deployments"}); fault != "FailConversion" {
		t.Errorf("the conversion does not fail: %q", fault)
	}
	if hook.Fired() != 1 || conversion.Fired() != 1 {
		t.Errorf("fired: %d and %d", hook.Fired(), conversion.Fired())
	}
}

func BenchmarkNoFault(b *testing.B) {
	var e Engine
	for b.Loop() {
		if e.Active() {
			b.Fatal()
		}
	}
}
