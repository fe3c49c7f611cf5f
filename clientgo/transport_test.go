package clientgo

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

const target = "http://cluster.test/path?q=1"

func newRequest(t testing.TB, ctx context.Context, method string, body io.Reader) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// open sends a GET and fails the test if there is no answer.
func open(t testing.TB, tr *Transport, ctx context.Context) *http.Response {
	t.Helper()
	resp, err := tr.RoundTrip(newRequest(t, ctx, http.MethodGet, nil))
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func wantRead(t *testing.T, r io.Reader, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(r, got); err != nil || string(got) != want {
		t.Fatalf("read %q, %v; want %q", got, err, want)
	}
}

func wantReadError(t *testing.T, r io.Reader, want error) {
	t.Helper()
	if n, err := r.Read(make([]byte, 10)); n != 0 || !errors.Is(err, want) {
		t.Fatalf("read %d bytes, error %v; want error %v", n, err, want)
	}
}

// inBubble runs f in a bubble with a transport that is closed at the end. Being in a
// bubble, the test fails if anything is left waiting.
func inBubble(t *testing.T, h http.HandlerFunc, f func(t *testing.T, tr *Transport)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		tr := InProcess(h)
		defer tr.Close()
		f(t, tr)
	})
}

// untilGone is a handler that sends its header and one line, and then waits for its
// client to go away.
func untilGone(w http.ResponseWriter, r *http.Request) {
	io.WriteString(w, "first\n")
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

func TestHandlersContextInheritsNeitherValuesNorDeadline(t *testing.T) {
	type key struct{}
	inBubble(t, func(w http.ResponseWriter, r *http.Request) {
		if v := r.Context().Value(key{}); v != nil {
			t.Errorf("value %v", v)
		}
		if d, has := r.Context().Deadline(); has {
			t.Errorf("deadline %v", d)
		}
	}, func(t *testing.T, tr *Transport) {
		ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, "client's"), time.Hour)
		defer cancel()
		open(t, tr, ctx)
	})
}

func TestTransportServesOneBubbleAfterAnother(t *testing.T) {
	tr := InProcess(http.HandlerFunc(untilGone))
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			resp := open(t, tr, t.Context())
			wantRead(t, resp.Body, "first\n")
			resp.Body.Close()
		})
	}
	tr.Close()
}
