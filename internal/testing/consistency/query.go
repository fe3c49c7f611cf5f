package consistency

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

// object is a JSON object.
type object = map[string]any

// Query is one way to list or watch the samples. An empty selector selects everything.
type Query struct {
	Namespace string
	Name      string
	Labels    string // a label selector
	Color     string // of spec.color
	Version   string
	View      string // "Table", "PartialObjectMetadata", or empty for the objects themselves

	Start   string // how the watch begins, one of the constants below
	Gate    int    // how many requests of the writers the watch waits for before it begins
	Breaks  int    // after how many events the watcher drops the connection; 0 means never
	Timeout int    // the timeoutSeconds of the watch; 0 leaves it away
	// Faults is set if faults are injected into requests of the query, and the history is compacted: failed
	// requests are repeated, and after a 410 the client begins anew.
	Faults bool
}

// The ways in which a watch begins.
const (
	FromEmpty    = `resourceVersion ""`
	FromZero     = `resourceVersion "0"`
	FromList     = "the revision of a list"
	FromStart    = "the first revision"
	FromMiddle   = "a revision of the history"
	StreamedList = "a streaming list"
)

var starts = []string{FromEmpty, FromZero, FromList, FromStart, FromMiddle, StreamedList}

// RandomQuery returns the query of the n-th watcher. Over all watchers, every start is
// combined with every view; the rest is random. The number of requests is that of all
// writers together.
func RandomQuery(random *rand.Rand, n, requests int) Query {
	pick := func(choices ...string) string { return seedtest.Pick(random, choices...) }
	v := Query{
		Namespace: pick("", Namespaces[0], Namespaces[1]),
		Name:      pick("", "", "", "o-3"),
		Labels:    pick("", "", "parity=even", "tier in (a,b)", "tier", "parity=even,tier!=c", "tier notin (b,c)"),
		Color:     pick("", "", "red"),
		Version:   pick("v1", "v1", "v2"),
		View:      []string{"", "Table", "PartialObjectMetadata"}[n/len(starts)%3],
		Start:     starts[n%len(starts)],
		Gate:      random.IntN(requests),
	}
	if v.Start == FromStart {
		v.Gate = 0
	}
	if random.IntN(2) == 0 && v.Start != FromEmpty && v.Start != FromZero {
		// A watch that begins without a revision cannot be resumed in the middle of its
		// initial events: they are not in the order of their revisions.
		v.Breaks = 1 + random.IntN(20)
	}
	return v
}

// Path returns the path of the samples with the selectors and with more parameters, given
// as names and values in turn.
func (v Query) Path(query ...string) string {
	path := GroupPath + v.Version
	if v.Namespace != "" {
		path += "/namespaces/" + v.Namespace
	}
	q := url.Values{}
	var fields []string
	if v.Name != "" {
		fields = append(fields, "metadata.name="+v.Name)
	}
	if v.Color != "" {
		fields = append(fields, "spec.color="+v.Color)
	}
	if len(fields) > 0 {
		q.Set("fieldSelector", strings.Join(fields, ","))
	}
	if v.Labels != "" {
		q.Set("labelSelector", v.Labels)
	}
	for i := 0; i < len(query); i += 2 {
		q.Set(query[i], query[i+1])
	}
	return path + "/samples?" + q.Encode()
}

// accept returns the Accept header for a list or a watch.
func (v Query) accept(list bool) string {
	kind := v.View
	if kind == "" {
		return "application/json"
	}
	if list && kind == "PartialObjectMetadata" {
		kind += "List"
	}
	return "application/json;as=" + kind + ";g=meta.k8s.io;v=v1"
}

// Matches reports whether the selectors match a state of an object.
func (v Query) Matches(e Event) bool {
	selector, err := labels.Parse(v.Labels)
	if err != nil {
		panic(err) // RandomQuery has a wrong selector
	}
	m := e.Meta.Metadata
	return (v.Namespace == "" || v.Namespace == m.Namespace) && (v.Name == "" || v.Name == m.Name) &&
		selector.Matches(labels.Set(m.Labels)) && (v.Color == "" || v.Color == e.Meta.Spec.Color)
}

// show returns an event of the history as the view has it.
func (v Query) show(kind string, e Event) Received {
	text := e.Text
	switch v.View {
	case "":
		text = strings.Replace(text, `"apiVersion":"reads.example.com/v1"`, `"apiVersion":"reads.example.com/`+v.Version+`"`, 1)
	default:
		var o object
		if err := json.Unmarshal([]byte(text), &o); err != nil {
			panic(err) // MetaOf has read it before
		}
		partial := object{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": o["metadata"]}
		if v.View != "Table" {
			text = JSON(partial)
			break
		}
		spec, _ := o["spec"].(object)
		text = JSON(object{"cells": []any{o["metadata"].(object)["name"], spec["color"], spec["count"]}, "object": partial})
	}
	return Received{kind, e.Revision, text}
}

// read returns the object of an event in the form of show, and its metadata. In a stream
// of Tables only the first one has the columns.
func (v Query) read(text string, first bool) (Received, Meta, error) {
	metadata := text
	switch v.View {
	case "PartialObjectMetadata":
		var o object
		if err := json.Unmarshal([]byte(text), &o); err != nil {
			return Received{}, Meta{}, err
		}
		text = JSON(o)
	case "Table":
		var table struct {
			Kind, APIVersion  string
			Metadata          struct{ ResourceVersion string }
			ColumnDefinitions []struct{ Name string }
			Rows              []json.RawMessage
		}
		if err := json.Unmarshal([]byte(text), &table); err != nil {
			return Received{}, Meta{}, err
		}
		if table.Kind != "Table" || len(table.Rows) != 1 || first != (len(table.ColumnDefinitions) == 3) {
			return Received{}, Meta{}, fmt.Errorf("not the Table of one row that is wanted (with columns: %v): %s", first, text)
		}
		var row object
		if err := json.Unmarshal(table.Rows[0], &row); err != nil {
			return Received{}, Meta{}, err
		}
		text, metadata = JSON(row), JSON(row["object"])
	}
	m, err := MetaOf(metadata)
	if err != nil {
		return Received{}, m, err
	}
	revision, err := strconv.Atoi(m.Metadata.ResourceVersion)
	if err != nil {
		return Received{}, m, fmt.Errorf("%w: %s", err, text)
	}
	return Received{"", revision, text}, m, nil
}

// ends reports whether an object is the last one of the query, as [Writers.Run]
// wrote it last.
func (v Query) ends(m Meta) bool {
	namespace, name := v.Namespace, v.Name
	if namespace == "" {
		namespace = Namespaces[len(Namespaces)-1]
	}
	if name == "" {
		name = Names[len(Names)-1]
	}
	return m.lastWritten() && m.key() == namespace+"/"+name
}
