package clientgo

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestHeaderLeavesWithTheFirstFlush(t *testing.T) {
	inBubble(t, func(w http.ResponseWriter, r *http.Request) {
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
			inBubble(t, func(w http.ResponseWriter, r *http.Request) {
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
	inBubble(t, func(w http.ResponseWriter, r *http.Request) {
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
	inBubble(t, func(w http.ResponseWriter, r *http.Request) {
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
			inBubble(t, h, func(t *testing.T, tr *Transport) {
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
	inBubble(t, func(w http.ResponseWriter, r *http.Request) {
		var workers sync.WaitGroup
		for i := range writers {
			workers.Go(func() { w.Write(bytes.Repeat([]byte{byte('a' + i)}, size)) })
		}
		workers.Wait()
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
	inBubble(t, func(w http.ResponseWriter, r *http.Request) {
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

func TestResponseControllerFlushesAndHasNoDeadlines(t *testing.T) {
	inBubble(t, func(w http.ResponseWriter, r *http.Request) {
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
	inBubble(t, func(w http.ResponseWriter, r *http.Request) { kept = w }, func(t *testing.T, tr *Transport) {
		open(t, tr, t.Context())
		if _, err := kept.Write([]byte("x")); err != errAfterTheAnswer {
			t.Errorf("Write: %v", err)
		}
		if err := http.NewResponseController(kept).Flush(); err != errAfterTheAnswer {
			t.Errorf("Flush: %v", err)
		}
	})
}
