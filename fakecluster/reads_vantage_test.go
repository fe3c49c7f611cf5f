package fakecluster_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
)

// vantage is how a watcher looks at the samples.
type vantage struct {
	namespace string // empty: all
	name      string // empty: any
	labels    string
	color     string // empty: any
	version   string
	view      string // empty: as they are; Table, PartialObjectMetadata
	start     string // how the watch begins, see starts
	gate      int    // after how many requests of the writers
	breaks    int    // after how many events the connection is lost; 0: never
	timeout   int    // timeoutSeconds, 0: none
}

const (
	fromEmpty    = `resourceVersion ""`
	fromZero     = `resourceVersion "0"`
	fromList     = "the revision of a list"
	fromStart    = "the first revision"
	fromMiddle   = "a revision of the history"
	streamedList = "a streaming list"
)

var starts = []string{fromEmpty, fromZero, fromList, fromStart, fromMiddle, streamedList}

// someVantage is the nth of the watchers: every start has every view, the rest is
// left to chance.
func someVantage(random *rand.Rand, n, requests int) vantage {
	v := vantage{
		namespace: pick(random, append(sampleNamespaces, "")),
		name:      pick(random, []string{"", "", "", "o-3"}),
		labels:    pick(random, []string{"", "", "parity=even", "tier in (a,b)", "tier", "parity=even,tier!=c", "tier notin (b,c)"}),
		color:     pick(random, []string{"", "", "red"}),
		version:   pick(random, []string{"v1", "v1", "v2"}),
		view:      []string{"", "Table", "PartialObjectMetadata"}[n/len(starts)%3],
		start:     starts[n%len(starts)],
		gate:      random.IntN(requests),
	}
	if v.start == fromStart {
		v.gate = 0
	}
	if random.IntN(2) == 0 && v.start != fromEmpty && v.start != fromZero {
		// What a watch without a start begins with is in no order to resume from.
		v.breaks = 1 + random.IntN(20)
	}
	return v
}

// path is that of the objects, with the selectors and more of the query.
func (v vantage) path(query ...string) string {
	path := "/apis/reads.example.com/" + v.version
	if v.namespace != "" {
		path += "/namespaces/" + v.namespace
	}
	q := url.Values{}
	var fields []string
	if v.name != "" {
		fields = append(fields, "metadata.name="+v.name)
	}
	if v.color != "" {
		fields = append(fields, "spec.color="+v.color)
	}
	if len(fields) > 0 {
		q.Set("fieldSelector", strings.Join(fields, ","))
	}
	if v.labels != "" {
		q.Set("labelSelector", v.labels)
	}
	for i := 0; i < len(query); i += 2 {
		q.Set(query[i], query[i+1])
	}
	return path + "/samples?" + q.Encode()
}

func (v vantage) accept(list bool) string {
	kind := v.view
	if kind == "" {
		return "application/json"
	}
	if list && kind == "PartialObjectMetadata" {
		kind += "List"
	}
	return "application/json;as=" + kind + ";g=meta.k8s.io;v=v1"
}

// shows tells whether the selectors pick a state of an object.
func (v vantage) shows(e historic) bool {
	selector, err := labels.Parse(v.labels)
	if err != nil {
		panic(err)
	}
	m := e.meta.Metadata
	return (v.namespace == "" || v.namespace == m.Namespace) && (v.name == "" || v.name == m.Name) &&
		selector.Matches(labels.Set(m.Labels)) && (v.color == "" || v.color == e.meta.Spec.Color)
}

