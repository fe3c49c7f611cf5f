package clientgo

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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

// bubble runs f in a bubble with a transport that is closed at the end. Being in a
// bubble, the test fails if anything is left waiting.
func bubble(t *testing.T, h http.HandlerFunc, f func(t *testing.T, tr *Transport)) {
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

func TestHeaderLeavesWithTheFirstFlush(t *testing.T) {
	bubble(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		w.Header().Set("Too", "late")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}, func(t *testing.T, tr *Transport) {
		resp := open(t, tr, t.Context())
		if resp.StatusCode != http.StatusAccepted || len(resp.Header) != 0 || resp.ContentLength != -1 {
			t.Errorf("status %d, header %v, length %d; want 202, none, -1", resp.StatusCode, resp.Header, resp.ContentLength)
		}
		resp.Body.Close()
	})
}

func TestHandlersContextInheritsNeitherValuesNorDeadline(t *testing.T) {
	type key struct{}
	bubble(t, func(w http.ResponseWriter, r *http.Request) {
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

func TestHeaderWaitsWhileLittleIsWrittenAndNothingFlushed(t *testing.T) {
	for _, c := range []struct {
		rule   string
		bytes  int
		leaves bool
	}{
		{"2048 bytes are held back", heldBack, false},
		{"one more releases them", heldBack + 1, true},
	} {
		t.Run(c.rule, func(t *testing.T) {
			bubble(t, func(w http.ResponseWriter, r *http.Request) {
				io.WriteString(w, strings.Repeat("x", c.bytes))
				<-r.Context().Done()
			}, func(t *testing.T, tr *Transport) {
				answered := false
				go func() {
					resp, err := tr.RoundTrip(newRequest(t, t.Context(), "GET", nil))
					if err == nil {
						resp.Body.Close()
						answered = true
					}
				}()
				synctest.Wait()
				if answered != c.leaves {
					t.Errorf("answered: %t, want %t", answered, c.leaves)
				}
			})
		})
	}
}

func TestEveryWriteAfterTheHeaderIsSeenAtOnce(t *testing.T) {
	bubble(t, func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		for _, s := range []string{"one", "two", "three"} {
			time.Sleep(time.Hour)
			io.WriteString(w, s)
		}
		<-r.Context().Done()
	}, func(t *testing.T, tr *Transport) {
		start := time.Now()
		resp := open(t, tr, t.Context())
		for i, want := range []string{"one", "two", "three"} {
			wantRead(t, resp.Body, want)
			if got := time.Since(start); got != time.Duration(i+1)*time.Hour {
				t.Errorf("%q came after %v", want, got)
			}
		}
		resp.Body.Close()
	})
}

func TestBothBodiesStreamAtTheSameTime(t *testing.T) {
	bubble(t, func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		for lines := bufio.NewScanner(r.Body); lines.Scan(); {
			io.WriteString(w, "echo "+lines.Text()+"\n")
		}
	}, func(t *testing.T, tr *Transport) {
		body, send := io.Pipe()
		resp, err := tr.RoundTrip(newRequest(t, t.Context(), "POST", body))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []string{"one", "two"} {
			io.WriteString(send, s+"\n")
			wantRead(t, resp.Body, "echo "+s+"\n")
		}
		send.Close()
		wantReadError(t, resp.Body, io.EOF)
	})
}

func TestWriterFarAheadBlocksUntilItsClientReads(t *testing.T) {
	chunk := strings.Repeat("x", 1<<10)
	var written int
	var failed error
	h := func(w http.ResponseWriter, r *http.Request) {
		for failed == nil {
			if _, failed = io.WriteString(w, chunk); failed == nil {
				written++
			}
		}
	}
	for _, c := range []struct {
		rule    string
		release func(tr *Transport, resp *http.Response, cancel func())
		want    error
	}{
		{"closing the body releases it", func(_ *Transport, r *http.Response, _ func()) { r.Body.Close() }, errClientGone},
		{"cancelling the request releases it", func(_ *Transport, _ *http.Response, cancel func()) { cancel() }, context.Canceled},
		{"closing the transport releases it", func(tr *Transport, _ *http.Response, _ func()) { tr.Close() }, ErrClosed},
	} {
		t.Run(c.rule, func(t *testing.T) {
			written, failed = 0, nil
			bubble(t, h, func(t *testing.T, tr *Transport) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				resp := open(t, tr, ctx)
				synctest.Wait()
				if want := bufferLimit >> 10; written != want {
					t.Errorf("%d KiB written before a read, want %d", written, want)
				}
				if _, err := io.CopyN(io.Discard, resp.Body, 10<<10); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if want := bufferLimit >> 10; written != want {
					t.Errorf("%d KiB written while one waits for the buffer to drain, want %d", written, want)
				}
				if _, err := io.CopyN(io.Discard, resp.Body, bufferLimit); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if written <= bufferLimit>>10 {
					t.Errorf("%d KiB written after all was read: the handler did not go on", written)
				}
				c.release(tr, resp, cancel)
				synctest.Wait()
				if !errors.Is(failed, c.want) {
					t.Errorf("the handler's Write fails with %v, want %v", failed, c.want)
				}
			})
		})
	}
}

