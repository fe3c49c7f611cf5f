// Package world runs the parts of a living cluster: its network, nodes, informers, controllers and scheduler.
package world

import (
	"context"
	"slices"
	"sync"
)

// Part is a part of a living cluster.
type Part interface {
	// Start starts the part, which ends with the context. When it returns, the parts after this one may start.
	Start(ctx context.Context) error
	// Wait returns when all goroutines of the part have ended. It is called after the context has ended, even if Start
	// has failed or was not called.
	Wait()
}

// World is a living cluster. Its methods are safe for concurrent use.
type World struct {
	parts []Part
	end   context.CancelFunc
	wait  func()
}

// Run starts parts one after the other. They end with Close, or with the context. If one cannot start, Run ends all and
// returns the error.
func Run(ctx context.Context, parts ...Part) (*World, error) {
	ctx, end := context.WithCancel(ctx)
	w := &World{parts: parts, end: end}
	w.wait = sync.OnceFunc(w.waitForAll)
	for _, p := range parts {
		if err := p.Start(ctx); err != nil {
			w.Close()
			return nil, err
		}
	}
	return w, nil
}

// Close ends all parts, and returns when their goroutines have ended.
func (w *World) Close() {
	w.end()
	w.wait()
}

// waitForAll waits for the parts in reverse order, so the parts that one needs outlive it.
func (w *World) waitForAll() {
	for _, p := range slices.Backward(w.parts) {
		p.Wait()
	}
}
