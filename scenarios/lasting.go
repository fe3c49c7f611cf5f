package scenarios

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/fakecluster/fakecluster/internal/redact"
)

// errLasted ends a waiting step when its time is over.
var errLasted = errors.New("the time is over")

// lasting plays a step whose expectation must become true or stay true. It checks the expectation
// at each event of a watch, and never in between.
func (p *playing) lasting(ctx context.Context, s step, answers map[string]answer) (answer, *Failure) {
	limit := s.eventually + s.consistently
	began := time.Now()
	inTime, cancel := context.WithTimeoutCause(ctx, limit, errLasted)
	defer cancel()
	seen := &meanwhile{began: began, last: map[string]any{}}
	var a answer
	var looked bool
	var last *Failure // what the expectation lacked when it was looked at last
	pause := firstPause
	for {
		events := seen.events
		err := p.client.follow(inTime, s, answers, limit, seen, func(event *watchEvent) bool {
			now, failure := s.look(inTime, p.client, answers, event)
			if inTime.Err() != nil {
				return true // what it says is that the time is over
			}
			a, last, looked = now, failure, true
			return (last == nil) == (s.eventually > 0)
		})
		over := context.Cause(inTime) == errLasted
		switch {
		case ctx.Err() != nil:
			return answer{}, &Failure{Position: s.pos, Verb: s.verb.name, Message: ended(ctx)}
		case over && looked && last == nil && (seen.broken == nil || s.eventually > 0):
			return a, nil
		case over:
			if last == nil {
				last = &Failure{Position: s.pos, Verb: s.verb.name, Message: "nothing was seen"}
			}
			if seen.broken != nil {
				last.Message += fmt.Sprintf("; it could not be watched at the end: %v", seen.broken)
			}
			last.Message = fmt.Sprintf("not true after %s: %s", limit, last.Message)
			last.Meanwhile = seen.String()
			return answer{}, last
		case err != nil && !errors.As(err, new(brokenError)):
			return answer{}, &Failure{Position: s.pos, Verb: s.verb.name, Message: err.Error()}
		case looked && last == nil && s.eventually > 0:
			return a, nil
		case last != nil && s.consistently > 0:
			last.Message = fmt.Sprintf("no longer true after %s: %s", time.Since(began).Round(time.Millisecond), last.Message)
			last.Meanwhile = seen.String()
			return answer{}, last
		}
		if err != nil {
			seen.broken = err
		}
		if p.interrupted.Err() != nil {
			return answer{}, &Failure{Position: s.pos, Verb: s.verb.name, Message: ended(p.interrupted)}
		}
		// The watch has ended before its time. The next one begins with what is there, after a pause: where
		// each ends at once, virtual time would not pass otherwise.
		if seen.events > events {
			pause = firstPause
		}
		select {
		case <-inTime.Done(): // with the last look, for nobody watches
			a, last = s.look(ctx, p.client, answers, nil)
			looked = true
		case <-time.After(pause):
		}
		pause = min(2*pause, longestPauseOfWatches)
	}
}

// longestPauseOfWatches is how long a step waits at most until it watches again.
const longestPauseOfWatches = 30 * time.Second

// brokenError is why a list or a watch has failed that may work at the next try: the connection broke, or the
// server had no time, or no longer the history.
type brokenError struct{ error }

// failedWith is the error of a GET that was refused with a code.
func failedWith(code int, err error) error {
	if code >= http.StatusInternalServerError || code == http.StatusTooManyRequests || code == http.StatusGone {
		return brokenError{err}
	}
	return err
}

// look judges the present answer to the step, or the object of an event if the step reads a
// single object. So it does not miss an expectation that is true only for a moment.
func (s step) look(ctx context.Context, c *client, answers map[string]answer, event *watchEvent) (answer, *Failure) {
	plainGet := s.verb.name == "get" && !s.asTable && s.subresource == "" && s.by == nil && s.headers == nil && s.options == nil
	if event == nil || event.kind == "DELETED" || !plainGet {
		return s.play(ctx, c, answers)
	}
	a := answer{code: http.StatusOK, body: event.object, warnings: []any{}, about: event.about}
	failure := &Failure{Position: s.pos, Verb: s.verb.name, Object: event.of}
	if failure.Message, failure.Diff = s.judge(a, answers); failure.Message != "" {
		return answer{}, failure
	}
	return a, nil
}

// watchEvent is a change of an object.
type watchEvent struct {
	kind   string // ADDED, MODIFIED or DELETED
	object any
	of     string // what is watched
	about  redact.Request
}

