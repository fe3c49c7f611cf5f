package exchange

import (
	"net/http"
	"testing"
)

func TestNormal(t *testing.T) {
	for text, want := range map[string]string{
		`{"uid":"3f1c2d4e-0000-4000-8000-0123456789ab"}`:                        `{"uid":"UID"}`,
		`{"time":"2026-01-02T03:04:05Z","at":"2026-01-02T03:04:05.000006Z"}`:    `{"time":"TIME","at":"TIME"}`,
		`{"resourceVersion":"17","message":"{\"resourceVersion\":\"18\"}"}`:     `{"resourceVersion":"RV","message":"{\"resourceVersion\":\"RV\"}"}`,
		`Timeout: Too large resource version: 99999999, current: 214`:           `Timeout: Too large resource version: 99999999, current: RV`,
		`{"cells":["a","5s","10000:31814/TCP"]}`:                                `{"cells":["a","AGE","10000:PORT/TCP"]}`,
		`{"cells":["a","8m27s"]}`:                                               `{"cells":["a","AGE"]}`,
		`dial tcp 127.0.0.1:10257: connect: connection refused`:                 `dial tcp ADDRESS: connect: connection refused`,
		`{"name":"a-x7k2p","replicas":3,"message":"configmaps \"a\" is wrong"}`: `{"name":"a-XXXXX","replicas":3,"message":"configmaps \"a\" is wrong"}`,
	} {
		if got := string(normal([]byte(text))); got != want {
			t.Errorf("%s\nis  %s\nnot %s", text, got, want)
		}
	}
}

func TestText(t *testing.T) {
	a := answer{code: 404, header: http.Header{"Date": {"today"}, "Etag": {`"A1"`}, "Vary": {"Accept"}}, body: []byte(`{"b":1,"a":"x"}`)}
	const want = "404\nEtag: …\nVary: Accept\n\n{\n \"b\": 1,\n \"a\": \"x\"\n}"
	if got := a.text(false); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestRequestsHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range start() {
		if seen[r.String()] {
			t.Errorf("%s is there twice", r)
		}
		seen[r.String()] = true
	}
}
