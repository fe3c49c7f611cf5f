package report

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// pause is the minimum time between two changes that Live reports, so that the page can be read.
const pause = 300 * time.Millisecond

// Live serves a page that is updated while a cluster runs. Its paths are the page itself, data.json, and changes, a
// stream of server-sent events.
type Live struct {
	// Data returns the current data.
	Data func() *Data
	// Changed returns a channel that is closed when something has changed.
	Changed func() <-chan struct{}
	// Closing ends the streams.
	Closing context.Context
}

// ServeHTTP implements http.Handler.
func (l *Live) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", policy+"; frame-ancestors 'none'")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Referrer-Policy", "no-referrer") // the address of the page may be a secret
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Cache-Control", "no-store")
	if req.Method != http.MethodGet {
		http.Error(w, "the page is read-only", http.StatusMethodNotAllowed)
		return
	}
	switch req.URL.Path {
	case "/", "":
		var b bytes.Buffer
		if err := Write(&b, l.Data(), "./"); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		header.Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(b.Bytes()) // the browser may have gone
	case "/data.json":
		header.Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(l.Data()) // as above
	case "/changes":
		l.streamChanges(w, req)
	default:
		http.NotFound(w, req)
	}
}

// streamChanges sends an event for each change, until the browser disconnects.
func (l *Live) streamChanges(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	for {
		changed := l.Changed()
		if _, err := w.Write([]byte("data: changed\n\n")); err != nil || out.Flush() != nil {
			return
		}
		if !l.wait(req.Context(), changed) {
			return
		}
	}
}

// wait waits for a change, and then for the end of the pause. It returns false if the browser or the
// cluster has gone.
func (l *Live) wait(ctx context.Context, changed <-chan struct{}) bool {
	rest := time.NewTimer(pause)
	defer rest.Stop()
	for range 2 {
		select {
		case <-changed:
			changed = nil
		case <-rest.C:
		case <-ctx.Done():
			return false
		case <-l.Closing.Done():
			return false
		}
	}
	return true
}
