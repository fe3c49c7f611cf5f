//go:build go1.25

package remote

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// brokenHost serves bubbles that break, and returns an explorer with it and the reports of its trials.
func brokenHost(t *testing.T) (*explorer, chan map[string]any) {
	t.Helper()
	reports := make(chan map[string]any, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/v1/bubbles" {
			w.Header().Set("Connection", "close")
			_, _ = w.Write([]byte(`{"session": "s"}`))
			return
		}
		var report map[string]any
		if err := json.NewDecoder(req.Body).Decode(&report); err != nil {
			t.Error(err)
		}
		reports <- report
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(server.Close)
	return &explorer{t: t, name: "e", bubbles: map[int]string{}, host: &connection{network: "tcp", address: server.Listener.Addr().String(), session: "s"}}, reports
}

// A trial whose bubble breaks has failed: it says nothing about the operator.
func TestATrialWhoseBubbleBreaksHasFailed(t *testing.T) {
	e, reports := brokenHost(t)
	e.playing.Add(1)
	e.play(1)
	report := <-reports
	if failed, _ := report["failed"].(string); report["ended"] != true || !strings.Contains(failed, "the host of the cluster has ended, or does not answer") {
		t.Errorf("%v", report)
	}
}
