package console

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/fakecluster/fakecluster/internal/findings"
	"github.com/fakecluster/fakecluster/internal/history"
	"github.com/fakecluster/fakecluster/internal/server"
)

const (
	// loopWrites is the number of writes to one object from which on Settle fails.
	loopWrites = 100
	// lookEvery is the number of writes after which Settle looks for such an object.
	lookEvery = 200
	// settlesWithin is the time limit of Settle.
	settlesWithin = 10 * time.Minute
)

// Settle returns when a cluster is quiet: no request is in flight, every watch has delivered all its events, and no
// request has come for the duration quiet. Heartbeats of nodes do not count. It fails if an object is written without
// end; the error names the object and the writers. It also fails if ctx ends, or after ten minutes; the error says what
// is left to do. It waits for events and does not poll.
func Settle(ctx context.Context, c *server.Cluster, quiet time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, settlesWithin)
	defer cancel()
	first := c.Store.Revision()
	looked := first
	moved, since := int64(-1), time.Now() // the number of requests, and since when it has not changed
	for {
		state, changed := c.History.State()
		if state.Revision-looked >= lookEvery {
			looked = state.Revision
			if loop, ok := endlessWrites(c, first, loopWrites); ok {
				return fmt.Errorf("the cluster does not settle: %s", loop)
			}
		}
		left := left(c, state)
		if len(left) > 0 || state.Moved != moved {
			moved, since = state.Moved, time.Now()
		}
		if len(left) == 0 {
			// In a bubble, the second pause ends after everything that was due at the end of the first.
			rest := quiet - time.Since(since)
			if (rest <= 0 || passes(ctx, rest, changed)) && passes(ctx, time.Nanosecond, changed) {
				return nil
			}
		} else {
			select {
			case <-changed:
			case <-ctx.Done():
			}
		}
		if ctx.Err() != nil {
			if len(left) == 0 {
				left = []string{fmt.Sprintf("the last request came less than %s ago; %d revisions were written meanwhile", quiet, c.Store.Revision()-first)}
			}
			return fmt.Errorf("the cluster has not settled: %w: %s", context.Cause(ctx), strings.Join(left, "; "))
		}
	}
}

// EndlessWrites returns the object that was written most often without a pause of a second, with
// its writer and the changes of the last write. ok is false if there were fewer writes than
// atLeast.
func EndlessWrites(c *server.Cluster, atLeast int) (text string, ok bool) {
	return endlessWrites(c, 0, atLeast)
}

func endlessWrites(c *server.Cluster, since int64, atLeast int) (string, bool) {
	source := findings.Source{Store: c.Store, History: c.History, Registry: c.Registry(), Since: since}
	return findings.Loop(source, atLeast)
}

// passes waits for d. It returns false at once if something changes.
func passes(ctx context.Context, d time.Duration, changed <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-changed:
	case <-ctx.Done():
	}
	return false
}

// maxLeft is the maximum number of reasons in an error of Settle.
const maxLeft = 10

// left lists what is left to do.
func left(c *server.Cluster, state history.State) (left []string) {
	for _, q := range state.Active {
		left = append(left, "no answer yet: "+q.String())
	}
	held, newest := false, c.Store.Revision()
	if state.Revision != state.MovedTo {
		newest = state.MovedTo // later revisions are heartbeats
	}
	for _, w := range state.Watches {
		if w.Reached != 0 && w.Reached < newest {
			r := w.Request
			left = append(left, fmt.Sprintf("not delivered yet: the watch of %s for %s has events up to revision %d of %d", r.Client(), r.Object(), w.Reached, newest))
			held = c.Faults.Holds()
		}
	}
	if held {
		left = append(left, "a Hold of the test keeps events back: call its Deliver or Release")
	}
	if len(left) > maxLeft {
		left = append(left[:maxLeft], fmt.Sprintf("and %d more", len(left)-maxLeft))
	}
	return left
}
