package controlplane

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// identity is the controller of a context.
type identity struct {
	name   string
	report func(error)
}

type identityKey struct{}

// withName returns a context whose panics are reported as those of a controller.
func withName(ctx context.Context, name string, report func(error)) context.Context {
	return context.WithValue(ctx, identityKey{}, identity{name, report})
}

func (i identity) panicked(what any) {
	i.report(fmt.Errorf("%s panicked: %v\n\n%s", i.name, what, debug.Stack()))
}

// recoverPanic must be deferred. It reports a panic of the controller of a context.
func recoverPanic(ctx context.Context) {
	if what := recover(); what != nil {
		ctx.Value(identityKey{}).(identity).panicked(what)
	}
}

// The goroutines of controllers recover from panics by utilruntime.HandleCrash, which calls these handlers and then
// panics again, unless it is told not to. So a panic ends only its goroutine.
func init() {
	utilruntime.PanicHandlers = append(utilruntime.PanicHandlers, func(ctx context.Context, what any) {
		if i, ok := ctx.Value(identityKey{}).(identity); ok {
			i.panicked(what)
			runtime.Goexit()
		}
		if name := controllerOf(debug.Stack()); name != "" && running.panicked(name, what) {
			runtime.Goexit()
		}
	})
}

// running are the controllers of all clusters of the process. A few goroutines of controllers have a context of their
// own, such as those of their event handlers; if one of them panics, its cluster is unknown.
var running runningControllers

type runningControllers struct {
	mu      sync.Mutex
	reports map[*Controllers]func(error) // Config.Report of each
}

func (r *runningControllers) add(c *Controllers, report func(error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reports == nil {
		r.reports = map[*Controllers]func(error){}
	}
	r.reports[c] = report
}

func (r *runningControllers) remove(c *Controllers) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.reports, c)
}

// panicked reports a panic to the controllers of all clusters. It returns false if there are none.
func (r *runningControllers) panicked(name string, what any) bool {
	r.mu.Lock()
	reports := slices.Collect(maps.Values(r.reports))
	r.mu.Unlock()
	for _, report := range reports {
		identity{name, report}.panicked(what)
	}
	return len(reports) > 0
}

// controllerOf returns the package of the controller, or of the scheduler, in a stack; empty: there is none.
func controllerOf(stack []byte) string {
	for _, line := range strings.Split(string(stack), "\n") {
		for _, prefix := range []string{"k8s.io/kubernetes/pkg/controller/", "k8s.io/kubernetes/pkg/scheduler.", "k8s.io/cloud-provider/controllers/"} {
			if rest, ok := strings.CutPrefix(line, prefix); ok {
				name, _, _ := strings.Cut(rest, ".")
				return strings.TrimSuffix(strings.TrimPrefix(prefix, "k8s.io/kubernetes/pkg/"), ".") + name
			}
		}
	}
	return ""
}