func TestConcurrentWritesOfOneHandlerArriveWhole(t *testing.T) {
	const writers, size = 4, 3 * lentAtOnce
	bubble(t, func(w http.ResponseWriter, r *http.Request) {
		var all sync.WaitGroup
		for i := range writers {
			all.Go(func() { w.Write(bytes.Repeat([]byte{byte('a' + i)}, size)) })
		}
		all.Wait()
	}, func(t *testing.T, tr *Transport) {
		got, err := io.ReadAll(open(t, tr, t.Context()).Body)
		if err != nil || len(got) != writers*size {
			t.Fatalf("read %d bytes, %v; want %d", len(got), err, writers*size)
		}
		for chunk := range slices.Chunk(got, size) {
			if bytes.Count(chunk, chunk[:1]) != size {
				t.Error("a Write was torn apart")
			}
		}
	})
}

func TestWriteLargerThanTheBufferArrivesWhole(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 1<<16)
	bubble(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "head ")
		if n, err := io.WriteString(w, big); n != len(big) || err != nil {
			t.Errorf("wrote %d, %v", n, err)
		}
		io.WriteString(w, " tail")
	}, func(t *testing.T, tr *Transport) {
		resp := open(t, tr, t.Context())
		got, err := io.ReadAll(resp.Body)
		if want := "head " + big + " tail"; err != nil || string(got) != want {
			t.Errorf("read %d bytes, %v; want %d", len(got), err, len(want))
		}
	})
}

