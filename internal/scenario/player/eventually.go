package player

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/fakecluster/fakecluster/internal/redact"
	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// errTimeUp is the cause that ends the context of a waiting step.
var errTimeUp = errors.New("the time is over")

// await plays a step whose expectation must become true or stay true. It checks the expectation
// at each event of a watch, and never in between.
func (p *playback) await(ctx context.Context, s syntax.Step, answers map[string]Answer) (Answer, *Failure) {
	limit := s.Eventually + s.Consistently
	began := time.Now()
	inTime, cancel := context.WithTimeoutCause(ctx, limit, errTimeUp)
	defer cancel()
	seen := &changeLog{began: began, last: map[string]any{}}
	var a Answer
	var looked bool
	var last *Failure // of the latest check
	pause := firstPause
	for {
		events := seen.events
		err := p.client.follow(inTime, s, answers, limit, seen, func(event *watchEvent) bool {
			now, failure := check(inTime, s, p.client, answers, event)
			if inTime.Err() != nil {
				return true // the failure is the end of the time
			}
			a, last, looked = now, failure, true
			return (last == nil) == (s.Eventually > 0)
		})
		over := context.Cause(inTime) == errTimeUp
		switch {
		case ctx.Err() != nil:
			return Answer{}, &Failure{Position: s.Pos, Verb: s.Verb.Name, Message: ended(ctx)}
		case over && looked && last == nil && (seen.watchError == nil || s.Eventually > 0):
			return a, nil
		case over:
			if last == nil {
				last = &Failure{Position: s.Pos, Verb: s.Verb.Name, Message: "the objects could not be read"}
			}
			if seen.watchError != nil {
				last.Message += fmt.Sprintf("; the watch failed at the end: %v", seen.watchError)
			}
			last.Message = fmt.Sprintf("not true after %s: %s", limit, last.Message)
			last.Meanwhile = seen.String()
			return Answer{}, last
		case err != nil && !errors.As(err, new(retriableError)):
			return Answer{}, &Failure{Position: s.Pos, Verb: s.Verb.Name, Message: err.Error()}
		case looked && last == nil && s.Eventually > 0:
			return a, nil
		case last != nil && s.Consistently > 0:
			last.Message = fmt.Sprintf("no longer true after %s: %s", time.Since(began).Round(time.Millisecond), last.Message)
			last.Meanwhile = seen.String()
			return Answer{}, last
		}
		if err != nil {
			seen.watchError = err
		}
		if p.interrupted.Err() != nil {
			return Answer{}, &Failure{Position: s.Pos, Verb: s.Verb.Name, Message: ended(p.interrupted)}
		}
		// The watch has ended early. The next one begins with a list, after a pause: if each watch ended at once,
		// virtual time would not advance otherwise.
		if seen.events > events {
			pause = firstPause
		}
		select {
		case <-inTime.Done(): // the last check, because there is no watch
			a, last = check(ctx, s, p.client, answers, nil)
			looked = true
		case <-time.After(pause):
		}
		pause = min(2*pause, longestPauseOfWatches)
	}
}

// longestPauseOfWatches is the longest pause before a step watches again.
const longestPauseOfWatches = 30 * time.Second

// retriableError is an error of a list or a watch that may succeed at the next try: the connection broke, the
// server was overloaded, or its history was compacted.
type retriableError struct{ error }

// failedWith returns the error of a GET that was rejected with a code. It is retriable for 410, 429 and 5xx.
func failedWith(code int, err error) error {
	if code >= http.StatusInternalServerError || code == http.StatusTooManyRequests || code == http.StatusGone {
		return retriableError{err}
	}
	return err
}

// check compares the current answer to the step. If the step reads a single object, it compares the object of the event,
// so that it does not miss an expectation that is true only for a moment.
func check(ctx context.Context, s syntax.Step, c *Client, answers map[string]Answer, event *watchEvent) (Answer, *Failure) {
	plainGet := s.Verb.Name == "get" && !s.AsTable && s.Subresource == "" && s.By == nil && s.Headers == nil && s.Options == nil
	if event == nil || event.kind == "DELETED" || !plainGet {
		return playStep(ctx, s, c, answers)
	}
	a := Answer{Code: http.StatusOK, Body: event.object, Warnings: []any{}, redaction: event.redaction}
	failure := &Failure{Position: s.Pos, Verb: s.Verb.Name, Object: event.watched}
	if failure.Message, failure.Diff = evaluate(s.Expectation, a, answers); failure.Message != "" {
		return Answer{}, failure
	}
	return a, nil
}

// watchEvent is a change of an object.
type watchEvent struct {
	kind      string // ADDED, MODIFIED or DELETED
	object    any
	watched   string // the watched object or collection
	redaction redact.Request
}

