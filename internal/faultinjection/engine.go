package faultinjection

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/faults"
	"github.com/fakecluster/fakecluster/store"
)

// Engine has the faults of one server. The zero value has none. It is safe for concurrent use.
type Engine struct {
	// Store is that of the server.
	Store *store.Store
	// Seed is that of the cluster; nil: random.
	Seed *uint64

	// active are the faults in force, in the order of their injection; nil: none. The slice is
	// never altered.
	active atomic.Pointer[[]*Injection]

	mu       sync.Mutex
	injected []*Injection // also those that have been stopped
	watches  []*Watch     // that are running, in the order in which they began
	begun    int64        // how many watches have begun
	hold     *Hold        // nil: none
}

// Serves returns an error if a server does not serve a verb of a resource or subresource. Any of them may be empty.
type Serves func(resource schema.GroupResource, subresource, verb string) error

// Inject puts a fault in force. It fails if the server does not serve what the fault names.
func (e *Engine) Inject(f faults.Fault, serves Serves) (*Injection, error) {
	if err := check(&f); err != nil {
		return nil, fmt.Errorf("the fault cannot be injected: %w", err)
	}
	if f.Resource != "" || f.Subresource != "" && f.Subresource != faults.AnySubresource {
		if err := serves(groupOf(&f), f.Subresource, f.Verb); err != nil {
			return nil, fmt.Errorf("the fault cannot be injected: %w", err)
		}
	}
	i := &Injection{fault: f, engine: e}
	e.mu.Lock()
	defer e.mu.Unlock()
	if p := f.Probability; p > 0 && p < 1 {
		seed := rand.Uint64()
		if e.Seed != nil {
			seed = *e.Seed
		}
		i.random = rand.New(rand.NewPCG(seed, uint64(len(e.injected))))
	}
	e.injected = append(e.injected, i)
	e.set(append(slices.Clone(e.inForce()), i))
	if strikesWatches(&f) {
		for _, w := range e.watches {
			w.mayStrike(i)
		}
		e.compactFor(e.watches...)
	}
	return i, nil
}

// Injections returns all faults that have ever been injected.
func (e *Engine) Injections() []*Injection {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.injected)
}

func (e *Engine) inForce() []*Injection {
	if active := e.active.Load(); active != nil {
		return *active
	}
	return nil
}

// set puts faults in force. The caller holds the lock.
func (e *Engine) set(inForce []*Injection) {
	if len(inForce) == 0 {
		e.active.Store(nil)
		return
	}
	e.active.Store(&inForce)
}

// remove takes a fault out of force.
func (e *Engine) remove(i *Injection) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.set(slices.DeleteFunc(slices.Clone(e.inForce()), func(other *Injection) bool { return other == i }))
	for _, w := range e.watches {
		w.spare(i)
	}
}

// Active reports whether any fault is in force.
func (e *Engine) Active() bool { return e.active.Load() != nil }

// Struck is what happens to one request.
type Struck struct {
	Request Request
	// Latency is how long the request waits first.
	Latency time.Duration
	// Report is called with what happens to the request, once, before its answer; nil: nobody observes it.
	Report func(what string)

	by      *Injection // with an effect; nil: none
	kept    atomic.Bool
	latency []*Injection
}

// Strike counts a request, and says what happens to it. The caller calls Done with the result.
func (e *Engine) Strike(r Request) *Struck {
	s := &Struck{Request: r}
	inForce := e.inForce()
	if r.NameInBody != nil && slices.ContainsFunc(inForce, func(i *Injection) bool { return i.fault.Name != "" }) {
		s.Request.Name, s.Request.NameInBody = r.NameInBody(), nil // later the body has been read
	}
	if r.DryRunInBody != nil && slices.ContainsFunc(inForce, func(i *Injection) bool { return commits(&i.fault) }) {
		s.Request.DryRun = r.DryRunInBody()
	}
	s.Request.DryRunInBody = nil
	for _, i := range inForce {
		if strikesWatches(&i.fault) || strikesCalls(&i.fault) || s.by != nil && i.fault.Effect.Type != "" || !i.take(&s.Request) {
			continue
		}
		s.Latency += i.fault.Latency
		if i.fault.Effect.Type == "" {
			s.latency = append(s.latency, i)
			continue
		}
		s.by = i
	}
	for _, i := range s.latency {
		i.keep()
	}
	return s
}

// Done says that the request is over. If the effect has not come to pass, the fault has not fired.
func (s *Struck) Done() {
	if s.by != nil && !s.kept.Load() {
		s.by.refund()
	}
}

// happen says that the effect comes to pass.
func (s *Struck) happen() {
	if !s.kept.CompareAndSwap(false, true) {
		return
	}
	s.by.keep()
	if s.Report != nil {
		s.Report(s.by.fault.Effect.String())
	}
}

// has reports whether the effect on a request is of a type.
func (s *Struck) has(t faults.EffectType) bool {
	return s != nil && s.by != nil && s.by.fault.Effect.Type == t
}

// By returns the fault whose effect strikes the request; ok is false if none does.
func (s *Struck) By() (f faults.Fault, ok bool) {
	if s == nil || s.by == nil {
		return faults.Fault{}, false
	}
	return s.by.fault, true
}

// Answer returns the error that answers the request; nil: there is none.
func (s *Struck) Answer() error {
	if s == nil || s.by == nil {
		return nil
	}
	answer := effectOf(&s.by.fault).answer
	if answer == nil {
		return nil
	}
	s.happen()
	return answer(s.by.fault.Effect, &s.Request)
}

// IsCutBefore reports whether the connection is cut before the request is carried out.
func (s *Struck) IsCutBefore() bool {
	if !s.has(faults.EffectCutBeforeCommit) {
		return false
	}
	s.happen()
	return true
}

// MayBeCutAfter reports whether the connection is cut after the request has been carried out, if it
// succeeds. Then the caller calls CutAfter.
func (s *Struck) MayBeCutAfter() bool { return s.has(faults.EffectCutAfterCommit) }

// CutAfter says that the connection is cut.
func (s *Struck) CutAfter() { s.happen() }

// Lag returns by how many revisions a read is stale; 0: it is not.
func (s *Struck) Lag() int64 {
	if !s.has(faults.EffectStaleRead) {
		return 0
	}
	return int64(s.by.fault.Effect.Count)
}

// ReadStale says that the read has been answered from the past.
func (s *Struck) ReadStale() { s.happen() }

// Refusal returns the message with which admission refuses the write, and what to call when it
// does; empty: it does not.
func (s *Struck) Refusal() (message string, refused func()) {
	if !s.has(faults.EffectRefuseAdmission) {
		return "", nil
	}
	return s.by.fault.Effect.Message, s.happen
}

// struckKey is the key of the Struck in the context of a request.
type struckKey struct{}

// With returns a context that has what happens to a request.
func With(ctx context.Context, s *Struck) context.Context {
	return context.WithValue(ctx, struckKey{}, s)
}

// From returns what happens to a request; nil: there are no faults.
func From(ctx context.Context) *Struck {
	s, _ := ctx.Value(struckKey{}).(*Struck)
	return s
}
