package exchange

import (
	"encoding/json"
	"net/url"
	"testing"
)

func TestABodyIsMadeFromAnEarlierAnswer(t *testing.T) {
	s := &server{base: &url.URL{}, last: map[string][]byte{
		"g get":  []byte(`{"metadata":{"name":"a","uid":"u","labels":{"x":"y"}}}`),
		"g page": []byte(`{"metadata":{"continue":"c"},"items":[{"metadata":{"name":"b"}}]}`),
	}}
	path, body, err := s.fill(Request{Group: "g", Path: "/x?continue=${page:metadata.continue}&a=${page:items.7.x}", From: "get", Body: `{"metadata":{"uid":null,"labels":{"z":"${page:items.0.metadata.name}"}}}`})
	if err != nil {
		t.Fatal(err)
	}
	if want := "/x?continue=c&a="; path != want {
		t.Errorf("the path is %s, not %s", path, want)
	}
	if want := `{"metadata":{"labels":{"x":"y","z":"b"},"name":"a"}}`; string(body) != want {
		t.Errorf("the body is %s, not %s", body, want)
	}
	if _, _, err := s.fill(Request{Group: "g", From: "nothing"}); err == nil {
		t.Error("a body is made from no answer")
	}
}

func TestMerge(t *testing.T) {
	object := map[string]any{"a": map[string]any{"b": 1.0, "c": 2.0}, "d": "x"}
	change := map[string]any{"a": map[string]any{"b": nil}, "d": map[string]any{"e": nil, "f": true}}
	merge(object, change)
	got, err := json.Marshal(object)
	if want := `{"a":{"c":2},"d":{"f":true}}`; err != nil || string(got) != want {
		t.Errorf("got %s (%v), want %s", got, err, want)
	}
}
