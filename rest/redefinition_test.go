package rest_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// change reads an object, edits its text and writes it back.
func (c *cluster) change(path, old, new string) {
	c.t.Helper()
	before := c.must("GET", path, "")
	after := strings.Replace(before, old, new, 1)
	if after == before {
		c.t.Fatalf("%s has no %s", path, old)
	}
	c.must("PUT", path, after)
}

// metadataOf is the metadata of an object in JSON.
func metadataOf(t testing.TB, text string) metav1.ObjectMeta {
	t.Helper()
	var obj metav1.PartialObjectMetadata
	if err := json.Unmarshal([]byte(text), &obj); err != nil {
		t.Fatal(err)
	}
	return obj.ObjectMeta
}

const widgetsDefinition = definitionsPath + "/widgets.example.com"

func TestWatchEndsWithItsDefinition(t *testing.T) {
	c := start(t)
	c.install("widgets", "planets")
	c.must("POST", widgetsPath, widget("a"))
	other := c.watch("/apis/example.com/v1/planets?watch=1")

	t.Run("when the spec changes, once all that came before is sent", func(t *testing.T) {
		w := c.watch(widgetsPath + "?watch=1")
		expect(t, "first", w.next(), "ADDED a")
		c.must("POST", widgetsPath, widget("b"))
		c.change(widgetsDefinition, `"size":{"type":"integer"}`, `"size":{"type":"integer","maximum":9}`)
		expect(t, "then", w.next(), "ADDED b")
		expect(t, "then", w.next(), "end")
	})
	t.Run("not when its metadata changes", func(t *testing.T) {
		w := c.watch(widgetsPath + "?watch=1&resourceVersion=" + c.list(widgetsPath).ResourceVersion)
		c.change(widgetsDefinition, `"metadata":{`, `"metadata":{"annotations":{"a":"b"},`)
		c.must("POST", widgetsPath, widget("c"))
		expect(t, "then", w.next(), "ADDED c")
	})
	t.Run("when it goes, after the end of its objects", func(t *testing.T) {
		w := c.watch(widgetsPath + "?watch=1&resourceVersion=" + c.list(widgetsPath).ResourceVersion)
		c.must("DELETE", widgetsDefinition, "")
		for _, want := range []string{"DELETED a", "DELETED b", "DELETED c", "end"} {
			expect(t, "then", w.next(), want)
		}
	})
	c.must("POST", "/apis/example.com/v1/planets", planet("earth", "1"))
	expect(t, "a watch of another definition goes on", other.next(), "ADDED earth")
}

// The name of one definition may begin with that of another.
func TestAWatchIgnoresADefinitionWithALongerName(t *testing.T) {
	c := start(t)
	c.install("widgets")
	longer := strings.NewReplacer("example.com", "example.computing", "widgets.example.com", "widgets.example.computing").Replace(definition(t, "widgets"))
	w := c.watch(widgetsPath + "?watch=1")
	c.must("POST", definitionsPath, longer)
	c.change(definitionsPath+"/widgets.example.computing", `"size":{"type":"integer"}`, `"size":{"type":"integer","maximum":9}`)
	c.must("POST", widgetsPath, widget("a"))
	expect(t, "the watch goes on", w.next(), "ADDED a")
}

func TestADefinitionCreatedAgainStartsEmpty(t *testing.T) {
	c := start(t)
	c.install("widgets")
	c.must("POST", widgetsPath, widget("a"))
	before := c.list(widgetsPath).ResourceVersion
	c.must("DELETE", widgetsDefinition, "")
	expect(t, "no endpoint", c.do("GET", widgetsPath, nil, "").code, 404)
	c.install("widgets")
	expect(t, "objects", namesOf(c.list(widgetsPath)), []string(nil))
	w := c.watch(widgetsPath + "?watch=1&resourceVersion=" + before)
	c.must("POST", widgetsPath, widget("a"))
	expect(t, "a watch from before has expired: the history begins with the definition", w.next(), "ERROR ")
}