// follow calls look once, and then with each change that could alter the answer to the step,
// until look returns true. It misses no change after the first call. It returns nil when look
// has returned true, or when the server has ended the watch. It adds the objects and the changes to seen.
func (c *Client) follow(ctx context.Context, s syntax.Step, answers map[string]Answer, limit time.Duration, seen *changeLog, look func(*watchEvent) bool) error {
	t, path, selectors, err := c.watchTarget(ctx, s, answers)
	if err != nil {
		return causeOr(ctx, err)
	}
	now, err := c.Send(ctx, Call{Method: http.MethodGet, Path: path, query: selectors})
	if err != nil {
		return causeOr(ctx, retriableError{err})
	}
	if now.IsError() {
		return failedWith(now.Code, fmt.Errorf("GET %s: %s", path, now))
	}
	from, _ := now.metadata()["resourceVersion"].(string)
	for _, item := range now.items() {
		seen.last[nameOf(item)] = item
	}
	seen.redaction = now.redaction
	if look(nil) {
		return nil
	}
	query := url.Values{"watch": {"true"}, "resourceVersion": {from}, "timeoutSeconds": {fmt.Sprint(int(limit.Seconds()) + watchSeconds)}}
	maps.Copy(query, selectors)
	response, err := c.open(ctx, Call{Method: http.MethodGet, Path: path, query: query})
	if err != nil {
		return causeOr(ctx, retriableError{err})
	}
	defer response.Body.Close()
	if response.StatusCode >= http.StatusBadRequest {
		return failedWith(response.StatusCode, fmt.Errorf("GET %s?watch=true: %s", path, CodeText(response.StatusCode)))
	}
	seen.watchError = nil
	for stream := json.NewDecoder(response.Body); ; {
		var text json.RawMessage
		switch err := stream.Decode(&text); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return causeOr(ctx, retriableError{fmt.Errorf("GET %s?watch=true: %w", path, err)})
		}
		var event map[string]any
		if err := utiljson.Unmarshal(text, &event); err != nil {
			return err
		}
		kind, _ := event["type"].(string)
		switch kind {
		case "ERROR":
			return nil // the caller lists again
		case "BOOKMARK":
			continue
		}
		change := watchEvent{kind, event["object"], t.String(), seen.redaction}
		seen.add(change)
		if look(&change) {
			return nil
		}
	}
}

// causeOr returns the cause of ctx if ctx has ended, and err otherwise.
func causeOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// watchTarget returns the target of a step, the path of the collection to watch, and the selectors.
func (c *Client) watchTarget(ctx context.Context, s syntax.Step, answers map[string]Answer) (target, string, url.Values, error) {
	r, err := resolveRequest(s.Request, answers)
	if err != nil {
		return target{}, "", nil, err
	}
	t := targetOfReference(r.Argument)
	one := t.name
	t.everywhere = one == ""
	path, err := c.collection(ctx, &t)
	if err != nil {
		return t, "", nil, err
	}
	selectors := url.Values{}
	for _, name := range []string{"labelSelector", "fieldSelector"} {
		if value, ok := r.Options[name]; ok {
			selectors.Set(name, fmt.Sprint(value))
		}
	}
	switch {
	case s.Verb.Name == "events":
		return t, eventsPath(t), url.Values{"fieldSelector": {selectorOfEvents(t)}}, nil
	case one != "":
		selectors.Set("fieldSelector", "metadata.name="+one)
	}
	return t, path, selectors, nil
}

// changeLog has the changes of objects while a step waited.
type changeLog struct {
	began time.Time
	last  map[string]any // objects by name
	lines []string
	// watchError is why the last watch could not be opened or has broken, or nil while one is open.
	watchError error
	// events is how many changes there were.
	events int
	// redaction is the list request; it determines which values of the objects are hidden.
	redaction redact.Request
	omitted   int // how many of the first lines have been left out
}

// maxLines is how many lines of changes a failure shows.
const maxLines = 30

func (m *changeLog) add(e watchEvent) {
	m.events++
	name := nameOf(e.object)
	before, exists := m.last[name]
	m.last[name] = e.object
	m.line(fmt.Sprintf("+%s %s %s", time.Since(m.began).Round(time.Millisecond), e.kind, name))
	if e.kind == "MODIFIED" && exists {
		for _, change := range changes("", m.redaction.ReplaceAnswer(before, redactValue), m.redaction.ReplaceAnswer(e.object, redactValue)) {
			m.line("    " + change)
		}
	}
}

func (m *changeLog) line(text string) {
	m.lines = append(m.lines, text)
	if len(m.lines) > maxLines {
		m.lines = slices.Delete(m.lines, 0, 1)
		m.omitted++
	}
}

func (m *changeLog) String() string {
	if len(m.lines) == 0 {
		return "no changes meanwhile"
	}
	text := "changes meanwhile:"
	if m.omitted > 0 {
		text += fmt.Sprintf("\n(%d earlier lines)", m.omitted)
	}
	return text + "\n" + strings.Join(m.lines, "\n")
}

// changes describes how a value has changed, field by field. It ignores the fields that change with every
// write.
func changes(path string, before, after any) []string {
	switch path {
	case ".metadata.managedFields", ".metadata.resourceVersion":
		return nil
	}
	b, mapped := before.(map[string]any)
	a, still := after.(map[string]any)
	if mapped && still {
		names := map[string]any{}
		maps.Copy(names, b)
		maps.Copy(names, a)
		if path == "" { // which the items of a list of built-in objects lack
			delete(names, "apiVersion")
			delete(names, "kind")
		}
		var lines []string
		for _, name := range syntax.SortedFields(names) {
			former, had := b[name]
			current, has := a[name]
			switch field := path + "." + name; {
			case had && has:
				lines = append(lines, changes(field, former, current)...)
			case has:
				lines = append(lines, fmt.Sprintf("%s: + %s", strings.TrimPrefix(field, "."), inOneLine(current)))
			default:
				lines = append(lines, fmt.Sprintf("%s: - %s", strings.TrimPrefix(field, "."), inOneLine(former)))
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
	if former, ok := before.(redacted); ok {
		if current, ok := after.(redacted); ok && !former.equals(current.value) {
			return []string{fmt.Sprintf("%s: %s -> %s", strings.TrimPrefix(path, "."), redact.Former, current)}
		}
	}
	if former, current := inOneLine(before), inOneLine(after); former != current {
		return []string{fmt.Sprintf("%s: %s -> %s", strings.TrimPrefix(path, "."), former, current)}
	}
	return nil
}
