package rest_test

import (
	"strings"
	"testing"
)

// change reads an object, edits its text and writes it back.
func (c *cluster) change(path, old, new string) {
	c.t.Helper()
	was := c.must("GET", path, "")
	is := strings.Replace(was, old, new, 1)
	if is == was {
		c.t.Fatalf("%s has no %s", path, old)
	}
	c.must("PUT", path, is)
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
	was := c.list(widgetsPath).ResourceVersion
	c.must("DELETE", widgetsDefinition, "")
	expect(t, "no endpoint", c.do("GET", widgetsPath, nil, "").code, 404)
	c.install("widgets")
	expect(t, "objects", namesOf(c.list(widgetsPath)), []string(nil))
	w := c.watch(widgetsPath + "?watch=1&resourceVersion=" + was)
	c.must("POST", widgetsPath, widget("a"))
	expect(t, "a watch from before has expired: the history begins with the definition", w.next(), "ERROR ")
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