// A definition that goes without its objects leaves them in the store, where the next definition of that name finds them: its own
// finalizer is taken away, or it is deleted with a collection, for which a real server has no finalizer of its own.
func TestObjectsThatOutliveTheirDefinitionAreThereAgain(t *testing.T) {
	for rule, remove := range map[string]func(c *cluster){
		"its finalizer is removed": func(c *cluster) {
			c.change(widgetsPath+"/a", `"metadata":{`, `"metadata":{"finalizers":["example.com/f"],`)
			c.must("DELETE", widgetsDefinition, "")
			c.change(widgetsDefinition, `"finalizers":["customresourcecleanup.apiextensions.k8s.io"]`, `"finalizers":[]`)
		},
		"a collection is deleted": func(c *cluster) {
			deleted := c.must("DELETE", definitionsPath+"?fieldSelector=metadata.name%3Dwidgets.example.com", "")
			expect(c.t, "finalizers", gjson.Get(deleted, "items.0.metadata.finalizers").Raw, "")
		},
	} {
		t.Run(rule, func(t *testing.T) {
			c := start(t)
			c.install("widgets")
			c.must("POST", widgetsPath, widget("a"))
			remove(c)
			expect(t, "the definition", c.do("GET", widgetsDefinition, nil, "").code, http.StatusNotFound)
			expect(t, "no endpoint", c.do("GET", widgetsPath, nil, "").code, http.StatusNotFound)
			c.install("widgets")
			expect(t, "objects", namesOf(c.list(widgetsPath)), []string{"a"})
		})
	}
}

// TestAFinalizerHoldsItsDefinition follows a definition through its deletion.
func TestAFinalizerHoldsItsDefinition(t *testing.T) {
	c := start(t)
	c.install("widgets")
	held := strings.Replace(widget("held"), `"metadata":{`, `"metadata":{"finalizers":["x.example.com/hold"],`, 1)
	c.must("POST", widgetsPath, held)
	c.must("POST", widgetsPath, widget("free"))
	objects := c.watch(widgetsPath + "?watch=1&resourceVersion=" + c.list(widgetsPath).ResourceVersion)
	definitions := c.watch(definitionsPath + "?watch=1&resourceVersion=" + c.list(definitionsPath).ResourceVersion)

	answer := c.must("DELETE", widgetsDefinition, "")
	condition := func(text, status, reason, message string) {
		t.Helper()
		want := `{"type":"Terminating","status":"` + status + `","lastTransitionTime":"<time>","reason":"` + reason + `","message":"` + message + `"}`
		if !strings.Contains(newMask().hide(text), want) {
			t.Errorf("no condition %s in %s", want, text)
		}
	}
	condition(answer, "True", "InstanceDeletionPending", "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon")
	condition(c.must("GET", widgetsDefinition, ""), "True", "InstanceDeletionInProgress", "CustomResource deletion is in progress")
	expect(t, "the free one goes", objects.next(), "DELETED free")
	expect(t, "the held one is marked", objects.next(), "MODIFIED held")
	expect(t, "what is left", namesOf(c.list(widgetsPath)), []string{"held"})

	a := c.do("POST", widgetsPath, jsonBody, widget("new"))
	expect(t, "a create meanwhile", a.code, 403)
	expect(t, "a create meanwhile", statusOf(t, a).Message,
		`widgets.example.com "new" is forbidden: create not allowed while custom resource definition is terminating`)
	a = c.do("POST", definitionsPath, jsonBody, definition(t, "widgets"))
	expect(t, "the same definition meanwhile", a.code, 409)
	expect(t, "the same definition meanwhile", statusOf(t, a).Message,
		`object is being deleted: customresourcedefinitions.apiextensions.k8s.io "widgets.example.com" already exists`)

	c.change(widgetsPath+"/held", `"finalizers":["x.example.com/hold"],`, "")
	expect(t, "the held one goes", objects.next(), "DELETED held")
	expect(t, "its endpoint goes", objects.next(), "end")
	for _, want := range []string{"MODIFIED", "MODIFIED", "DELETED"} {
		expect(t, "the definition", definitions.next(), want+" widgets.example.com")
	}
	expect(t, "the definition is gone", c.do("GET", widgetsDefinition, nil, "").code, 404)
	expect(t, "the group is gone", c.do("GET", "/apis/example.com", nil, "").code, 404)
}

