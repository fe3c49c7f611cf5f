package clientgo

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

// tracked is a request body that records whether it was closed.
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
		{"when it fails, and the client gets an error", func(_ http.ResponseWriter, r *http.Request) {
			if _, err := r.Body.Read(make([]byte, 1)); err != io.ErrUnexpectedEOF {
				t.Errorf("read: %v", err)
			}
		}, errorReader{boom}, 0, "boom"},
		{"when it is shorter than announced, and the client gets an error", func(_ http.ResponseWriter, r *http.Request) {
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
			inBubble(t, c.handler, func(t *testing.T, tr *Transport) {
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
			inBubble(t, func(http.ResponseWriter, *http.Request) { t.Error("the handler is called") }, func(t *testing.T, tr *Transport) {
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
