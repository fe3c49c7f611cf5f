//go:build go1.25

package remote

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	bubbles "github.com/fakecluster/fakecluster/remote/internal/bubble"
)

// slowDatabase returns a connection that answers each byte after 10 ms.
func slowDatabase(t *testing.T) net.Conn {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer server.Close()
		for query := make([]byte, 1); ; {
			if _, err := server.Read(query); err != nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
			if _, err := server.Write(query); err != nil {
				return
			}
		}
	}()
	return conn
}

// TestKeepABubble is run by TestChecksOfABubble. Its checks follow each other at once.
func TestKeepABubble(t *testing.T) {
	reason := os.Getenv(mistakeVariable)
	if reason == "" {
		t.Skip("it is run by TestChecksOfABubble")
	}
	base, database := Start(t), slowDatabase(t)
	begun, never := make(chan struct{}), make(chan struct{})
	var checked atomic.Bool
	go func() {
		<-begun
		for range 100 {
			bubbles.Check()
		}
		checked.Store(true)
	}()
	synctest.Test(t, func(t *testing.T) {
		if reason == "a client of a cluster outside" {
			answer, err := http.Get(base.URL() + maps)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(answer.Body); err != nil {
				t.Error(err)
			}
			answer.Body.Close()
			close(begun)
			time.Sleep(time.Hour)
			return
		}
		base.Fork(t)
		close(begun)
		var lock sync.Mutex
		lock.Lock()
		switch reason {
		case "a lock":
			lock.Lock()
		case "a lock behind a channel":
			go func() {
				<-never
				lock.Unlock()
			}()
			lock.Lock()
		case "a computation":
			for !checked.Load() {
			}
		case "a database":
			for answer := make([]byte, 1); !checked.Load(); {
				if _, err := database.Write(answer); err != nil {
					t.Error(err)
				}
				if _, err := database.Read(answer); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

// The checks find why a bubble does not go on, and spare one that does.
func TestChecksOfABubble(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts processes")
	}
	for _, test := range []struct {
		reason, want string
		ends         bool
	}{
		{"a lock", "panic: TestKeepABubble: time in the synctest bubble stands still, because a goroutine waits for a lock, and no running goroutine can release it. " +
			"Time passes only when all goroutines of the bubble wait for channels, timers and the like: do not hold a lock while you sleep or wait for a request, such as one that calls a function of the test. The goroutine that waits:", true},
		{"a lock behind a channel", "panic: TestKeepABubble: time in the synctest bubble stands still, because a goroutine waits for a channel that was created outside of the bubble: " +
			"create it in the function of synctest.Test. The goroutine that waits:", true},
		{"a client of a cluster outside", "panic: TestKeepABubble: time in the synctest bubble stands still, because an HTTP client has a connection to a server. " +
			"If that is the cluster, write c := base.Fork(t) in the bubble, unless the cluster was started there, and give the client the transport of c: " +
			"&rest.Config{Host: c.URL(), BearerToken: c.Token(), Transport: c.Transport(), QPS: -1}. If it is a server of the test, such as one of httptest: " +
			"start it before synctest.Test, and give the client a transport that keeps no connection, &http.Transport{DisableKeepAlives: true}. The goroutine that waits:", true},
		{"a computation", "fakecluster: TestKeepABubble: a goroutine in the synctest bubble has run for 20 seconds, and nothing was requested meanwhile. If it loops until something comes: " +
			"write time.Sleep(time.Millisecond) in the loop, because time stands still while it runs, and end it with its context. The goroutine that runs:", false},
		{"a database", "--- PASS: TestKeepABubble", false},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
			defer cancel()
			child := exec.CommandContext(ctx, os.Args[0], "-test.run", "^TestKeepABubble$", "-test.v")
			child.Env = append(os.Environ(), mistakeVariable+"="+test.reason)
			text, err := child.CombinedOutput()
			if (err != nil) != test.ends {
				t.Errorf("the test ends with %v", err)
			}
			if !strings.Contains(string(text), test.want) {
				t.Errorf("the test says:\n%s\nwant: %s", text, test.want)
			}
		})
	}
}
