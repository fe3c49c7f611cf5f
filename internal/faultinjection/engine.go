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
	// Store is the store of the server.
	Store *store.Store
	// Seed is the seed of the cluster; nil: random.
	Seed *uint64

	// active has the active faults, in the order of injection; nil: none. The slice is immutable.
	active atomic.Pointer[[]*Injection]

	mu       sync.Mutex
	injected []*Injection // including stopped ones
	watches  []*Watch     // running watches, in the order in which they began
	begun    int64        // how many watches have begun
	hold     *Hold        // nil: none
}

// Serves returns an error if a server does not serve a verb of a resource or subresource. Empty arguments match
// everything.
type Serves func(resource schema.GroupResource, subresource, verb string) error

// Inject injects a fault. It fails for an invalid fault, and if the server does not serve its resource, subresource or
// verb.
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

// set sets the active faults. The caller holds the lock.
func (e *Engine) set(inForce []*Injection) {
	if len(inForce) == 0 {
		e.active.Store(nil)
		return
	}
	e.active.Store(&inForce)
}

// remove removes a fault from the active ones.
func (e *Engine) remove(i *Injection) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.set(slices.DeleteFunc(slices.Clone(e.inForce()), func(other *Injection) bool { return other == i }))
	for _, w := range e.watches {
		w.spare(i)
	}
}

// Active reports whether any fault is active.
func (e *Engine) Active() bool { return e.active.Load() != nil }

// Struck is what happens to one request.
type Struck struct {
	Request Request
	// Latency is how long the request waits before anything else.
	Latency time.Duration
	// Report is called once, before the response, with a description of what happens to the request; may be nil.
	Report func(what string)

	by      *Injection // the fault with an effect; nil: none
	kept    atomic.Bool
	latency []*Injection
}

// Strike counts a request, and returns what happens to it; nil: nothing. The caller must call Done of the result.
func (e *Engine) Strike(r Request) *Struck {
	s := &Struck{Request: r}
	inForce := e.inForce()
	if r.NameInBody != nil && slices.ContainsFunc(inForce, func(i *Injection) bool { return i.fault.Name != "" }) {
		s.Request.Name, s.Request.NameInBody = r.NameInBody(), nil // the body is read later
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

// Done ends the request. If the effect has not happened, the fault has not fired.
func (s *Struck) Done() {
	if s.by != nil && !s.kept.Load() {
		s.by.refund()
	}
}

// happen records that the effect happens.
func (s *Struck) happen() {
	if !s.kept.CompareAndSwap(false, true) {
		return
	}
	s.by.keep()
	if s.Report != nil {
		s.Report(s.by.fault.Effect.String())
	}
}

// has reports whether the effect on the request has a type.
func (s *Struck) has(t faults.EffectType) bool {
	return s != nil && s.by != nil && s.by.fault.Effect.Type == t
}

// By returns the fault whose effect strikes the request. ok is false if there is none.
func (s *Struck) By() (f faults.Fault, ok bool) {
	if s == nil || s.by == nil {
		return faults.Fault{}, false
	}
	return s.by.fault, true
}

// Answer returns the error with which to answer the request; nil: none.
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

// MayBeCutAfter reports whether the connection is cut after the request has been carried out successfully. The caller
// then calls CutAfter.
func (s *Struck) MayBeCutAfter() bool { return s.has(faults.EffectCutAfterCommit) }

// CutAfter records that the connection is cut.
func (s *Struck) CutAfter() { s.happen() }

// Lag returns by how many revisions a read is stale; 0: none.
func (s *Struck) Lag() int64 {
	if !s.has(faults.EffectStaleRead) {
		return 0
	}
	return int64(s.by.fault.Effect.Count)
}

// ReadStale records that the read returned a past state.
func (s *Struck) ReadStale() { s.happen() }

// Refusal returns the message with which admission rejects the write, and a function to call when it does; empty: it
// does not.
func (s *Struck) Refusal() (message string, refused func()) {
	if !s.has(faults.EffectRefuseAdmission) {
		return "", nil
	}
	return s.by.fault.Effect.Message, s.happen
}

// struckKey is the key of the Struck in the context of a request.
type struckKey struct{}

// With returns a context with a Struck.
func With(ctx context.Context, s *Struck) context.Context {
	return context.WithValue(ctx, struckKey{}, s)
}

// From returns the Struck of With; nil: none.
func From(ctx context.Context) *Struck {
	s, _ := ctx.Value(struckKey{}).(*Struck)
	return s
}
