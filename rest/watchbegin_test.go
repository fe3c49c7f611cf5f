package rest_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// headerWatcher is the answer of a watch that does something once its header is
// there, and ends the watch once there is an event.
type headerWatcher struct {
	*httptest.ResponseRecorder
	onHeader func()
	end      func()
}

func (w *headerWatcher) WriteHeader(code int) {
	w.ResponseRecorder.WriteHeader(code)
	w.onHeader()
}

func (w *headerWatcher) Write(p []byte) (int, error) {
	defer w.end()
	return w.ResponseRecorder.Write(p)
}

func TestAWatchHasWhatIsWrittenOnceItsHeaderIsThere(t *testing.T) {
	c := startInProcess(t)
	// A watch from now shows no state: what it misses it never shows.
	const path = "/api/v1/namespaces/default/configmaps?watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&timeoutSeconds=60"
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req := httptest.NewRequestWithContext(ctx, "GET", path, nil)
	req.Header.Set("Authorization", "Bearer "+token)
	w := &headerWatcher{httptest.NewRecorder(), func() {
		if a := c.serve("POST", configMapsPath, http.Header{"Content-Type": {"application/json"}}, []byte(`{"metadata":{"name":"a"}}`)); a.code != http.StatusCreated {
			t.Errorf("the create is answered with %d: %s", a.code, a.body)
		}
	}, cancel}
	c.handler.ServeHTTP(w, req)
	if got := w.Body.String(); !strings.HasPrefix(got, `{"type":"ADDED","object":`) || !strings.Contains(got, `"name":"a"`) {
		t.Errorf("the watch says %q", got)
	}
}

// watchOnce makes a watch that ends with its first event.
func (c *cluster) watchOnce(t *testing.T, path string, header http.Header) *httptest.ResponseRecorder {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req := httptest.NewRequestWithContext(ctx, "GET", path, nil)
	for name, values := range header {
		req.Header[name] = values
	}
	req.Header.Set("Authorization", "Bearer "+token)
	w := &headerWatcher{httptest.NewRecorder(), func() {}, cancel}
	c.handler.ServeHTTP(w, req)
	return w.ResponseRecorder
}

func TestWatchesThatSayWhatThereIsAreCompressed(t *testing.T) {
	c := startInProcess(t)
	if a := c.serve("POST", configMapsPath, http.Header{"Content-Type": {"application/json"}}, []byte(`{"metadata":{"name":"a"}}`)); a.code != http.StatusCreated {
		t.Fatalf("%d: %s", a.code, a.body)
	}
	const whole = configMapsPath + "?watch=1&timeoutSeconds=60&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
	plain := c.watchOnce(t, whole, nil)
	if plain.Header().Get("Content-Encoding") != "" || strings.Count(plain.Body.String(), "\n") != 2 {
		t.Fatalf("who does not accept gzip gets %v\n%s", plain.Header(), plain.Body)
	}
	accepts := http.Header{"Accept-Encoding": {"gzip"}}
	compressed := c.watchOnce(t, whole, accepts)
	if h := compressed.Header(); h.Get("Content-Encoding") != "gzip" || !slices.Contains(h.Values("Vary"), "Accept-Encoding") {
		t.Errorf("who accepts gzip gets %v", h)
	}
	z, err := gzip.NewReader(compressed.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(z); err != nil || string(got) != plain.Body.String() {
		t.Errorf("compressed, the watch says %q, %v", got, err)
	}
	const withoutBookmarks = configMapsPath + "?watch=1&timeoutSeconds=60&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
	if w := c.watchOnce(t, withoutBookmarks, accepts); w.Header().Get("Content-Encoding") != "" {
		t.Error("a watch that does not say where the present objects end is compressed")
	}
}

func TestAWatchWhoseObjectsHaveNotTheFormEndsWithoutAWord(t *testing.T) {
	c := startInProcess(t)
	if a := c.serve("POST", configMapsPath, http.Header{"Content-Type": {"application/json"}}, []byte(`{"metadata":{"name":"a"}}`)); a.code != http.StatusCreated {
		t.Fatalf("%d: %s", a.code, a.body)
	}
	w := c.watchOnce(t, configMapsPath+"?watch=1&resourceVersion=0", http.Header{"Accept": {"application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}})
	if w.Code != http.StatusOK || w.Body.Len() > 0 {
		t.Errorf("the watch is answered with %d and %q", w.Code, w.Body)
	}
}

func TestAWatchWithANegativeTimeoutEndsAtOnce(t *testing.T) {
	c := start(t)
	c.install("widgets")
	c.must("POST", widgetsPath, widget("a"))
	c.must("POST", configMapsPath, `{"metadata":{"name":"a"}}`)
	for _, path := range []string{widgetsPath, configMapsPath} {
		for _, query := range []string{
			"timeoutSeconds=-1", "timeoutSeconds=-1&resourceVersion=0", "timeoutSeconds=-1&resourceVersion=1",
			"timeoutSeconds=-1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
			"timeoutSeconds=9223372037", // overflows
		} {
			a := c.do("GET", path+"?watch=1&"+query, nil, "")
			expect(t, path+"?"+query, fmt.Sprint(a.code, " ", a.body), "200 ")
		}
	}
}
