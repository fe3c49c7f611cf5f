package exchange

import "testing"

func TestOwnersAreSorted(t *testing.T) {
	const (
		text = `{"b":1,"metadata":{"managedFields":[{"manager":"b"},{"manager":"a"}],"name":"x"},"items":[{"managedFields":[]},{"managedFields":null}]}`
		want = `{"b":1,"metadata":{"managedFields":[{"manager":"a"},{"manager":"b"}],"name":"x"},"items":[{"managedFields":[]},{"managedFields":null}]}`
	)
	if got := string(sortOwners([]byte(text))); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestMistakesAreSorted(t *testing.T) {
	const (
		text = `{"kind":"Status","message":"A \"x\" is invalid: [b: no \"2\", a: no 1]","details":{"causes":[{"reason":"R","message":"no \"2\"","field":"b"},{"reason":"R","message":"no 1","field":"a"}]}}`
		want = `{"kind":"Status","message":"A \"x\" is invalid: [a: no 1, b: no \"2\"]","details":{"causes":[{"reason":"R","message":"no 1","field":"a"},{"reason":"R","message":"no \"2\"","field":"b"}]}}`
	)
	if got := string(sortMistakes([]byte(text))); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, alone := range []string{`{"kind":"Status","message":"x"}`, `no JSON`, `{"kind":"ConfigMap"}`} {
		if got := string(sortMistakes([]byte(alone))); got != alone {
			t.Errorf("%s became %s", alone, got)
		}
	}
}

func TestEventsHaveLinesOfTheirOwn(t *testing.T) {
	const want = "{\n \"a\": 1\n}\n{\n \"b\": []\n}"
	if got := string(indented([]byte("{\"a\":1}\n{\"b\":[]}\n"))); got != want {
		t.Errorf("got %s", got)
	}
	if got := string(indented([]byte("ok"))); got != "ok" {
		t.Errorf("got %s", got)
	}
}
