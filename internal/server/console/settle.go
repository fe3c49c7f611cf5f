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
	// loopWrites is how often an object may be written while the cluster settles.
	loopWrites = 100
	// lookEvery is after how many writes Settle looks for such an object.
	lookEvery = 200
	// settlesWithin is how long a cluster may take to settle.
	settlesWithin = 10 * time.Minute
)

// Settle returns when nothing is left to do for a cluster: no request is in flight, every watch has
// delivered all its events, and no request has come for the quiet time. Heartbeats of nodes do not count. It fails if an object is
// written without end, naming the object and who writes it, and with what is left to do if ctx
// ends before, or after ten minutes. It waits for events and does not poll.
func Settle(ctx context.Context, c *server.Cluster, quiet time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, settlesWithin)
	defer cancel()
	first := c.Store.Revision()
	looked := first
	moved, since := int64(-1), time.Now() // the requests so far, and when that was the number
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
			// In a bubble, the second pause ends when everything has been done that was due at
			// the end of the first.
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
				left = []string{fmt.Sprintf("the last request came less than %s ago; %d revisions were made meanwhile", quiet, c.Store.Revision()-first)}
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

// passes lets time pass, and reports whether it has passed without a change.
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

// maxLeft is how many things an error of Settle names.
const maxLeft = 10

// left says what is still to be done.
func left(c *server.Cluster, state history.State) (left []string) {
	for _, q := range state.Active {
		left = append(left, "no answer yet: "+q.String())
	}
	held, newest := false, c.Store.Revision()
	if state.Revision != state.MovedTo {
		newest = state.MovedTo // what is newer are heartbeats
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
