package fakecluster_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// told is an event of a watch as it was on the wire.
type told struct {
	kind     string
	revision int
	text     string // the object, in a form that can be compared
}

// history is all that happened to the samples, as one watch from the beginning
// told it.
type history struct {
	start  int // the revision before the first event
	events []historic
}

type historic struct {
	told
	key      string
	meta     sampleMeta
	previous *historic // of the same object, nil if there was none
}

func (h *history) last() int { return h.events[len(h.events)-1].revision }

// stream reads the events of a watch, one a line.
func stream(ctx context.Context, w wire, path, accept string, each func(kind, object string) (more bool)) error {
	resp, err := w.open(ctx, http.MethodGet, path, "", accept, "")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return nil // the end, or the end of what was asked for
		}
		var event struct {
			Type   string
			Object json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			return fmt.Errorf("%s: %w: %s", path, err, line)
		}
		if event.Type == "" {
			return fmt.Errorf("%s: %s", path, line)
		}
		if !each(event.Type, string(event.Object)) {
			return nil
		}
	}
}

// recordHistory watches all samples from a revision until the last write.
func recordHistory(ctx context.Context, w wire, from int) (*history, error) {
	h := &history{start: from}
	present := map[string]*historic{}
	var failed error
	end := sampleNamespaces[len(sampleNamespaces)-1] + "/" + sampleNames[len(sampleNames)-1]
	err := stream(ctx, w, fmt.Sprintf("%s/samples?watch=1&resourceVersion=%d", samplesPath, from), "", func(kind, object string) bool {
		m, err := metaOf(object)
		if err != nil {
			failed = err
			return false
		}
		revision, err := strconv.Atoi(m.Metadata.ResourceVersion)
		if err != nil {
			failed = fmt.Errorf("%s %s: %w", kind, object, err)
			return false
		}
		key := m.Metadata.Namespace + "/" + m.Metadata.Name
		e := &historic{told: told{kind, revision, object}, key: key, meta: m, previous: present[key]}
		h.events = append(h.events, *e)
		present[key] = e
		if kind == "DELETED" {
			delete(present, key)
		}
		return key != end || m.Metadata.Annotations["last"] == ""
	})
	if err == nil {
		err = failed
	}
	return h, err
}

// checkHistory compares the history with what the writers were answered.
func checkHistory(t *testing.T, h *history, accepted []written) {
	t.Helper()
	byRevision := map[int]historic{}
	deleted := map[string]int{}
	revision := h.start
	for _, e := range h.events {
		if e.revision <= revision {
			t.Errorf("unordered, or twice: %s %s at %d after %d", e.kind, e.key, e.revision, revision)
		}
		revision = e.revision
		byRevision[e.revision] = e
		if e.kind == "DELETED" {
			deleted[e.key]++
		}
		if want := (e.previous == nil); want != (e.kind == "ADDED") {
			t.Errorf("%s %s at %d, but it was there before: %v", e.kind, e.key, e.revision, !want)
		}
	}
	writes, nothing := map[int]string{}, 0
	for _, w := range accepted {
		m, err := metaOf(w.body)
		must(t, err)
		emptied := m.Metadata.DeletionTimestamp != "" && len(m.Metadata.Finalizers) == 0
		if m.Metadata.ResourceVersion == "" || emptied {
			deleted[w.key]-- // the Status of a delete, or what went with its last finalizer
			continue
		}
		revision, err := strconv.Atoi(m.Metadata.ResourceVersion)
		must(t, err)
		e, ok := byRevision[revision]
		switch {
		case !ok:
			t.Errorf("lost: %s %s was answered with revision %d, of which no event tells", w.verb, w.key, revision)
		case e.key != w.key || e.text != w.body:
			t.Errorf("%s %s was answered\n%s\nand the event of %d is\n%s", w.verb, w.key, w.body, revision, e.text)
		case w.verb == "nothing" || w.verb == "finalize" || w.verb == "merge" || w.verb == "delete":
			nothing++ // may have changed nothing, and has then the revision of another write
		case writes[revision] != "":
			t.Errorf("%s %s and %s have revision %d", w.verb, w.key, writes[revision], revision)
		default:
			writes[revision] = w.verb + " " + w.key
		}
	}
	maps.DeleteFunc(deleted, func(_ string, n int) bool { return n == 0 })
	if len(deleted) > 0 {
		t.Errorf("DELETED events more than deletes that were accepted, by object: %v", deleted)
	}
	if len(writes)+nothing < len(h.events)/2 {
		t.Errorf("of %d events only %d have a write", len(h.events), len(writes)+nothing)
	}
}

// at is the state at a revision, in the order of the keys.
func (h *history) at(revision int) []historic {
	present := map[string]historic{}
	for _, e := range h.events {
		if e.revision > revision {
			break
		}
		present[e.key] = e
		if e.kind == "DELETED" {
			delete(present, e.key)
		}
	}
	var state []historic
	for _, key := range slices.Sorted(maps.Keys(present)) {
		state = append(state, present[key])
	}
	return state
}

// seen is the history after a revision as a vantage shows it.
func (h *history) seen(v vantage, after int) []told {
	var seen []told
	for _, e := range h.events {
		if e.revision <= after {
			continue
		}
		is := e.kind != "DELETED" && v.shows(e)
		was := e.previous != nil && v.shows(*e.previous)
		switch {
		case is && was:
			seen = append(seen, v.show("MODIFIED", e))
		case is:
			seen = append(seen, v.show("ADDED", e))
		case was && e.kind == "DELETED":
			seen = append(seen, v.show("DELETED", e))
		case was:
			// It is shown as it was, at the revision of the change.
			gone := *e.previous
			gone.revision = e.revision
			gone.text = strings.Replace(gone.text,
				fmt.Sprintf(`"resourceVersion":"%d"`, e.previous.revision), fmt.Sprintf(`"resourceVersion":"%d"`, e.revision), 1)
			seen = append(seen, v.show("DELETED", gone))
		}
	}
	return seen
}

// added is a state as the beginning of a watch shows it.
func (h *history) added(v vantage, revision int) []told {
	var added []told
	for _, e := range h.at(revision) {
		if v.shows(e) {
			added = append(added, v.show("ADDED", e))
		}
	}
	return added
}