// show is an event of the history as the view has it.
func (v vantage) show(kind string, e historic) told {
	text := e.text
	switch v.view {
	case "":
		text = strings.Replace(text, `"apiVersion":"reads.example.com/v1"`, `"apiVersion":"reads.example.com/`+v.version+`"`, 1)
	default:
		var o object
		if err := json.Unmarshal([]byte(text), &o); err != nil {
			panic(err)
		}
		partial := object{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": o["metadata"]}
		if v.view != "Table" {
			text = canonical(partial)
			break
		}
		spec, _ := o["spec"].(object)
		text = canonical(object{"cells": []any{o["metadata"].(object)["name"], spec["color"], spec["count"]}, "object": partial})
	}
	return told{kind, e.revision, text}
}

func canonical(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// read is the object of an event in the form of show, and what is in its metadata.
// In a stream of Tables only the first one has the columns.
func (v vantage) read(text string, first bool) (told, sampleMeta, error) {
	metadata := text
	switch v.view {
	case "PartialObjectMetadata":
		var o object
		if err := json.Unmarshal([]byte(text), &o); err != nil {
			return told{}, sampleMeta{}, err
		}
		text = canonical(o)
	case "Table":
		var table struct {
			Kind, APIVersion  string
			Metadata          struct{ ResourceVersion string }
			ColumnDefinitions []struct{ Name string }
			Rows              []json.RawMessage
		}
		if err := json.Unmarshal([]byte(text), &table); err != nil {
			return told{}, sampleMeta{}, err
		}
		if table.Kind != "Table" || len(table.Rows) != 1 || first != (len(table.ColumnDefinitions) == 3) {
			return told{}, sampleMeta{}, fmt.Errorf("the event is the first of its stream: %v, and its object is %s", first, text)
		}
		var row object
		if err := json.Unmarshal(table.Rows[0], &row); err != nil {
			return told{}, sampleMeta{}, err
		}
		text, metadata = canonical(row), canonical(row["object"])
	}
	m, err := metaOf(metadata)
	if err != nil {
		return told{}, m, err
	}
	revision, err := strconv.Atoi(m.Metadata.ResourceVersion)
	if err != nil {
		return told{}, m, fmt.Errorf("%w: %s", err, text)
	}
	return told{"", revision, text}, m, nil
}

// report is what a watcher has to say at the end.
type report struct {
	vantage
	asked     int // the revision that the watch asked for, 0: none
	listed    []told
	events    []told
	bookmarks int
	initial   int // the revision of the bookmark that ends the initial events
	reopened  int
}

// watch looks until the last event that the vantage shows, and returns what it has
// seen. It reconnects at the revision it has seen last, that of a bookmark, too.
func (v vantage) watch(ctx context.Context, w wire, start int, gate <-chan struct{}, revisions func() int) (r report, err error) {
	r.vantage = v
	select {
	case <-gate:
	case <-ctx.Done():
		return r, ctx.Err()
	}
	query := []string{"watch", "1", "allowWatchBookmarks", "true"}
	if v.timeout > 0 {
		query = append(query, "timeoutSeconds", strconv.Itoa(v.timeout))
	}
	from, begin, over := 0, []string(nil), false
	switch v.start {
	case fromZero:
		begin = []string{"resourceVersion", "0"}
	case fromStart:
		from = start
	case fromMiddle:
		from = revisions()
	case fromList:
		if r.listed, from, over, err = v.list(ctx, w); err != nil {
			return r, err
		}
	case streamedList:
		begin = []string{"sendInitialEvents", "true", "resourceVersionMatch", "NotOlderThan"}
	}
	r.asked = from
	for ; !over && err == nil && ctx.Err() == nil; r.reopened++ {
		at := begin
		if from > 0 {
			at = []string{"resourceVersion", strconv.Itoa(from)}
		}
		n, resumable := 0, v.start != streamedList || r.initial > 0
		err2 := stream(ctx, w, v.path(slices.Concat(query, at)...), v.accept(false), func(kind, object string) bool {
			var e told
			var m sampleMeta
			if e, m, err = v.read(object, n == 0); err != nil {
				err = fmt.Errorf("%s: %w", kind, err)
				return false
			}
			n++
			if kind == "BOOKMARK" {
				r.bookmarks++
				if m.Metadata.Annotations["k8s.io/initial-events-end"] == "true" {
					r.initial, resumable = e.revision, true
				}
				if e.revision < from {
					err = fmt.Errorf("a bookmark at %d after revision %d", e.revision, from)
					return false
				}
				from = e.revision
				return !over
			}
			e.kind = kind
			r.events = append(r.events, e)
			if resumable {
				from = e.revision
			}
			over = over || v.ends(m)
			return !(over && resumable) && (v.breaks == 0 || !resumable || n < v.breaks)
		})
		if err == nil {
			err = err2
		}
		if v.breaks == 0 && v.timeout == 0 && !over && err == nil {
			err = fmt.Errorf("the watch ended by itself after %d events", n)
		}
	}
	return r, err
}

// ends tells whether an object is the last one that the vantage shows, as it was
// written last.
func (v vantage) ends(m sampleMeta) bool {
	namespace, name := v.namespace, v.name
	if namespace == "" {
		namespace = sampleNamespaces[len(sampleNamespaces)-1]
	}
	if name == "" {
		name = sampleNames[len(sampleNames)-1]
	}
	return m.Metadata.Annotations["last"] != "" && m.Metadata.Namespace == namespace && m.Metadata.Name == name
}

// list returns what the vantage shows now, as ADDED events, the revision, and whether
// the last of it is there.
func (v vantage) list(ctx context.Context, w wire) (all []told, revision int, over bool, err error) {
	resp, err := w.open(ctx, http.MethodGet, v.path(), "", v.accept(true), "")
	if err != nil {
		return nil, 0, false, err
	}
	defer resp.Body.Close()
	var l struct {
		Metadata    struct{ ResourceVersion string }
		Items, Rows []json.RawMessage
	}
	if err := json.NewDecoder(resp.Body).Decode(&l); err != nil {
		return nil, 0, false, err
	}
	for _, item := range slices.Concat(l.Items, l.Rows) {
		text := string(item)
		if v.view == "Table" {
			text = `{"kind":"Table","rows":[` + text + `]}`
		}
		e, m, err := v.read(text, false)
		if err != nil {
			return nil, 0, false, err
		}
		e.kind = "ADDED"
		over = over || v.ends(m)
		all = append(all, e)
	}
	revision, err = strconv.Atoi(l.Metadata.ResourceVersion)
	return all, revision, over, err
}