// TestTheEventsOfAKindBeginWithItsDefinition watches from before a definition was established, for the
// first time and again: there are no such events. A list of exactly a revision from before has what was there then,
// even if a former definition of the name described it.
func TestTheEventsOfAKindBeginWithItsDefinition(t *testing.T) {
	c := start(t)
	c.must("POST", "/api/v1/namespaces", `{"metadata":{"name":"early"}}`)
	early := c.list("/api/v1/namespaces").ResourceVersion
	created := metadataOf(t, c.must("POST", definitionsPath, definition(t, "widgets"))).ResourceVersion
	established := metadataOf(t, c.must("GET", widgetsDefinition, "")).ResourceVersion
	for _, name := range []string{"a", "b", "c"} {
		c.must("POST", widgetsPath, widget(name))
	}
	page := c.list(widgetsPath + "?limit=1")

	expired := func(t *testing.T, c *cluster, revision, since string) {
		t.Helper()
		message := "too old resource version: " + revision + " (" + since + ")"
		w := c.serve("GET", widgetsPath+"?watch=1&timeoutSeconds=60&resourceVersion="+revision, nil, nil)
		expect(t, "code of a watch", w.code, 200)
		expect(t, "a watch", w.body, `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"`+message+`","reason":"Expired","code":410}}`+"\n")
	}
	list := func(t *testing.T, c *cluster, query string) []string {
		t.Helper()
		a := c.serve("GET", widgetsPath+query, nil, nil)
		expect(t, "code of "+query, a.code, 200)
		var names []string
		for _, name := range gjson.Get(a.body, "items.#.metadata.name").Array() {
			names = append(names, name.String())
		}
		return names
	}
	reads := func(t *testing.T, c *cluster, revision string, want ...string) {
		t.Helper()
		expect(t, "at "+revision, list(t, c, "?resourceVersionMatch=Exact&resourceVersion="+revision), want)
	}

	t.Run("the first time", func(t *testing.T) {
		expired(t, c, early, established)
		expired(t, c, created, established)
		reads(t, c, early)
		reads(t, c, created)
		reads(t, c, established)
	})
	t.Run("a change of the definition does not move it", func(t *testing.T) {
		c.change(widgetsDefinition, `"metadata":{`, `"metadata":{"annotations":{"a":"b"},`)
		c.change(widgetsDefinition, `"size":{"type":"integer"}`, `"size":{"type":"integer","maximum":9}`)
		expired(t, c, created, established)
		reads(t, c, established)
	})
	t.Run("in a fork", func(t *testing.T) {
		fork := c.fork(t)
		expired(t, fork, created, established)
		reads(t, fork, established)
	})
	c.must("DELETE", widgetsDefinition, "")
	c.install("widgets")
	since := metadataOf(t, c.must("GET", widgetsDefinition, "")).ResourceVersion
	again := func(t *testing.T, c *cluster, since string) {
		t.Helper()
		expired(t, c, page.ResourceVersion, since)
		reads(t, c, page.ResourceVersion, "a", "b", "c")
		expect(t, "the next page", list(t, c, "?limit=5&continue="+page.Continue), []string{"b", "c"})
		reads(t, c, early)
		expect(t, "the present", list(t, c, ""), []string(nil))
	}
	t.Run("when it is created again", func(t *testing.T) { again(t, c, since) })
	t.Run("when it is created again, in a fork", func(t *testing.T) { again(t, c.fork(t), since) })
	t.Run("when it is created again in a fork", func(t *testing.T) {
		fork := c.fork(t)
		fork.serve("DELETE", widgetsDefinition, nil, nil)
		fork.serve("POST", definitionsPath, jsonBody, []byte(definition(t, "widgets")))
		again(t, fork, metadataOf(t, fork.serve("GET", widgetsDefinition, nil, nil).body).ResourceVersion)
		again(t, c, since)
	})
}

// TestTheHistoryOfAKindBeginsWhenItGetsItsName has a definition wait for a name that another one
// holds. What happened while it waited is not part of its history.
func TestTheHistoryOfAKindBeginsWhenItGetsItsName(t *testing.T) {
	c := start(t)
	c.install("widgets")
	rival := strings.NewReplacer("widgets.example.com", "widgetses.example.com", `"plural":"widgets"`, `"plural":"widgetses"`).Replace(definition(t, "widgets"))
	c.must("POST", definitionsPath, rival)
	waiting := c.list("/api/v1/namespaces").ResourceVersion
	c.must("DELETE", widgetsDefinition, "")
	since := metadataOf(t, c.must("GET", definitionsPath+"/widgetses.example.com", "")).ResourceVersion
	const path = "/apis/example.com/v1/namespaces/default/widgetses"
	w := c.do("GET", path+"?watch=1&resourceVersion="+waiting, nil, "")
	expect(t, "a watch from before", w.body, `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version: `+
		waiting+` (`+since+`)","reason":"Expired","code":410}}`+"\n")
	c.must("POST", path, widget("a"))
	next := c.watch(path + "?watch=1&resourceVersion=" + since)
	expect(t, "a watch from then on", next.next(), "ADDED a")
}
