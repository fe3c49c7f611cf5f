package findings

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/history"
	"github.com/fakecluster/fakecluster/store"
)

// Equal Events about an object are one line, with how often they happened.
func TestWarningEvents(t *testing.T) {
	by := func(request int64) history.Writer {
		return history.Writer{Time: began.Add(time.Duration(request) * time.Second), UserAgent: "operator/v1", Request: request}
	}
	about := func(object string, count int64) Event {
		return Event{Object: object, Type: "Warning", Reason: "Failed", Message: "no image", Count: count}
	}
	f := changes{warned: map[string]warned{
		"1": {about("pods default/a", 3), by(1)},
		"2": {about("pods default/a", 0), by(4)}, // an Event without a count
		"3": {about("pods default/b", 1), by(5)},
	}}
	want := []string{"+5s operator, about pods default/b: Failed: no image", "+4s operator, about pods default/a (4 times): Failed: no image"}
	if diff := cmp.Diff(want, f.warningEvents(newSource())); diff != "" {
		t.Error(diff)
	}
}

// A path is explained if a definition could serve it.
func TestPathsThatAreNotServed(t *testing.T) {
	c := newSource()
	for path, want := range map[string]string{
		"/apis/example.com/v1/widgets": ": " + define,
		"/apis/apps/v1beta9":           ": it serves apps in v1",
		"/apis/apps/v1/widgets":        "",
		"/apis/nothing/v1":             "", // no definition has a group without a dot
		"/api/v1/widgets":              "",
		"/metrics":                     "",
	} {
		if got := c.undefined(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// A controller that writes the time is called by its own write, and writes the time again.
func TestControllersThatWriteTheTime(t *testing.T) {
	written := began.Add(2 * time.Second)
	watches := inspect.Stats{{UserAgent: "operator/v1", Verb: "watch", Resource: "configmaps"}: {Requests: 1}}
	const line = "+2s operator writes the time into data.at of configmaps default/a whenever it is called, and its own write calls it again, " +
		"without end in real time: write the time only if something else changes"
	for _, test := range []struct {
		rule  string
		value string // that is written
		stats inspect.Stats
		want  []string
	}{
		{"the time of the write", written.UTC().Format(time.RFC3339), watches, []string{line}},
		{"another time", written.Add(-time.Hour).UTC().Format(time.RFC3339), watches, nil},
		{"another text", "now", watches, nil},
		{"a program that does not watch is not called", written.UTC().Format(time.RFC3339), inspect.Stats{}, nil},
	} {
		t.Run(test.rule, func(t *testing.T) {
			s, err := store.Open(store.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			c := newSource()
			c.Store = s
			key := c.Registry.Resource("", "configmaps").Key("default", "a")
			text := func(value string) store.Write {
				return store.Write{Make: func(int64) string {
					return fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"default"},"data":{"at":%q}}`, value)
				}}
			}
			first, err := s.Create(key, text("never"))
			if err != nil {
				t.Fatal(err)
			}
			second, err := s.Update(key, first.Revision, text(test.value))
			if err != nil {
				t.Fatal(err)
			}
			changed := func(revision int64) func(*inspect.Request) {
				return func(q *inspect.Request) { q.Revisions, q.Revision = 1, revision }
			}
			requests := newestFirst(sent(1, "create", 201, changed(first.Revision)), sent(2, "update", 200, changed(second.Revision)),
				sent(2, "update", 200, func(q *inspect.Request) { q.Repeats = true }))
			if diff := cmp.Diff(test.want, c.timestamps(requests, test.stats)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
