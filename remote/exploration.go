package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	bubbles "github.com/fakecluster/fakecluster/remote/internal/bubble"
	"github.com/fakecluster/fakecluster/remote/internal/exploration"
)

// explorer explores an operator or a test for package explore. The host makes the trials, and checks them. For each of them the operator, or the test with its
// controllers, runs in a bubble here.
type explorer struct {
	t        *testing.T
	host     *connection
	name     string // of the exploration
	versions []exploration.Version[Option, *Cluster]
	run      *exploration.Run[Option, *Cluster] // nil: an operator is explored
	living   bool                               // Kubernetes' controllers and nodes run in the clusters of the runs

	playing sync.WaitGroup // trials
	conn    net.Conn       // of the exploration
	mu      sync.Mutex
	bubbles map[int]string // of trials, by their numbers
	err     error          // why the host does not answer in time
}

// errNested returns the error of an exploration in a bubble.
func errNested(function, runs string) error {
	return fmt.Errorf("%s in a synctest bubble: each %s is a bubble of its own, and bubbles cannot be nested: call it outside of synctest.Test", function, runs)
}

// Explore is what package explore calls, and no test. An error is that the exploration could not go on.
func Explore(t *testing.T, x exploration.Exploration[Option, *Cluster]) error {
	t.Helper()
	switch {
	case !hasBubbles:
		return errOldGo
	case bubbles.Inside() && x.Run != nil:
		return errNested("explore.Run", "run")
	case bubbles.Inside():
		return errNested("explore.Operator", "trial")
	}
	h, isNew, err := connect()
	if err != nil {
		return err
	}
	if isNew {
		t.Logf("fakecluster: %s", h.found)
	}
	e := &explorer{t: t, host: h, versions: x.Versions, run: x.Run, bubbles: map[int]string{}}
	functions := &Cluster{host: h} // those that the clusters of the trials call
	defer functions.unregister()
	x.Fields["session"] = h.session
	for number, v := range x.Versions {
		handler := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { e.serveOperator(w, req, number) })
		fields, err := e.request(v.Fields, v.Options, handler, functions)
		if err != nil {
			return err
		}
		add(x.Fields, "versions", fields)
	}
	if x.Run != nil {
		fields, err := e.request(x.Run.Fields, x.Run.Options, http.HandlerFunc(e.serveBody), functions)
		if err != nil {
			return err
		}
		x.Fields["run"] = fields
	}
	text, err := json.Marshal(x.Fields)
	if err != nil {
		return err
	}
	conn, err := net.Dial(h.network, h.address)
	if err != nil {
		return h.gone("the host", err)
	}
	defer conn.Close()
	e.conn = conn
	req, err := h.request(context.Background(), "POST", "/v1/explorations", text)
	if err == nil {
		err = req.Write(conn)
	}
	var answer *http.Response
	if err == nil {
		answer, err = http.ReadResponse(bufio.NewReader(conn), req)
	}
	if err != nil {
		return h.gone("the host", err)
	}
	if answer.StatusCode != http.StatusOK {
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			return err
		}
		return readAnswer(answer.StatusCode, text, nil)
	}
	defer e.await()
	return e.follow(json.NewDecoder(answer.Body), x)
}

// endsWithin is how long a trial that is stuck may take to end when the exploration has.
const endsWithin = time.Second

// await waits for the bubbles of trials, except for those that cannot end.
func (e *explorer) await() {
	ended := make(chan struct{})
	go func() {
		e.playing.Wait()
		close(ended)
	}()
	timer := time.NewTimer(endsWithin)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
	}
}

// request returns the fields of the request for a version of an operator, or for a test, which a handler runs.
func (e *explorer) request(fields map[string]any, options []Option, handler http.Handler, functions *Cluster) (map[string]any, error) {
	s := settings{}
	if err := s.take(options); err != nil {
		return nil, err
	}
	runs := s.call(handler)
	runs.lasting = true
	callables, _ := s[callablesField].([]*callable)
	delete(s, callablesField)
	if err := functions.register(callables); err != nil {
		return nil, err
	}
	_, e.living = s["workloads"]
	s["session"] = ""
	fields["cluster"], fields["function"] = s, runs.Function
	return fields, nil
}

