package rest_test

import (
	"context"
	"net/http"
	"net/http/httptest"
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
	const path = "/api/v1/namespaces/default/configmaps?watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&timeoutSeconds=5"
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req := httptest.NewRequestWithContext(ctx, "GET", path, nil)
	req.Header.Set("Authorization", "Bearer "+token)
	w := &headerWatcher{httptest.NewRecorder(), func() {
		if a := c.serve("POST", configMapsPath, http.Header{"Content-Type": {"application/json"}}, []byte(`{"metadata":{"name":"a"}}`)); a.code != http.StatusCreated {
			t.Errorf("the create is answered with %d: %s", a.code, a.body)
		}
	}, cancel}
	c.server.ServeHTTP(w, req)
	if got := w.Body.String(); !strings.HasPrefix(got, `{"type":"ADDED","object":`) || !strings.Contains(got, `"name":"a"`) {
		t.Errorf("the watch says %q", got)
	}
}
