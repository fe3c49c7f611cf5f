package consistency

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

// Writers create, update, patch, apply and delete samples at random, side by side.
type Writers struct {
	Wire  Wire
	Seed  uint64 // decides what each writer does, see package seedtest
	Count int    // the number of writers
	Each  int    // the number of requests of each writer
	// Pause is how long a writer waits before each request, by the clock of a bubble. Nil
	// means that it does not wait.
	Pause func(*rand.Rand) time.Duration
	// Steps are the requests, if not all those that the seed decides: some of [Writers.Plan].
	Steps []Step
	// Faults is set if faults are injected into requests with the agent of the Wire: connections are cut,
	// writes refused.
	Faults bool

	mu       sync.Mutex
	accepted []Write
	answered int
	gates    map[int]chan struct{} // by the number of requests after which each is closed
	over     bool                  // all steps have been made, and all gates are open
}

// Step is one request of a writer.
type Step struct {
	Writer, Number  int           // the number decides what is written; no other step has it
	After           time.Duration // how long the writer waits before, see Writers.Pause
	Verb            string
	Namespace, Name string
}

// String describes the request.
func (s Step) String() string {
	return fmt.Sprintf("writer %d, after %v: %s %s/%s (%d)", s.Writer, s.After, s.Verb, s.Namespace, s.Name, s.Number)
}

// Plan returns the requests that the seed decides: Each of Count writers, those of a writer in their order.
func (ws *Writers) Plan() (steps []Step) {
	for n := range ws.Count {
		random := seedtest.Source(ws.Seed, n)
		for i := range ws.Each {
			s := Step{Writer: n, Number: n*1_000_000 + i}
			if ws.Pause != nil {
				s.After = ws.Pause(random)
			}
			s.Verb = seedtest.Pick(random, "create", "create", "update", "update", "nothing", "merge", "json", "status", "apply", "finalize", "delete")
			s.Namespace, s.Name = seedtest.Pick(random, Namespaces...), seedtest.Pick(random, Names...)
			steps = append(steps, s)
		}
	}
	return steps
}

// Write is a write that the server accepted.
type Write struct {
	Verb, Key string
	Body      string // the answer
	Cut       bool   // the connection was cut: the write may have been made, or not
}

// After returns a channel that is closed once so many requests have been answered, or all steps have been made.
func (ws *Writers) After(requests int) <-chan struct{} {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.gates == nil {
		ws.gates = map[int]chan struct{}{}
	}
	gate, ok := ws.gates[requests]
	if !ok {
		gate = make(chan struct{})
		ws.gates[requests] = gate
		if ws.answered >= requests || ws.over {
			close(gate)
		}
	}
	return gate
}

// Requests returns the number of requests that have been answered.
func (ws *Writers) Requests() int {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.answered
}

// Accepted returns the writes that the server has accepted so far.
func (ws *Writers) Accepted() []Write {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return slices.Clone(ws.accepted)
}

// SomeRevision returns one of the revisions that writes have been answered with, chosen by
// n, or first if there is none yet.
func (ws *Writers) SomeRevision(first int, n int64) int {
	var revisions []int
	for _, w := range ws.Accepted() {
		if w.Verb == "last" {
			break
		}
		if m, err := MetaOf(w.Body); err == nil {
			if revision, err := strconv.Atoi(m.Metadata.ResourceVersion); err == nil {
				revisions = append(revisions, revision)
			}
		}
	}
	if len(revisions) == 0 {
		return first
	}
	return revisions[n%int64(len(revisions))]
}

// cut records a write whose response the client did not get.
func (ws *Writers) cut(verb, key string) {
	ws.mu.Lock()
	ws.accepted = append(ws.accepted, Write{Verb: verb, Key: key, Cut: true})
	ws.mu.Unlock()
	ws.record(verb, key, http.StatusServiceUnavailable, "")
}

// isFault reports whether an answer is one of faults. An internal error is one if its message is that of a fault.
func isFault(code int, answer string) bool {
	switch code {
	case http.StatusForbidden, http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	case http.StatusInternalServerError:
		return strings.Contains(answer, OnPurpose)
	}
	return false
}

// OnPurpose is what the internal errors of faults have to say.
const OnPurpose = "on purpose"

func (ws *Writers) record(verb, key string, code int, body string) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if code < 300 {
		ws.accepted = append(ws.accepted, Write{Verb: verb, Key: key, Body: body})
	}
	ws.answered++
	if gate, ok := ws.gates[ws.answered]; ok && !ws.over {
		close(gate)
	}
}

// finish opens the gates that are still closed.
func (ws *Writers) finish() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.over = true
	for requests, gate := range ws.gates {
		if requests > ws.answered {
			close(gate)
		}
	}
}