// follow does what the host asks for, until the last line.
func (e *explorer) follow(lines *json.Decoder, x exploration.Exploration[Option, *Cluster]) error {
	e.t.Helper()
	for {
		var line struct {
			Exploration, Log, Error, Stderr, Panic, Failed string
			Trial, Stacks                                  int
			Skipped                                        bool
			Found, Result                                  json.RawMessage
		}
		if err := lines.Decode(&line); err != nil {
			e.mu.Lock()
			defer e.mu.Unlock()
			if e.err != nil {
				return e.err
			}
			return e.host.gone("the host of the exploration", err)
		}
		switch {
		case line.Exploration != "":
			e.name = line.Exploration
		case line.Trial != 0:
			e.playing.Add(1)
			go e.play(line.Trial)
		case line.Stacks != 0:
			go e.report(line.Stacks, map[string]any{"stacks": e.stacks(line.Stacks)})
		case line.Log != "":
			e.t.Log(line.Log)
		case line.Error != "":
			e.t.Error(line.Error)
		case line.Stderr != "":
			_, _ = io.WriteString(x.Stderr, line.Stderr)
		case line.Panic != "":
			go panic(line.Panic) // no trial can end
		default:
			for _, found := range []json.RawMessage{line.Found, line.Result} {
				if len(found) == 0 {
					continue
				}
				if err := json.Unmarshal(found, x.Into); err != nil {
					return err
				}
			}
			if line.Skipped {
				e.t.SkipNow()
			}
			if line.Failed != "" {
				return errors.New(line.Failed)
			}
			return nil
		}
	}
}

// hangs ends the exploration, because its host does not answer in time.
func (e *explorer) hangs(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.err = err
	e.conn.Close()
}

// path is that of a trial in the control API.
func (e *explorer) path(trial int) string {
	return fmt.Sprintf("/v1/explorations/%s/trials/%d", e.name, trial)
}

// report reports what has become of a trial.
func (e *explorer) report(trial int, report map[string]any) {
	report["session"] = e.host.session
	_ = e.host.do(context.Background(), "POST", e.path(trial), report, nil) // the trial may have ended
}

// play has the operator run in a bubble, until the host has played the trial.
func (e *explorer) play(trial int) {
	defer e.playing.Done()
	report := map[string]any{"ended": true}
	defer func() {
		// The runtime ends a bubble so if goroutines that are left in it wait forever.
		if p := recover(); p != nil {
			if !strings.Contains(fmt.Sprint(p), "deadlock") {
				panic(p)
			}
			report["stacks"] = e.stacks(trial)
		}
		e.mu.Lock()
		delete(e.bubbles, trial)
		e.mu.Unlock()
		e.report(trial, report)
	}()
	inBubble(e.t, func(t *testing.T) {
		p := &playedTrial{explorer: e, number: trial, test: t, over: make(chan struct{}), prepared: map[string]*preparation{}}
		b, err := openBubble(e.host, map[string]any{"exploration": e.name, "trial": trial}, p)
		if err != nil {
			report["failed"] = err.Error()
			return
		}
		if e.run != nil && e.living {
			b.watched.living.Store(true)
		}
		e.mu.Lock()
		e.bubbles[trial] = b.watched.number
		e.mu.Unlock()
		err = p.play(b)
		if err != nil {
			report["failed"] = err.Error()
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			e.hangs(err)
		}
		time.Sleep(time.Hour) // what ends by itself has ended then
	})
}

// stacks returns the stacks of the goroutines in the bubble of a trial.
func (e *explorer) stacks(trial int) []string {
	e.mu.Lock()
	number := e.bubbles[trial]
	e.mu.Unlock()
	return append([]string{}, bubbles.Stacks(number)...)
}

// playedTrial is a trial of an exploration that is played in a bubble.
type playedTrial struct {
	explorer *explorer
	number   int
	test     *testing.T
	over     chan struct{} // closed when the host has played the trial, or has ended
	once     sync.Once

	mu       sync.Mutex
	failed   error                   // what has failed the trial
	prepared map[string]*preparation // by the names of clusters
	cleanUp  func()                  // of the test of a run; nil: it has not ended
}

// preparation runs an operator in a cluster.
type preparation struct {
	once sync.Once
	run  func(context.Context, *Cluster) error
	err  error
}

// end says that the trial has been played.
func (p *playedTrial) end() { p.once.Do(func() { close(p.over) }) }

// fail says why the trial has failed.
func (p *playedTrial) fail(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = errors.Join(p.failed, errors.New(text))
}

// tell reports what keeps the trial from its end.
func (p *playedTrial) tell(what map[string]any) { p.explorer.report(p.number, what) }

