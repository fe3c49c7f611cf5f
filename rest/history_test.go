package rest_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const widgetsPath = "/apis/example.com/v1/namespaces/default/widgets"

func widget(name string) string {
	return `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"` + name + `"},"spec":{}}`
}

// list reads a list, with nothing but the metadata of its items.
func (c *cluster) list(path string) *metav1.PartialObjectMetadataList {
	c.t.Helper()
	l := &metav1.PartialObjectMetadataList{}
	if err := json.Unmarshal([]byte(c.must("GET", path, "")), l); err != nil {
		c.t.Fatal(err)
	}
	return l
}

func namesOf(l *metav1.PartialObjectMetadataList) (names []string) {
	for _, item := range l.Items {
		names = append(names, item.Name)
	}
	return names
}

// compact forgets all history.
func (c *cluster) compact() {
	c.t.Helper()
	if err := c.store.Compact(c.store.Revision()); err != nil {
		c.t.Fatal(err)
	}
}

func TestContinueAfterCompaction(t *testing.T) {
	c := start(t)
	c.install("widgets")
	for _, name := range []string{"a", "b", "c"} {
		c.must("POST", widgetsPath, widget(name))
	}
	first := c.list(widgetsPath + "?limit=1")
	c.must("DELETE", widgetsPath+"/b", "")
	c.must("POST", widgetsPath, widget("d"))
	expect(t, "before: the pages are of one revision", namesOf(c.list(widgetsPath+"?continue="+first.Continue)), []string{"b", "c"})
	c.compact()

	a := c.do("GET", widgetsPath+"?limit=1&continue="+first.Continue, nil, "")
	status := statusOf(t, a)
	expect(t, "expired", []any{a.code, status.Reason, status.Message}, []any{http.StatusGone, metav1.StatusReasonExpired,
		"The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list."})
	token, err := base64.RawURLEncoding.DecodeString(status.Continue)
	expect(t, "token", fmt.Sprint(string(token), err), `{"v":"meta.k8s.io/v1","rv":-1,"start":"a\u0000"}<nil>`)
	rest := c.list(widgetsPath + "?limit=1&continue=" + status.Continue)
	expect(t, "inconsistent", namesOf(rest), []string{"c"})
	expect(t, "the inconsistent list goes on consistently", namesOf(c.list(widgetsPath+"?continue="+rest.Continue)), []string{"d"})
}

func TestExactListAfterCompaction(t *testing.T) {
	c := start(t)
	c.install("widgets")
	before := c.list(widgetsPath).ResourceVersion
	c.must("POST", widgetsPath, widget("a"))
	c.compact()
	a := c.do("GET", widgetsPath+"?resourceVersionMatch=Exact&resourceVersion="+before, nil, "")
	expect(t, "answer", a.body, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"The resourceVersion for the provided list is too old.","reason":"Expired","code":410}`+"\n")
	expect(t, "code", a.code, http.StatusGone)
	expect(t, "no exact match requested: the present", namesOf(c.list(widgetsPath+"?resourceVersion="+before)), []string{"a"})
}

func TestWatchBelowTheHistory(t *testing.T) {
	c := start(t)
	c.install("widgets")
	c.must("POST", widgetsPath, widget("a"))
	c.compact()
	a := c.do("GET", widgetsPath+"?watch=1&resourceVersion=1", nil, "")
	expect(t, "code", a.code, http.StatusOK)
	got := countPattern.ReplaceAllString(a.body, "$1<n>")
	expect(t, "one event, then the end", got, `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version: 1 (<n>)","reason":"Expired","code":410}}`+"\n")
}

// events reads a watch.
type events struct {
	t testing.TB
	*bufio.Reader
}

func (c *cluster) watch(path string) *events {
	c.t.Helper()
	res := c.open("GET", path, nil, "")
	c.t.Cleanup(func() { res.Body.Close() })
	if res.StatusCode != http.StatusOK {
		c.t.Fatalf("watch %s: %s", path, res.Status)
	}
	return &events{c.t, bufio.NewReader(res.Body)}
}

// next is the type and the name of the next event; "end" at the end.
func (e *events) next() string {
	e.t.Helper()
	line, err := e.ReadString('\n')
	if err != nil {
		return "end"
	}
	var event struct {
		Type   string
		Object metav1.PartialObjectMetadata
	}
	if err := json.Unmarshal([]byte(line), &event); err != nil {
		e.t.Fatalf("%v: %s", err, line)
	}
	return event.Type + " " + event.Object.Name
}

func TestWatchResumesFromEveryRevision(t *testing.T) {
	c := start(t)
	c.install("widgets")
	revisions := []string{c.list(widgetsPath).ResourceVersion}
	var lines []string
	for i := range 20 {
		name := fmt.Sprintf("w%d", i/2)
		if i%2 == 0 {
			c.must("POST", widgetsPath, widget(name))
			lines = append(lines, "ADDED "+name)
		} else {
			c.must("DELETE", widgetsPath+"/"+name, "")
			lines = append(lines, "DELETED "+name)
		}
		revisions = append(revisions, c.list(widgetsPath).ResourceVersion)
	}
	for i, revision := range revisions {
		w := c.watch(widgetsPath + "?watch=1&resourceVersion=" + revision)
		var got []string
		for range lines[i:] {
			got = append(got, w.next())
		}
		expect(t, "from "+revision, strings.Join(got, ","), strings.Join(lines[i:], ","))
	}
}