// Run writes until all writers are done. Then it writes every object once more, in the
// order of the keys, with the annotation "last" and with fields that every selector of the
// queries selects. A watcher that has seen the last object of its query has
// seen everything.
func (ws *Writers) Run(t testing.TB) {
	if ws.Steps == nil {
		ws.Steps = ws.Plan()
	}
	byWriter := map[int][]Step{}
	for _, s := range ws.Steps {
		byWriter[s.Writer] = append(byWriter[s.Writer], s)
	}
	var writers sync.WaitGroup
	for _, steps := range byWriter {
		writers.Go(func() {
			for _, s := range steps {
				time.Sleep(s.After)
				if err := ws.write(t.Context(), s); err != nil {
					t.Errorf("%v: %v", s, err)
					return
				}
			}
		})
	}
	writers.Wait()
	ws.finish()
	spared := ws.Wire
	spared.Agent = "last" // no fault strikes these
	for _, namespace := range Namespaces {
		for _, name := range Names {
			if ws.Pause != nil {
				time.Sleep(time.Second) // watchers catch up, even where the history is short
			}
			const last = `{"apiVersion":"reads.example.com/v1","kind":"Sample","metadata":{"name":%q,"labels":{"parity":"even","tier":"a"},` +
				`"annotations":{"last":"true"}},"spec":{"color":"red","count":-1}}`
			path := Path + "/namespaces/" + namespace + "/samples/" + name + "?fieldManager=last&force=true"
			code, body, err := spared.Send(t.Context(), http.MethodPatch, path, "application/apply-patch+yaml", fmt.Sprintf(last, name))
			if err != nil || code >= 300 {
				t.Errorf("the last write of %s/%s: %d %s %v", namespace, name, code, body, err)
			}
			ws.record("last", namespace+"/"+name, code, body)
		}
	}
}

// write makes one step. Its number makes it differ from all others. A refusal because of
// what another writer did (not found, a conflict) is not an error.
func (ws *Writers) write(ctx context.Context, s Step) error {
	random := seedtest.Source(ws.Seed, -1-s.Number)
	pick := func(choices ...string) string { return seedtest.Pick(random, choices...) }
	verb, namespace, name, number := s.Verb, s.Namespace, s.Name, s.Number
	collection := Path + "/namespaces/" + namespace + "/samples"
	path := collection + "/" + name
	content := func(resourceVersion string) string {
		labels := []string{fmt.Sprintf(`"parity":%q`, pick("even", "odd"))}
		if tier := pick("a", "b", "c", ""); tier != "" {
			labels = append(labels, fmt.Sprintf(`"tier":%q`, tier))
		}
		return fmt.Sprintf(`{"apiVersion":"reads.example.com/v1","kind":"Sample","metadata":{"name":%q,%s"labels":{%s}},"spec":{"color":%q,"count":%d}}`,
			name, resourceVersion, strings.Join(labels, ","), pick("red", "green", "blue"), number)
	}
	var method, contentType, body string
	switch verb {
	case "create":
		method, path, contentType, body = http.MethodPost, collection, "application/json", content("")
	case "update", "nothing":
		code, current, err := ws.Wire.Send(ctx, http.MethodGet, path, "", "")
		if err != nil {
			return err
		}
		if code == http.StatusNotFound || ws.Faults && isFault(code, current) {
			ws.record(verb, "", code, "")
			return nil
		}
		m, err := MetaOf(current)
		if err != nil {
			return err
		}
		method, contentType, body = http.MethodPut, "application/json", current
		if verb == "update" {
			body = content(fmt.Sprintf(`"resourceVersion":%q,`, m.Metadata.ResourceVersion))
		}
	case "merge":
		method, contentType = http.MethodPatch, "application/merge-patch+json"
		body = fmt.Sprintf(`{"metadata":{"labels":{"tier":%s}},"spec":{"count":%d}}`, pick(`"a"`, `"c"`, "null"), number)
	case "json":
		method, contentType = http.MethodPatch, "application/json-patch+json"
		body = fmt.Sprintf(`[{"op":"add","path":"/spec/color","value":%q},{"op":"add","path":"/spec/count","value":%d}]`, pick("red", "green"), number)
	case "status":
		method, path, contentType = http.MethodPatch, path+"/status", "application/merge-patch+json"
		body = fmt.Sprintf(`{"status":{"seen":%d}}`, number)
	case "apply":
		method, path, contentType, body = http.MethodPatch, path+"?force=true&fieldManager="+pick("x", "y"), "application/apply-patch+yaml", content("")
	case "finalize":
		method, contentType = http.MethodPatch, "application/merge-patch+json"
		body = fmt.Sprintf(`{"metadata":{"finalizers":%s}}`, pick(`["reads.example.com/f"]`, "null", "null"))
	case "delete":
		method = http.MethodDelete
	}
	code, answer, err := ws.Wire.Send(ctx, method, path, contentType, body)
	if err != nil && ws.Faults && ctx.Err() == nil {
		ws.cut(verb, namespace+"/"+name)
		return nil
	}
	if err != nil {
		return err
	}
	switch code {
	case http.StatusOK, http.StatusCreated, http.StatusNotFound, http.StatusConflict:
	case http.StatusUnprocessableEntity: // an object that is being deleted accepts no new finalizer
		if verb != "finalize" {
			return fmt.Errorf("%s %s: %d %s", verb, path, code, answer)
		}
	default:
		if !ws.Faults || !isFault(code, answer) {
			return fmt.Errorf("%s %s: %d %s", verb, path, code, answer)
		}
	}
	ws.record(verb, namespace+"/"+name, code, answer)
	return nil
}
