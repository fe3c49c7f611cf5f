package clientgo

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestCancellingTheRequestEndsBothSides(t *testing.T) {
	cause := errors.New("the test had enough")
	t.Run("before the header", func(t *testing.T) {
		inBubble(t, func(w http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			if err := context.Cause(r.Context()); err != context.Canceled {
				t.Errorf("the handler's context ends with %v", err)
			}
		}, func(t *testing.T, tr *Transport) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, cause)
			defer cancel()
			if _, err := tr.RoundTrip(newRequest(t, ctx, "GET", nil)); err != cause {
				t.Errorf("RoundTrip fails with %v, want the cause", err)
			}
		})
	})
	t.Run("during a read", func(t *testing.T) {
		inBubble(t, untilGone, func(t *testing.T, tr *Transport) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			resp := open(t, tr, ctx)
			wantRead(t, resp.Body, "first\n")
			wantReadError(t, resp.Body, context.DeadlineExceeded)
		})
	})
	t.Run("what is buffered is not delivered after it", func(t *testing.T) {
		inBubble(t, func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "complete")
		}, func(t *testing.T, tr *Transport) {
			ctx, cancel := context.WithCancel(t.Context())
			resp := open(t, tr, ctx)
			cancel()
			wantReadError(t, resp.Body, context.Canceled)
		})
	})
	t.Run("it was cancelled already", func(t *testing.T) {
		inBubble(t, func(http.ResponseWriter, *http.Request) {
			t.Error("the handler is called")
		}, func(t *testing.T, tr *Transport) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := tr.RoundTrip(newRequest(t, ctx, "GET", nil)); err != context.Canceled {
				t.Errorf("RoundTrip fails with %v", err)
			}
		})
	})
	t.Run("while the handler waits for the client's body", func(t *testing.T) {
		var got error
		inBubble(t, func(w http.ResponseWriter, r *http.Request) {
			_, got = r.Body.Read(make([]byte, 1))
		}, func(t *testing.T, tr *Transport) {
			body, send := io.Pipe()
			defer send.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if _, err := tr.RoundTrip(newRequest(t, ctx, "POST", body)); err != context.DeadlineExceeded {
				t.Errorf("RoundTrip fails with %v", err)
			}
			synctest.Wait()
			if got != io.ErrUnexpectedEOF {
				t.Errorf("the handler reads %v", got)
			}
		})
	})
}

func TestClosingTheBodyEarlyCancelsTheHandlerAndWaitsForNothing(t *testing.T) {
	var ended atomic.Bool
	inBubble(t, func(w http.ResponseWriter, r *http.Request) {
		untilGone(w, r)
		time.Sleep(time.Hour)
		ended.Store(true)
	}, func(t *testing.T, tr *Transport) {
		start := time.Now()
		resp := open(t, tr, t.Context())
		resp.Body.Close()
		if time.Since(start) != 0 || ended.Load() {
			t.Error("Close waits for the handler")
		}
		wantReadError(t, resp.Body, errReadOnClosed)
		tr.Close()
		if time.Since(start) != time.Hour || !ended.Load() {
			t.Error("the transport's Close does not wait for the handler")
		}
	})
}

func TestHandlersContextEndsWhenItReturns(t *testing.T) {
	var ctx context.Context
	inBubble(t, func(w http.ResponseWriter, r *http.Request) { ctx = r.Context() }, func(t *testing.T, tr *Transport) {
		open(t, tr, t.Context())
		if ctx.Err() != context.Canceled {
			t.Errorf("its error is %v", ctx.Err())
		}
	})
}

func TestCloseEndsOpenStreamsAndWaitsForTheirHandlers(t *testing.T) {
	const watches = 20
	running := make(chan struct{}, watches)
	synctest.Test(t, func(t *testing.T) {
		tr := InProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			running <- struct{}{}
			untilGone(w, r)
			time.Sleep(time.Second) // slow to give up
			<-running
		}))
		complete := InProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "complete") }))
		done := open(t, complete, t.Context())

		failures := make(chan error, watches)
		for range watches {
			resp := open(t, tr, t.Context())
			go func() {
				_, err := io.Copy(io.Discard, resp.Body)
				failures <- err
			}()
		}
		synctest.Wait()
		go tr.Close() // a second one waits as well
		tr.Close()
		complete.Close()
		if len(running) != 0 {
			t.Errorf("%d handlers run after Close", len(running))
		}
		for range watches {
			if err := <-failures; err != io.ErrUnexpectedEOF {
				t.Errorf("a read fails with %v, want a stream cut off", err)
			}
		}
		if _, err := tr.RoundTrip(newRequest(t, t.Context(), "GET", nil)); err != ErrClosed {
			t.Errorf("a later RoundTrip fails with %v, want ErrClosed", err)
		}
		wantRead(t, done.Body, "complete") // an answer that was there stays
	})
}

func TestCloseInterruptsARequestWithoutHeader(t *testing.T) {
	inBubble(t, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, func(t *testing.T, tr *Transport) {
		go func() {
			time.Sleep(time.Minute)
			tr.Close()
		}()
		if _, err := tr.RoundTrip(newRequest(t, t.Context(), "GET", nil)); err != ErrClosed {
			t.Errorf("RoundTrip fails with %v, want ErrClosed", err)
		}
	})
}

func TestHandlerThatDoesNotReturnFailsItsExchangeAlone(t *testing.T) {
	var logged bytes.Buffer
	log.SetOutput(&logged)
	defer log.SetOutput(os.Stderr)
	for _, c := range []struct {
		rule string
		end  func()
		want string
		logs string
	}{
		{"a panic is returned and logged", func() { panic("boom") },
			"clientgo: handler panicked serving GET /path?q=1: boom", "clientgo: panic serving GET /path?q=1: boom\n"},
		{"a panic with ErrAbortHandler is quiet", func() { panic(http.ErrAbortHandler) }, "unexpected EOF", ""},
		{"Goexit is returned", runtime.Goexit, errHandlerExited.Error(), ""},
		{"a bad status is net/http's panic", func() { responseWriter{}.WriteHeader(99) },
			"clientgo: handler panicked serving GET /path?q=1: invalid WriteHeader code 99", "clientgo: panic serving"},
	} {
		for _, flush := range []bool{false, true} {
			name := c.rule + ", before the header"
			if flush {
				name = c.rule + ", after the header"
			}
			t.Run(name, func(t *testing.T) {
				logged.Reset()
				inBubble(t, func(w http.ResponseWriter, r *http.Request) {
					io.WriteString(w, "begun")
					if flush {
						w.(http.Flusher).Flush()
					}
					c.end()
				}, func(t *testing.T, tr *Transport) {
					resp, err := tr.RoundTrip(newRequest(t, t.Context(), "GET", nil))
					if flush {
						if err != nil {
							t.Fatal(err)
						}
						wantRead(t, resp.Body, "begun") // what was flushed arrives
						_, err = resp.Body.Read(make([]byte, 1))
					}
					if err == nil || err.Error() != c.want {
						t.Errorf("error %v, want %s", err, c.want)
					}
				})
				if got := logged.String(); !strings.Contains(got, c.logs) || (c.logs == "") != (got == "") {
					t.Errorf("logged %q, want %q", got, c.logs)
				}
			})
		}
	}
}
