package rest_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// What kubectl describe and recorders of events ask for.
func TestFieldsOfBuiltInKindsAreSelectable(t *testing.T) {
	c := start(t)
	const events, secrets, configMaps = "/api/v1/namespaces/default/events", "/api/v1/namespaces/default/secrets", "/api/v1/namespaces/default/configmaps"
	for _, event := range []string{
		`{"metadata":{"name":"a"},"involvedObject":{"kind":"Widget","name":"w","namespace":"default","uid":"u","apiVersion":"v1","resourceVersion":"7","fieldPath":"p"},` +
			`"type":"Normal","reason":"Grown","source":{"component":"grower"}}`,
		`{"metadata":{"name":"b"},"involvedObject":{"kind":"Widget","name":"x","namespace":"default"},"type":"Warning","reportingComponent":"shrinker"}`,
	} {
		c.must("POST", events, event)
	}
	c.must("POST", secrets, `{"metadata":{"name":"a"}}`)
	c.must("POST", secrets, `{"metadata":{"name":"b"},"type":"example.com/other"}`)
	for _, tt := range []struct{ path, selector, want string }{
		{events, "involvedObject.name=w,involvedObject.kind=Widget,involvedObject.uid=u", "a"},
		{events, "involvedObject.namespace=default,involvedObject.apiVersion!=v1", "b"},
		{events, "involvedObject.resourceVersion=7", "a"},
		{events, "involvedObject.fieldPath==p", "a"},
		{events, "type=Warning", "b"},
		{events, "reason=Grown", "a"},
		{events, "source=grower", "a"},
		{events, "source=shrinker", "b"},
		{events, "reportingComponent=shrinker,metadata.namespace=default", "b"},
		{events, "metadata.name=a", "a"},
		{events, "metadata.namespace!=default", ""},
		{secrets, "type=Opaque", "a"},
		{secrets, "type!=Opaque,metadata.namespace=default", "b"},
	} {
		var names []string
		for _, name := range gjson.Get(c.must("GET", tt.path+"?fieldSelector="+url.QueryEscape(tt.selector), ""), "items.#.metadata.name").Array() {
			names = append(names, name.Str)
		}
		expect(t, tt.selector, strings.Join(names, " "), tt.want)
	}
	for path, want := range map[string]string{
		events + "?fieldSelector=message=x":      "field label not supported: message",
		secrets + "?fieldSelector=data=x":        "field label not supported: data",
		configMaps + "?fieldSelector=data=x":     `"data" is not a known field selector: only "metadata.name", "metadata.namespace"`,
		"/api/v1/namespaces?fieldSelector=x=y":   "field label not supported: x",
		events + "?watch=1&fieldSelector=note=x": "field label not supported: note",
	} {
		a := c.do("GET", path, nil, "")
		expect(t, path, a.code, http.StatusBadRequest)
		expect(t, path, statusOf(t, a).Message, want)
	}
}