// follow calls look once, and then with each change that could alter the answer to the step,
// until look returns true. It misses no change after the first call. It returns nil when look
// has returned true, or when the server has ended the watch. seen learns what is there and what changes.
func (c *client) follow(ctx context.Context, s step, answers map[string]answer, limit time.Duration, seen *meanwhile, look func(*watchEvent) bool) error {
	t, path, selectors, err := c.watched(ctx, s, answers)
	if err != nil {
		return over(ctx, err)
	}
	now, err := c.send(ctx, call{method: http.MethodGet, path: path, query: selectors})
	if err != nil {
		return over(ctx, brokenError{err})
	}
	if now.refused() {
		return failedWith(now.code, fmt.Errorf("GET %s: %s", path, now))
	}
	from, _ := now.metadata()["resourceVersion"].(string)
	for _, item := range now.items() {
		seen.last[nameOf(item)] = item
	}
	seen.about = now.about
	if look(nil) {
		return nil
	}
	query := url.Values{"watch": {"true"}, "resourceVersion": {from}, "timeoutSeconds": {fmt.Sprint(int(limit.Seconds()) + watchSeconds)}}
	for name, values := range selectors {
		query[name] = values
	}
	response, err := c.open(ctx, call{method: http.MethodGet, path: path, query: query})
	if err != nil {
		return over(ctx, brokenError{err})
	}
	defer response.Body.Close()
	if response.StatusCode >= http.StatusBadRequest {
		return failedWith(response.StatusCode, fmt.Errorf("GET %s?watch=true: %s", path, codeText(response.StatusCode)))
	}
	seen.broken = nil
	for stream := json.NewDecoder(response.Body); ; {
		var text json.RawMessage
		switch err := stream.Decode(&text); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return over(ctx, brokenError{fmt.Errorf("GET %s?watch=true: %w", path, err)})
		}
		var event map[string]any
		if err := utiljson.Unmarshal(text, &event); err != nil {
			return err
		}
		kind, _ := event["type"].(string)
		switch kind {
		case "ERROR":
			return nil // the runner looks again at what is there
		case "BOOKMARK":
			continue
		}
		change := watchEvent{kind, event["object"], t.String(), seen.about}
		seen.add(change)
		if look(&change) {
			return nil
		}
	}
}

// over returns the cause of the end of ctx if it has ended, or else err.
func over(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// watched returns what a step reads, the path of the collection, and the selectors.
func (c *client) watched(ctx context.Context, s step, answers map[string]answer) (target, string, url.Values, error) {
	r, err := s.request.resolve(answers)
	if err != nil {
		return target{}, "", nil, err
	}
	t := targetOfReference(r.argument)
	one := t.name
	t.all = one == ""
	path, err := c.collection(ctx, &t)
	if err != nil {
		return t, "", nil, err
	}
	selectors := url.Values{}
	for _, name := range []string{"labelSelector", "fieldSelector"} {
		if value, ok := r.options[name]; ok {
			selectors.Set(name, fmt.Sprint(value))
		}
	}
	switch {
	case s.verb.name == "events":
		return t, eventsPath(t), url.Values{"fieldSelector": {selectorOfEvents(t)}}, nil
	case one != "":
		selectors.Set("fieldSelector", "metadata.name="+one)
	}
	return t, path, selectors, nil
}

// meanwhile is what changed while a step waited.
type meanwhile struct {
	began time.Time
	last  map[string]any // objects by name
	lines []string
	// broken is why the last watch could not be opened or has broken, or nil while one is open.
	broken error
	// events is how many changes there were.
	events int
	// about is the list, by which it is known what may be shown of the objects.
	about redact.Request
	left  int // how many of the first lines have been left out
}

// maxLines is how many lines of changes a failure shows.
const maxLines = 30

func (m *meanwhile) add(e watchEvent) {
	m.events++
	name := nameOf(e.object)
	before, known := m.last[name]
	m.last[name] = e.object
	m.line(fmt.Sprintf("+%s %s %s", time.Since(m.began).Round(time.Millisecond), e.kind, name))
	if e.kind == "MODIFIED" && known {
		for _, change := range changes("", m.about.ReplaceAnswer(before, secret), m.about.ReplaceAnswer(e.object, secret)) {
			m.line("    " + change)
		}
	}
}

func (m *meanwhile) line(text string) {
	m.lines = append(m.lines, text)
	if len(m.lines) > maxLines {
		m.lines = slices.Delete(m.lines, 0, 1)
		m.left++
	}
}

func (m *meanwhile) String() string {
	if len(m.lines) == 0 {
		return "nothing changed meanwhile"
	}
	text := "what changed meanwhile:"
	if m.left > 0 {
		text += fmt.Sprintf("\n(%d lines before)", m.left)
	}
	return text + "\n" + strings.Join(m.lines, "\n")
}

// changes says, field by field, how a value has changed. It leaves out what changes with every
// write.
func changes(path string, before, after any) []string {
	switch path {
	case ".metadata.managedFields", ".metadata.resourceVersion":
		return nil
	}
	b, mapped := before.(map[string]any)
	a, still := after.(map[string]any)
	if mapped && still {
		all := map[string]any{}
		for name := range b {
			all[name] = nil
		}
		for name := range a {
			all[name] = nil
		}
		if path == "" { // which the items of a list of built-in objects lack
			delete(all, "apiVersion")
			delete(all, "kind")
		}
		var lines []string
		for _, name := range sortedFields(all) {
			was, had := b[name]
			is, has := a[name]
			switch at := path + "." + name; {
			case had && has:
				lines = append(lines, changes(at, was, is)...)
			case has:
				lines = append(lines, fmt.Sprintf("%s: + %s", strings.TrimPrefix(at, "."), inOneLine(is)))
			default:
				lines = append(lines, fmt.Sprintf("%s: - %s", strings.TrimPrefix(at, "."), inOneLine(was)))
			}
		}
		return lines
	}
	bs, listed := before.([]any)
	as, still := after.([]any)
	if listed && still && len(as) == len(bs) {
		var lines []string
		for i := range as {
			lines = append(lines, changes(fmt.Sprintf("%s.%d", path, i), bs[i], as[i])...)
		}
		return lines
	}
	if was, ok := before.(hidden); ok {
		if is, ok := after.(hidden); ok && !was.is(is.value) {
			return []string{fmt.Sprintf("%s: %s -> %s", strings.TrimPrefix(path, "."), redact.Former, is)}
		}
	}
	if was, is := inOneLine(before), inOneLine(after); was != is {
		return []string{fmt.Sprintf("%s: %s -> %s", strings.TrimPrefix(path, "."), was, is)}
	}
	return nil
}