func TestCancellingTheRequestEndsBothSides(t *testing.T) {
	cause := errors.New("the test had enough")
	t.Run("before the header", func(t *testing.T) {
		bubble(t, func(w http.ResponseWriter, r *http.Request) {
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
		bubble(t, untilGone, func(t *testing.T, tr *Transport) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			resp := open(t, tr, ctx)
			wantRead(t, resp.Body, "first\n")
			wantReadError(t, resp.Body, context.DeadlineExceeded)
		})
	})
	t.Run("what is buffered is not delivered after it", func(t *testing.T) {
		bubble(t, func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "complete")
		}, func(t *testing.T, tr *Transport) {
			ctx, cancel := context.WithCancel(t.Context())
			resp := open(t, tr, ctx)
			cancel()
			wantReadError(t, resp.Body, context.Canceled)
		})
	})
	t.Run("it was cancelled already", func(t *testing.T) {
		bubble(t, func(http.ResponseWriter, *http.Request) {
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
		bubble(t, func(w http.ResponseWriter, r *http.Request) {
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
	bubble(t, func(w http.ResponseWriter, r *http.Request) {
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
	bubble(t, func(w http.ResponseWriter, r *http.Request) { ctx = r.Context() }, func(t *testing.T, tr *Transport) {
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
	bubble(t, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, func(t *testing.T, tr *Transport) {
		go func() {
			time.Sleep(time.Minute)
			tr.Close()
		}()
		if _, err := tr.RoundTrip(newRequest(t, t.Context(), "GET", nil)); err != ErrClosed {
			t.Errorf("RoundTrip fails with %v, want ErrClosed", err)
		}
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
		{"a panic is told and logged", func() { panic("boom") },
			"clientgo: handler panicked serving GET /path?q=1: boom", "clientgo: panic serving GET /path?q=1: boom\n"},
		{"a panic with ErrAbortHandler is quiet", func() { panic(http.ErrAbortHandler) }, "unexpected EOF", ""},
		{"Goexit is told", runtime.Goexit, errHandlerExited.Error(), ""},
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
				bubble(t, func(w http.ResponseWriter, r *http.Request) {
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

func TestResponseControllerFlushesAndHasNoDeadlines(t *testing.T) {
	bubble(t, func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		if err := c.Flush(); err != nil {
			t.Errorf("Flush: %v", err)
		}
		if err := c.EnableFullDuplex(); err != nil {
			t.Errorf("EnableFullDuplex: %v", err)
		}
		_, _, hijack := c.Hijack()
		for name, err := range map[string]error{
			"read deadline":  c.SetReadDeadline(time.Now()),
			"write deadline": c.SetWriteDeadline(time.Now()),
			"hijack":         hijack,
		} {
			if !errors.Is(err, http.ErrNotSupported) {
				t.Errorf("%s: %v", name, err)
			}
		}
		<-r.Context().Done()
		if err := c.Flush(); err != errClientGone {
			t.Errorf("Flush after the client has gone: %v", err)
		}
	}, func(t *testing.T, tr *Transport) {
		open(t, tr, t.Context()).Body.Close()
	})
}

func TestWriterIsDeadAfterTheHandlerReturned(t *testing.T) {
	var kept http.ResponseWriter
	bubble(t, func(w http.ResponseWriter, r *http.Request) { kept = w }, func(t *testing.T, tr *Transport) {
		open(t, tr, t.Context())
		if _, err := kept.Write([]byte("x")); err != errAfterTheAnswer {
			t.Errorf("Write: %v", err)
		}
		if err := http.NewResponseController(kept).Flush(); err != errAfterTheAnswer {
			t.Errorf("Flush: %v", err)
		}
	})
}

// tracked is a request body that knows whether it was closed.
type tracked struct {
	io.Reader
	closed int
}

func (b *tracked) Close() error { b.closed++; return nil }

func TestRequestBodyIsClosedOnce(t *testing.T) {
	boom := errors.New("boom")
	for _, c := range []struct {
		rule    string
		handler http.HandlerFunc
		body    io.Reader
		length  int64
		want    string // RoundTrip's error
	}{
		{"when the handler ignores it", func(http.ResponseWriter, *http.Request) {}, strings.NewReader("x"), 1, ""},
		{"when the handler closes it", func(_ http.ResponseWriter, r *http.Request) {
			r.Body.Close()
			r.Body.Close()
			if _, err := r.Body.Read(make([]byte, 1)); err != http.ErrBodyReadAfterClose {
				t.Errorf("read after close: %v", err)
			}
		}, strings.NewReader("x"), 1, ""},
		{"when it fails, and the client is told", func(_ http.ResponseWriter, r *http.Request) {
			if _, err := r.Body.Read(make([]byte, 1)); err != io.ErrUnexpectedEOF {
				t.Errorf("read: %v", err)
			}
		}, errorReader{boom}, 0, "boom"},
		{"when it is shorter than announced, and the client is told", func(_ http.ResponseWriter, r *http.Request) {
			if got, err := io.ReadAll(r.Body); string(got) != "abc" || err != io.ErrUnexpectedEOF {
				t.Errorf("read %q, %v", got, err)
			}
		}, strings.NewReader("abc"), 5, "http: ContentLength=5 with Body length 3"},
		{"when it is longer than announced, cut", func(_ http.ResponseWriter, r *http.Request) {
			if got, err := io.ReadAll(r.Body); string(got) != "ab" || err != nil {
				t.Errorf("read %q, %v", got, err)
			}
		}, strings.NewReader("abc"), 2, ""},
		{"when the handler panics", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, strings.NewReader("x"), 1, "unexpected EOF"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			bubble(t, c.handler, func(t *testing.T, tr *Transport) {
				body := &tracked{Reader: c.body}
				req := newRequest(t, t.Context(), "POST", body)
				req.ContentLength = c.length
				_, err := tr.RoundTrip(req)
				if got := errorText(err); got != c.want {
					t.Errorf("RoundTrip: %s, want %s", got, c.want)
				}
				tr.Close()
				if body.closed != 1 {
					t.Errorf("closed %d times", body.closed)
				}
			})
		})
	}
	t.Run("when the transport is closed", func(t *testing.T) {
		tr := InProcess(http.NotFoundHandler())
		tr.Close()
		body := &tracked{Reader: strings.NewReader("x")}
		if _, err := tr.RoundTrip(newRequest(t, t.Context(), "POST", body)); err != ErrClosed || body.closed != 1 {
			t.Errorf("RoundTrip: %v, closed %d times", err, body.closed)
		}
	})
}

type errorReader struct{ err error }

func (r errorReader) Read([]byte) (int, error) { return 0, r.err }

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestRequestThatCannotBeSentIsRefused(t *testing.T) {
	for _, c := range []struct {
		rule  string
		spoil func(*http.Request)
		want  string
	}{
		{"no URL", func(r *http.Request) { r.URL = nil }, "clientgo: nil Request.URL"},
		{"no header", func(r *http.Request) { r.Header = nil }, "clientgo: nil Request.Header"},
		{"no host", func(r *http.Request) { r.Host, r.URL.Host = "", "" }, "clientgo: no Host in request URL"},
		{"a bad method", func(r *http.Request) { r.Method = "GET IT" }, `clientgo: invalid method "GET IT"`},
		{"a bad header name", func(r *http.Request) { r.Header["a b"] = []string{"c"} }, `clientgo: invalid header field name "a b"`},
		{"a bad header value, which is not shown", func(r *http.Request) { r.Header.Set("Authorization", "a\nb") },
			`clientgo: invalid header field value for "Authorization"`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			bubble(t, func(http.ResponseWriter, *http.Request) { t.Error("the handler is called") }, func(t *testing.T, tr *Transport) {
				body := &tracked{Reader: strings.NewReader("x")}
				req := newRequest(t, t.Context(), "POST", body)
				c.spoil(req)
				if _, err := tr.RoundTrip(req); errorText(err) != c.want || body.closed != 1 {
					t.Errorf("RoundTrip: %v, body closed %d times; want %s, 1", err, body.closed, c.want)
				}
			})
		})
	}
}
