package remote

import (
	"context"
	"net/http"
	"testing"
	"time"

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
		cleanUp, skipped := e.run.Body(p.test, &playedRun{p, b, b.known(e.host, asked.Cluster)})
		p.cleanUp = cleanUp
		return map[string]bool{"skipped": skipped}
	})
}

// playedRun is a run of a test that is explored.
type playedRun struct {
	trial  *playedTrial
	bubble *bubble
	whole  *Cluster
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

// Log implements exploration.PlayedRun.
func (r *playedRun) Log(failed bool, text string) (exploration.RunState, error) {
	return r.do(map[string]any{"log": text, "failed": failed})
}

// act sends an action with one field.
func (r *playedRun) act(field string, value any) (exploration.RunState, error) {
	return r.do(map[string]any{field: value})
}

// do sends an action. The pump need not hurry while it lasts, because the host says when it ends.
func (r *playedRun) do(action map[string]any) (state exploration.RunState, err error) {
	action["session"] = r.bubble.session
	err = r.bubble.do(withoutHurry(context.Background()), "POST", r.trial.path(r.bubble)+"/run", action, &state)
	return state, err
}
