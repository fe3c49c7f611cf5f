package rest

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// oneConnection is a listener that accepts one connection.
type oneConnection struct{ accepted chan net.Conn }

func (l oneConnection) Accept() (net.Conn, error) {
	if conn, ok := <-l.accepted; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (oneConnection) Addr() net.Addr { return &net.UnixAddr{} }
func (oneConnection) Close() error   { return nil }

// dialLimited serves a handler behind limitTime, and returns a connection to it.
func dialLimited(t *testing.T, longest time.Duration, handler http.HandlerFunc) net.Conn {
	client, end := net.Pipe()
	l := oneConnection{make(chan net.Conn, 1)}
	l.accepted <- end
	close(l.accepted)
	server := &http.Server{Handler: giveContext(nil)(parsePath(limitTime(longest)(handler)))}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() {
		_ = client.Close()
		_ = server.Close()
	})
	return client
}

func send(t *testing.T, conn net.Conn, method, path string) {
	t.Helper()
	if _, err := fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", method, path); err != nil {
		t.Fatal(err)
	}
}

// A client that does not read its answer loses the connection two seconds after the time of its
// request.
func TestAnAnswerThatNobodyReadsEnds(t *testing.T) {
	const configMaps = "/api/v1/namespaces/default/configmaps"
	for _, tt := range []struct {
		method, path string
		after        time.Duration
		longest      time.Duration // 0: the usual time
	}{
		{"GET", configMaps + "?timeout=1s", 3 * time.Second, 0},
		{"GET", configMaps, 62 * time.Second, 0},
		{"DELETE", configMaps + "/a", 36 * time.Second, 0},
		{"DELETE", configMaps + "/a?timeout=50s", 36 * time.Second, 0},
		{"GET", configMaps, 7 * time.Second, 5 * time.Second},
		{"GET", configMaps + "?timeout=50s", 7 * time.Second, 5 * time.Second},
		{"DELETE", configMaps + "/a", 7 * time.Second, 5 * time.Second},
		{"DELETE", configMaps + "/a", 36 * time.Second, time.Hour},
	} {
		t.Run(fmt.Sprint(tt.method, " ", tt.path, " ", tt.longest), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				ended := make(chan error)
				conn := dialLimited(t, cmp.Or(tt.longest, requestTimeout), func(w http.ResponseWriter, _ *http.Request) {
					_, err := io.WriteString(w, strings.Repeat("x", 1<<20))
					ended <- err
				})
				send(t, conn, tt.method, tt.path)
				if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != tt.after {
					t.Errorf("the answer ended after %v with %v, want %v and a deadline", time.Since(began), err, tt.after)
				}
			})
		})
	}
}

// A watch has no end, also after a request over the same connection that had one.
func TestAWatchAfterARequestGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := dialLimited(t, requestTimeout, func(w http.ResponseWriter, req *http.Request) {
			if req.URL.Query().Has("watch") {
				time.Sleep(time.Hour)
			}
			_, _ = io.WriteString(w, "answer") // the test reads it
		})
		answers := bufio.NewReader(conn)
		for _, query := range []string{"?timeout=1s", "?watch=true"} {
			send(t, conn, http.MethodGet, "/api/v1/namespaces"+query)
			res, err := http.ReadResponse(answers, nil)
			if err != nil {
				t.Fatal(query, err)
			}
			if body, err := io.ReadAll(res.Body); string(body) != "answer" || err != nil {
				t.Errorf("%s: %q, %v", query, body, err)
			}
		}
	})
}
