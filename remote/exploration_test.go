//go:build go1.25

package remote

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fakecluster/fakecluster/remote/internal/exploration"
)

// brokenHost serves bubbles that break, after their connection has been used by serve, and returns an explorer with it and the reports of its trials.
func brokenHost(t *testing.T, serve func(net.Conn)) (*explorer, chan map[string]any) {
	t.Helper()
	reports := make(chan map[string]any, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/v1/bubbles" {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n{\"session\": \"s\"}")
			serve(conn)
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
	e, reports := brokenHost(t, func(net.Conn) {})
	e.playing.Add(1)
	e.play(1)
	report := <-reports
	if failed, _ := report["failed"].(string); report["ended"] != true || !strings.Contains(failed, "the host of the cluster has ended, or does not answer") {
		t.Errorf("%v", report)
	}
}

// Why the host has ended a bubble by itself is the error, with the log that has more.
func TestABubbleThatTheHostEnds(t *testing.T) {
	e, reports := brokenHost(t, func(conn net.Conn) {
		if _, err := readFrame(bufio.NewReader(conn)); err != nil {
			t.Error(err)
		}
		frame := appendText(appendKind(make([]byte, frameHead), bubbleEnded, 0), "a deadlock")
		sealFrame(frame, time.Now())
		_, _ = conn.Write(frame)
	})
	e.playing.Add(1)
	e.play(1)
	if report := <-reports; report["ended"] != true || report["failed"] != "a deadlock; the log is host.log in the folder of the host" {
		t.Errorf("%v", report)
	}
}

// A host that hangs is the error of the exploration, and not silence.
func TestAHostThatHangsEndsTheExploration(t *testing.T) {
	defer func(d time.Duration) { hostPatience = d }(hostPatience)
	hostPatience = 100 * time.Millisecond
	e, _ := brokenHost(t, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
	here, there := net.Pipe()
	defer there.Close()
	e.conn = here
	e.playing.Add(1)
	go e.play(1)
	if err := e.follow(json.NewDecoder(here), exploration.Exploration[Option, *Cluster]{}); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%v", err)
	}
	e.playing.Wait()
}