// play lets time pass in a bubble until the trial has been played, and ends the bubble. It returns why the trial has failed: for example, the host no longer answers.
func (p *playedTrial) play(b *bubble) error {
	b.mu.Lock()
	_ = b.exchange(b.frame, nil) // the bubble has the error
	b.mu.Unlock()
	<-p.over
	b.mu.Lock()
	clusters, err := b.clusters, b.err
	b.closed = true
	b.mu.Unlock()
	b.close()
	for _, c := range clusters {
		c.unregister()
	}
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

// NotePanic makes a panic a finding of the exploration in whose trial the caller runs; elsewhere it does nothing. It is for panics from which a library recovers,
// as controller-runtime does, and must be called while the goroutine panics:
//
//	utilruntime.PanicHandlers = append(utilruntime.PanicHandlers, func(_ context.Context, what any) { remote.NotePanic(what) })
func NotePanic(what any) {
	b := bubbleHere()
	if b == nil || b.trial == nil || what == nil || what == http.ErrAbortHandler {
		return
	}
	p := b.trial
	text := strings.ReplaceAll(fmt.Sprint(what), "\n", " ") + placeOfPanic()
	_ = b.do(context.Background(), "POST", p.path(b), map[string]any{"session": b.session, "panic": text}, nil) // the trial may have ended
}

// bubbleHere returns the bubble of the caller, if it has clusters.
func bubbleHere() *bubble {
	number := bubbles.Number()
	if number == "" {
		return nil
	}
	watchedBubbles.Lock()
	defer watchedBubbles.Unlock()
	for _, w := range watchedBubbles.list {
		if w.number == number {
			return w.bubble
		}
	}
	return nil
}

// operatorEnd says how an operator has ended.
type operatorEnd struct {
	Error string `json:"error,omitempty"`
	Panic string `json:"panic,omitempty"`
}

// path is that of the trial in the control API, in its bubble.
func (p *playedTrial) path(b *bubble) string {
	return fmt.Sprintf("/v1/explorations/%s/trials/%d", b.exploration, p.number)
}

// serveOperator runs the operator of a version until it returns.
func (e *explorer) serveOperator(w http.ResponseWriter, req *http.Request, version int) {
	serveController(w, req, func(ctx context.Context, b *bubble, whole, operator clusterDescription) error {
		return b.trial.run(ctx, b, e.versions[version], whole, operator)
	})
}

// serveController runs a controller until it returns, in the bubble of a trial.
func serveController(w http.ResponseWriter, req *http.Request, run func(ctx context.Context, b *bubble, whole, operator clusterDescription) error) {
	var asked struct{ Cluster, Operator clusterDescription }
	serveTrial(w, req, &asked, func(b *bubble) any {
		return ended(func() error { return run(req.Context(), b, asked.Cluster, asked.Operator) })
	})
}

// serveTrial serves a call in the bubble of a trial.
func serveTrial(w http.ResponseWriter, req *http.Request, asked any, serve func(b *bubble) any) {
	if err := json.NewDecoder(req.Body).Decode(asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	b, _ := req.Context().Value(bubbleKey{}).(*bubble)
	if b == nil || b.trial == nil {
		http.Error(w, "an operator runs in the bubble of a trial", http.StatusBadRequest)
		return
	}
	text, err := json.Marshal(serve(b))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text)
}

// ended runs an operator, and says how it has ended.
func ended(run func() error) (end operatorEnd) {
	defer func() {
		if what := recover(); what != nil {
			end = operatorEnd{Panic: fmt.Sprintf("%v\n%s", what, debug.Stack())}
		}
	}()
	if err := run(); err != nil {
		end.Error = err.Error()
	}
	return end
}

// run runs an operator. In a cluster in which none has run, it is prepared.
func (p *playedTrial) run(ctx context.Context, b *bubble, v exploration.Version[Option, *Cluster], whole, operator clusterDescription) error {
	p.mu.Lock()
	made := p.prepared[whole.Cluster]
	if made == nil {
		made = &preparation{}
		p.prepared[whole.Cluster] = made
	}
	p.mu.Unlock()
	made.once.Do(func() { made.run, made.err = v.Prepare(p.test, p.fail, b.known(p.explorer.host, whole)) })
	if made.err != nil {
		return made.err
	}
	return made.run(ctx, b.known(p.explorer.host, operator))
}

// known returns a cluster that the host has made in the bubble.
func (b *bubble) known(h *connection, d clusterDescription) *Cluster {
	c := &Cluster{host: h, description: d}
	b.add(c)
	b.index.add(c)
	return c
}
