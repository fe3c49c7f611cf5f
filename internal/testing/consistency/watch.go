package consistency

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Report is what a watcher received.
type Report struct {
	Query
	StartRevision int        // the revision that the watch requested; 0 if none
	Listed        []Received // the list that the watch began after, with FromList
	Events        []Received
	Bookmarks     int // how many came
	Initial       int // the revision of the bookmark that ended the initial events
	Reopened      int // how often the watch was opened
	// Earlier are the watches before this one, each of which has ended with a 410.
	Earlier []Report
}

// Watch watches until the last event of the query, and reports what it received.
// A watch that ends before is opened again at the revision of the last event or bookmark, and with
// Faults after a new list, if it ends with a 410.
// It begins when the gate opens, FromStart at the revision start and FromMiddle at the one
// that middle returns.
func (v Query) Watch(ctx context.Context, w Wire, start int, gate <-chan struct{}, middle func() int) (r Report, err error) {
	select {
	case <-gate:
	case <-ctx.Done():
		return r, ctx.Err()
	}
	var earlier []Report
	for expired := true; expired; {
		if r, expired, err = v.watch(ctx, w, start, middle); expired && err == nil {
			earlier = append(earlier, r)
			if v.Start != StreamedList {
				v.Start = FromList
			}
		}
	}
	r.Earlier = earlier
	return r, err
}

// watch watches until the last event that the vantage shows, or until a 410.
func (v Query) watch(ctx context.Context, w Wire, start int, middle func() int) (r Report, expired bool, err error) {
	r.Query = v
	query := []string{"watch", "1", "allowWatchBookmarks", "true"}
	if v.Timeout > 0 {
		query = append(query, "timeoutSeconds", strconv.Itoa(v.Timeout))
	}
	from, begin, over := 0, []string(nil), false
	switch v.Start {
	case FromZero:
		begin = []string{"resourceVersion", "0"}
	case FromStart:
		from = start
	case FromMiddle:
		from = middle()
	case FromList:
		if r.Listed, from, over, err = v.list(ctx, w); err != nil {
			return r, false, err
		}
	case StreamedList:
		begin = []string{"sendInitialEvents", "true", "resourceVersionMatch", "NotOlderThan"}
	}
	r.StartRevision = from
	for ; !over && !expired && err == nil && ctx.Err() == nil; r.Reopened++ {
		words := begin
		if from > 0 {
			words = []string{"resourceVersion", strconv.Itoa(from)}
		}
		n, resumable := 0, v.Start != StreamedList || r.Initial > 0
		if !resumable {
			r.Events = nil // a fault has ended the streaming list; it begins anew
		}
		err2 := w.Stream(ctx, v.Path(slices.Concat(query, words)...), v.accept(false), func(kind, object string) bool {
			if kind == "ERROR" && v.Faults && strings.Contains(object, `"code":410`) {
				expired = true
				return false
			}
			var e Received
			var m Meta
			if e, m, err = v.read(object, n == 0); err != nil {
				err = fmt.Errorf("%s: %w", kind, err)
				return false
			}
			n++
			if kind == "BOOKMARK" {
				r.Bookmarks++
				if m.Metadata.Annotations["k8s.io/initial-events-end"] == "true" {
					r.Initial, resumable = e.Revision, true
				}
				if e.Revision < from {
					err = fmt.Errorf("a bookmark at %d after revision %d", e.Revision, from)
					return false
				}
				from = e.Revision
				return !over
			}
			e.Kind = kind
			r.Events = append(r.Events, e)
			if resumable {
				from = e.Revision
			}
			over = over || v.ends(m)
			return !(over && resumable) && (v.Breaks == 0 || !resumable || n < v.Breaks)
		})
		if r := (*refused)(nil); errors.As(err2, &r) && v.Faults && isFault(r.code, r.text) {
			err2 = nil
		}
		if err == nil {
			err = err2
		}
		if v.Breaks == 0 && v.Timeout == 0 && !over && !expired && err == nil {
			err = fmt.Errorf("the watch ended by itself after %d events", n)
		}
	}
	return r, expired, err
}

// Revision returns the present revision of the samples.
func Revision(ctx context.Context, w Wire) (int, error) {
	_, revision, _, err := Query{Version: "v1"}.list(ctx, w)
	return revision, err
}

// list returns what the vantage shows now, as ADDED events, its revision, and whether the
// last object of the vantage is among it.
func (v Query) list(ctx context.Context, w Wire) (received []Received, revision int, over bool, err error) {
	var l struct {
		Metadata    struct{ ResourceVersion string }
		Items, Rows []json.RawMessage
	}
	for again := true; again; {
		var code int
		var body string
		if code, body, err = w.send(ctx, http.MethodGet, v.Path(), "", v.accept(true), ""); err != nil {
			return nil, 0, false, err
		}
		if again = v.Faults && isFault(code, body); again {
			continue
		}
		if err := json.Unmarshal([]byte(body), &l); err != nil || code != http.StatusOK {
			return nil, 0, false, fmt.Errorf("%d %s %w", code, body, err)
		}
	}
	for _, item := range slices.Concat(l.Items, l.Rows) {
		text := string(item)
		if v.View == "Table" {
			text = `{"kind":"Table","rows":[` + text + `]}`
		}
		e, m, err := v.read(text, false)
		if err != nil {
			return nil, 0, false, err
		}
		e.Kind = "ADDED"
		over = over || v.ends(m)
		received = append(received, e)
	}
	revision, err = strconv.Atoi(l.Metadata.ResourceVersion)
	return received, revision, over, err
}

// Pages lists in pages of limit objects, and returns the revision and the objects of them
// all. It fails if the pages differ in their revision, or if one is of the wrong size.
func (v Query) Pages(ctx context.Context, w Wire, limit int) (revision int, objects []string, err error) {
	token := ""
	for {
		code, body, err := w.Send(ctx, http.MethodGet, v.Path("limit", strconv.Itoa(limit), "continue", token), "", "")
		if err != nil {
			return 0, nil, err
		}
		var l struct {
			Metadata metav1.ListMeta
			Items    []json.RawMessage
		}
		if v.Faults && isFault(code, body) {
			continue
		}
		if v.Faults && code == http.StatusGone {
			return v.Pages(ctx, w, limit)
		}
		if err := json.Unmarshal([]byte(body), &l); err != nil || code != http.StatusOK {
			return 0, nil, fmt.Errorf("%d %s %w", code, body, err)
		}
		listed, err := strconv.Atoi(l.Metadata.ResourceVersion)
		if err != nil {
			return 0, nil, err
		}
		if revision != 0 && listed != revision {
			return 0, nil, fmt.Errorf("a page at %d after one at %d", listed, revision)
		}
		if len(l.Items) != limit && l.Metadata.Continue != "" {
			return 0, nil, fmt.Errorf("%d objects of %d in a page that is not the last", len(l.Items), limit)
		}
		selects := v.Labels != "" || v.Name != "" || v.Color != ""
		if (l.Metadata.RemainingItemCount != nil) != (l.Metadata.Continue != "" && !selects) {
			return 0, nil, fmt.Errorf("remainingItemCount %v, continue %q", l.Metadata.RemainingItemCount, l.Metadata.Continue)
		}
		revision = listed
		for _, item := range l.Items {
			objects = append(objects, string(item))
		}
		if token = l.Metadata.Continue; token == "" {
			return revision, objects, nil
		}
	}
}
