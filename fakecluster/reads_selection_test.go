package fakecluster_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/testing/consistency"
	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

// selection has selectors, and picks objects from a whole list by them, one after the other. A list
// with the same selectors has to have the same objects.
type selection struct{ labels, fields string }

func (s selection) query(more string) string {
	q := url.Values{}
	if s.labels != "" {
		q.Set("labelSelector", s.labels)
	}
	if s.fields != "" {
		q.Set("fieldSelector", s.fields)
	}
	return q.Encode() + "&" + more
}

func (s selection) picks(t *testing.T, item json.RawMessage) bool {
	t.Helper()
	m, err := consistency.MetaOf(string(item))
	must(t, err)
	byLabels, err := labels.Parse(s.labels)
	must(t, err)
	byFields, err := fields.ParseSelector(s.fields)
	must(t, err)
	return byLabels.Matches(labels.Set(m.Metadata.Labels)) && byFields.Matches(fields.Set{
		"metadata.name": m.Metadata.Name, "metadata.namespace": m.Metadata.Namespace, "spec.color": m.Spec.Color,
	})
}

func sameText(a, b json.RawMessage) bool { return string(a) == string(b) }

func namesIn(items []json.RawMessage) string {
	var names []string
	for _, item := range items {
		m, _ := consistency.MetaOf(string(item))
		names = append(names, m.Metadata.Namespace+"/"+m.Metadata.Name+"@"+m.Metadata.ResourceVersion)
	}
	return strings.Join(names, " ")
}

// The server selects objects by an index beside their records. The result has to agree with the
// objects: in the present, at each revision of the past, page by page, in a fork, and in the other
// version.
func TestSelectorsMatchFieldsAndLabels(t *testing.T) {
	seed := seedtest.Seed(t)
	random := seedtest.Source(seed, 0)
	c := fakecluster.Start(t, fakecluster.InProcess())
	define(t, c, consistency.Definition())
	w := newWire(t, c)
	_, first, _ := w.Items(t, consistency.Path+"/samples")
	revisions := []string{first}
	metadata := func(namespace, name string) string {
		set := map[string]string{}
		for _, label := range []string{"a", "aa", "b", "example.com/a", "ab"} {
			if random.IntN(2) == 0 {
				set[label] = seedtest.Pick(random, "", "a", "b", "aa", "A-a", "7")
			}
		}
		m := object{"name": name, "namespace": namespace, "labels": set}
		if len(set) == 0 && random.IntN(2) == 0 {
			delete(m, "labels")
		}
		// This text looks like labels but is not.
		m["annotations"] = object{"a": `"labels":{"b":"a"}`, "labels": `{"a":"a"}`}
		return consistency.JSON(m)
	}
	write := func(w consistency.Wire) {
		namespace, name := seedtest.Pick(random, consistency.Namespaces...), seedtest.Pick(random, consistency.Names...)
		path := consistency.Path + "/namespaces/" + namespace + "/samples"
		spec := seedtest.Pick(random, `{"color":"red"}`, `{"color":"a\"<\u00e4\\"}`, `{"color":""}`, `{"count":1}`)
		method, contentType, body := http.MethodDelete, "", ""
		if random.IntN(4) > 0 {
			method, contentType = http.MethodPatch, "application/apply-patch+yaml"
			body = fmt.Sprintf(`{"apiVersion":"reads.example.com/v1","kind":"Sample","metadata":%s,"spec":%s}`, metadata(namespace, name), spec)
		}
		code, answer, err := w.Send(t.Context(), method, path+"/"+name+"?fieldManager=test&force=true", contentType, body)
		must(t, err)
		if code >= 300 && code != http.StatusNotFound && !(method == http.MethodDelete && code == http.StatusUnprocessableEntity) {
			t.Fatalf("%s %s: %d %s", method, body, code, answer)
		}
	}
	for range 120 {
		write(w)
		_, revision, _ := w.Items(t, consistency.Path+"/samples?limit=1")
		revisions = append(revisions, revision)
	}
	forked := newWire(t, c.Fork(t))
	for range 10 {
		write(forked)
	}

	selections := []selection{
		{labels: "a"}, {labels: "!a"}, {labels: "a="}, {labels: "a=a"}, {labels: "aa=a"}, {labels: "a!=a"}, {labels: "a in (a,b)"},
		{labels: "a notin (a,b)"}, {labels: "example.com/a=b"}, {labels: "a=a,b!=b,!ab"}, {labels: "a>3"}, {labels: "a<8"}, {labels: "labels"},
		{fields: "metadata.name=o-1"}, {fields: "metadata.name!=o-1"}, {fields: "metadata.name=o"}, {fields: "metadata.name=default/o-1"},
		{fields: "metadata.name=o-1,metadata.namespace=default"}, {fields: "metadata.name=o-1,metadata.namespace!=default"},
		{fields: "metadata.namespace=default"}, {fields: "metadata.name=o-1,metadata.name=o-2"}, {fields: "metadata.name="},
		{fields: "spec.color=red"}, {fields: "spec.color!=red"}, {fields: "spec.color="}, {fields: `spec.color=a"<ä\\`},
		{fields: "spec.color=red,metadata.name!=o-2"}, {"a", "spec.color!="}, {"a!=b", "metadata.name=o-3"},
	}
	picked := 0
	for name, w := range map[string]consistency.Wire{"cluster": w, "fork": forked} {
		for range 60 {
			s := seedtest.Pick(random, selections...)
			path := "/apis/reads.example.com/" + seedtest.Pick(random, "v1", "v2")
			path += seedtest.Pick(random, "", "/namespaces/default", "/namespaces/kube-public") + "/samples?"
			query := ""
			if random.IntN(2) == 0 {
				query = "resourceVersionMatch=Exact&resourceVersion=" + seedtest.Pick(random, revisions...)
			}
			whole, listRevision, _ := w.Items(t, path+query)
			var want []json.RawMessage
			for _, item := range whole {
				if s.picks(t, item) {
					want = append(want, item)
				}
			}
			picked += len(want)
			got, revision, _ := w.Items(t, path+s.query(query))
			equal(t, fmt.Sprintf("%s: the revision of %+v", name, s), revision, listRevision)
			if !slices.EqualFunc(want, got, sameText) {
				t.Errorf("%s: %s%s: want %s, got %s", name, path, s.query(query), namesIn(want), namesIn(got))
			}
			if !strings.Contains(path, "/namespaces/") && strings.Contains(s.fields, "metadata.namespace=") {
				continue // as on a real server, the second page begins elsewhere
			}
			var pages []json.RawMessage
			page, _, next := w.Items(t, path+s.query(query+"&limit=3"))
			for pages = page; next != ""; pages = append(pages, page...) {
				page, _, next = w.Items(t, path+s.query("limit=3&continue="+next))
			}
			if !slices.EqualFunc(want, pages, sameText) {
				t.Errorf("%s: %s%s, in pages: want %s, got %s", name, path, s.query(query), namesIn(want), namesIn(pages))
			}
		}
	}
	if picked < 50 {
		t.Errorf("%d picked: the test shows nothing", picked)
	}
}
