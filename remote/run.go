package remote

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	bubbles "github.com/fakecluster/fakecluster/remote/internal/bubble"
	"github.com/fakecluster/fakecluster/remote/internal/exploration"
)

// serveBody runs a test once, or has it clean up.
func (e *explorer) serveBody(w http.ResponseWriter, req *http.Request) {
	var asked struct {
		Cluster clusterDescription
		Ended   bool
	}
	serveTrial(w, req, &asked, func(b *bubble) any {
		p := b.trial
		if asked.Ended {
			p.cleanUp()
			return struct{}{}
		}
		run := &playedRun{trial: p, bubble: b, whole: b.known(e.host, asked.Cluster)}
		cleanUp, skipped := e.run.Body(p.test, run)
		p.cleanUp = func() {
			cleanUp()
			run.tellRecords()
		}
		run.tellRecords()
		return map[string]bool{"skipped": skipped}
	})
}

// playedRun is a run of a test that is explored.
type playedRun struct {
	trial  *playedTrial
	bubble *bubble
	whole  *Cluster

	mu      sync.Mutex
	records []runRecord // of goroutines outside of the bubble, until one in the bubble tells them to the host
}

// runRecord is what a test reports to its t.
type runRecord struct {
	failed bool
	text   string
}

// Cluster implements exploration.PlayedRun.
func (r *playedRun) Cluster(t testing.TB) *Cluster {
	r.whole.test = t
	return r.whole
}

// Control implements exploration.PlayedRun.
func (r *playedRun) Control(name, token string, start func(context.Context, *Cluster) error) (exploration.RunState, error) {
	runs := &callable{lasting: true, handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		serveController(w, req, func(ctx context.Context, b *bubble, _, operator clusterDescription) error {
			return start(ctx, b.known(r.trial.explorer.host, operator))
		})
	})}
	if err := r.whole.register([]*callable{runs}); err != nil { // until the end of the trial
		return exploration.RunState{}, err
	}
	return r.act("control", map[string]any{"name": name, "token": token, "function": runs.Function})
}

// Wait implements exploration.PlayedRun.
func (r *playedRun) Wait(d time.Duration) (exploration.RunState, error) {
	return r.act("wait", d.String())
}

// Log implements exploration.PlayedRun. A goroutine outside of the bubble has another time, so it cannot send a frame. What it reports is told later.
func (r *playedRun) Log(failed bool, text string) (exploration.RunState, error) {
	if bubbles.Inside() {
		r.tellRecords()
		return r.send(map[string]any{"log": text, "failed": failed})
	}
	if failed || text != "" {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.records = append(r.records, runRecord{failed, text})
	}
	return exploration.RunState{}, errUsedOutside
}

// tellRecords tells the host what goroutines outside of the bubble have reported.
func (r *playedRun) tellRecords() {
	r.mu.Lock()
	records := r.records
	r.records = nil
	r.mu.Unlock()
	for _, record := range records {
		_, _ = r.send(map[string]any{"log": record.text, "failed": record.failed}) // the run may have ended
	}
}

// act sends an action with one field.
func (r *playedRun) act(field string, value any) (exploration.RunState, error) {
	if !bubbles.Inside() {
		return exploration.RunState{}, errUsedOutside
	}
	r.tellRecords()
	return r.send(map[string]any{field: value})
}

// send sends an action. The pump need not hurry while it lasts, because the host says when it ends.
func (r *playedRun) send(action map[string]any) (state exploration.RunState, err error) {
	action["session"] = r.bubble.session
	err = r.bubble.do(withoutHurry(context.Background()), "POST", r.trial.path(r.bubble)+"/run", action, &state)
	return state, err
}
