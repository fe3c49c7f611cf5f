package bubble

import (
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// An HTTP client stops the time of a bubble that nobody watches. A check finds it while somebody watches others.
func TestABubbleThatNobodyWatchesIsReported(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	var reports atomic.Int32
	var found Blocked
	stop := WatchOthers(func(b Blocked) {
		found = b
		if reports.Add(1) == 1 {
			server.CloseClientConnections()
		}
	})
	defer func() {
		stop()
		notWatched(t)
	}()
	var passed atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for reports.Load() == 0 && !passed.Load() {
			Check()
			runtime.Gosched()
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		client := &http.Client{Transport: &http.Transport{}}
		answer, err := client.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(answer.Body); err != nil { // otherwise the client closes the connection
			t.Error(err)
		}
		answer.Body.Close()
		time.Sleep(time.Hour)
	})
	passed.Store(true)
	<-ended
	if n := reports.Load(); n != 1 || !strings.Contains(found.Stack, "net/http.(*persistConn).readLoop") {
		t.Errorf("%d reports, of\n%s", n, found.Stack)
	}
}

// What else bubbles wait for that nobody watches is their business, and so is everything after the end.
func TestBubblesThatNobodyWatchesMayWait(t *testing.T) {
	const client = "goroutine 7 [IO wait, synctest bubble 3]:\nnet/http.(*persistConn).readLoop()"
	for _, test := range []struct {
		rule, stacks string
		watched      int
	}{
		{"an HTTP client", client, 1},
		{"not if another goroutine of its bubble runs", client + "\n\ngoroutine 8 [runnable, synctest bubble 3]:\nmain.main()", 0},
		{"not a database", "goroutine 7 [IO wait, synctest bubble 3]:\nnet.(*conn).Read()", 0},
		{"not a client outside of bubbles", "goroutine 7 [IO wait]:\nnet/http.(*persistConn).readLoop()", 0},
	} {
		t.Run(test.rule, func(t *testing.T) {
			blocked := func(Blocked) {}
			ws := &watches{others: otherBubbles{blocked: []*func(Blocked){&blocked}}}
			ws.addOthers(test.stacks)
			if n := len(ws.bubbles); n != test.watched {
				t.Errorf("%d bubbles are watched, want %d", n, test.watched)
			}
			for i := range otherChecks {
				if reports := ws.check(test.stacks); i < otherChecks-1 && len(reports) > 0 {
					t.Errorf("reported at check %d", i+1)
				}
			}
			ws.addOthers(test.stacks)
			ws.check("")
			if len(ws.bubbles) != 0 {
				t.Error("it is watched although it waits no more")
			}
		})
	}
}
