package clientgo

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// answer is what a client can see of an exchange.
type answer struct {
	RoundTrip string
	Status    string
	Code      int
	Proto     string
	Header    http.Header
	Length    int64
	Body      string
	BodyError string
}

func ask(client *http.Client, base string, c wireCase) answer {
	method := c.method
	if method == "" {
		method = "GET"
	}
	var body io.Reader
	if c.body != "" {
		body = strings.NewReader(c.body)
		if c.chunked {
			body = struct{ io.Reader }{body}
		}
	}
	path := c.path
	if path == "" {
		path = "/"
	}
	req, err := http.NewRequestWithContext(context.Background(), method, base+path, body)
	if err != nil {
		return answer{RoundTrip: err.Error()}
	}
	req.Host = "cluster.test"
	for k, v := range c.header {
		req.Header[k] = v
	}
	resp, err := client.Do(req)
	if err != nil {
		return answer{RoundTrip: errors.Unwrap(err).Error()}
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	// The clock, and what the connection is used for next.
	resp.Header.Del("Date")
	resp.Header.Del("Connection")
	return answer{
		Status: resp.Status, Code: resp.StatusCode, Proto: resp.Proto, Header: resp.Header,
		Length: resp.ContentLength, Body: string(got), BodyError: errorText(err),
	}
}

type wireCase struct {
	rule    string
	method  string
	path    string
	header  http.Header
	body    string
	chunked bool
	handler http.HandlerFunc
}

func flush(w http.ResponseWriter) { w.(http.Flusher).Flush() }

// TestAnswerIsTheSameAsOverASocket drives one table through the transport and
// through a real server, and the requests that handlers see are part of the answers.
func TestAnswerIsTheSameAsOverASocket(t *testing.T) {
	write := func(parts ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			for _, p := range parts {
				if p == "FLUSH" {
					flush(w)
				} else if _, err := io.WriteString(w, p); err != nil {
					panic(http.ErrAbortHandler)
				}
			}
		}
	}
	with := func(h http.Header, status int, next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			for k, v := range h {
				w.Header()[k] = v
			}
			if status != 0 {
				w.WriteHeader(status)
			}
			next(w, r)
		}
	}
	long := strings.Repeat("long ", 1000)

	var cases []wireCase
	add := func(rule string, h http.HandlerFunc) { cases = append(cases, wireCase{rule: rule, handler: h}) }
	add("nothing is 200 with length 0", write())
	add("a flush alone", write("FLUSH"))
	add("short text has a length and a type", write("hello"))
	add("2048 bytes still have a length", write(long[:2048]))
	add("2049 have none", write(long[:2048], "x"))
	add("long, in one piece", write(long))
	add("long, in three pieces", write(long, long, long))
	add("a megabyte", write(strings.Repeat(long, 200)))
	add("flushed, then more", write("one", "FLUSH", "two", "FLUSH", "three"))
	add("the type is sniffed across writes", write("<ht", "ml>", "<body>"))
	add("the type is sniffed from what was flushed", write("<ht", "FLUSH", "ml>"))
	add("the type is sniffed from a short start and a long rest", write("<ht", "ml>"+long))
	add("a flush before anything is written leaves no type", write("FLUSH", "<html>"))
	add("a binary type", write("\x1f\x8b\x08rest"))
	add("a type of its own is kept", with(http.Header{"Content-Type": {"application/json"}}, 0, write("{}")))
	add("a nil type turns sniffing off", with(http.Header{"Content-Type": nil}, 0, write("{}")))
	add("no type for encoded content", with(http.Header{"Content-Encoding": {"br"}}, 0, write("zz")))
	add("an explicit length", with(http.Header{"Content-Length": {"5"}}, 0, write("hello")))
	add("an explicit length, flushed", with(http.Header{"Content-Length": {"5"}}, 0, write("he", "FLUSH", "llo")))
	add("an explicit length not reached", with(http.Header{"Content-Length": {"9"}}, 0, write("hello")))
	add("an explicit length exceeded", with(http.Header{"Content-Length": {"3"}}, 0, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "abc")
		_, err := io.WriteString(w, "d")
		if err != http.ErrContentLength {
			t.Errorf("Write: %v", err)
		}
	}))
	add("a rejected write does not fill the length", with(http.Header{"Content-Length": {"5"}}, 0, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "abc")
		io.WriteString(w, "defg")
	}))
	add("an invalid length is dropped", with(http.Header{"Content-Length": {"many"}}, 0, write("hello")))
	add("a negative length is dropped", with(http.Header{"Content-Length": {"-1"}}, 0, write("hello")))
	add("a transfer encoding is the transport's affair", with(http.Header{"Transfer-Encoding": {"chunked"}}, 0, write("hello")))
	add("names become canonical", with(http.Header{"x-lower": {"a"}, "WARNING": {"299 - \"b\"", "299 - \"c\""}}, 0, write("x")))
	add("one name in two spellings", with(http.Header{"X-Two": {"a"}, "x-two": {"a"}}, 0, write("x")))
	add("values are trimmed and put on one line", with(http.Header{"X-Text": {"  a\nb\r\nc\t"}}, 0, write("x")))
	add("invalid names and empty lists are dropped", with(http.Header{"a b": {"c"}, "X-None": {}}, 0, write("x")))
	add("header changes after WriteHeader do not count", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-A", "early")
		w.WriteHeader(http.StatusCreated)
		w.Header().Set("X-A", "late")
		w.WriteHeader(http.StatusTeapot)
		io.WriteString(w, "x")
	})
	for _, status := range []int{201, 204, 299, 304, 404, 422, 500, 599, 999} {
		h := func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.WriteHeader(status)
			if _, err := io.WriteString(w, "body"); (err == http.ErrBodyNotAllowed) != (status == 204 || status == 304) {
				t.Errorf("%d: Write: %v", status, err)
			}
		}
		add(fmt.Sprintf("status %d", status), h)
		add(fmt.Sprintf("status %d without body", status), with(nil, status, write()))
		add(fmt.Sprintf("status %d, flushed", status), with(http.Header{"Content-Length": {"4"}}, status, write("FLUSH", "FLUSH")))
	}
	add("informational answers do not count", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusProcessing)
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, "x")
	})
	add("aborted after a flush", func(w http.ResponseWriter, r *http.Request) {
		write("begun", "FLUSH")(w, r)
		panic(http.ErrAbortHandler)
	})
	add("gzip that was not requested is left alone", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		io.WriteString(z, long)
		z.Close()
	})

	for _, c := range slices.Clone(cases) { // every answer, requested with HEAD
		if strings.HasSuffix(c.rule, "length is dropped") {
			continue // net/http sends it to a HEAD, and its client breaks the connection
		}
		c.rule, c.method = "HEAD: "+c.rule, "HEAD"
		cases = append(cases, c)
	}

	echo := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		deadline, hasDeadline := r.Context().Deadline()
		json.NewEncoder(w).Encode(map[string]any{
			"Method": r.Method, "URL": r.URL, "Proto": r.Proto, "Major": r.ProtoMajor, "Minor": r.ProtoMinor,
			"Header": r.Header, "Length": r.ContentLength, "TransferEncoding": r.TransferEncoding, "Close": r.Close,
			"Host": r.Host, "RequestURI": r.RequestURI, "TLS": r.TLS, "Form": r.Form, "Trailer": r.Trailer,
			"Body": string(body), "BodyError": errorText(err), "Deadline": deadline, "HasDeadline": hasDeadline,
			"IsNoBody": r.Body == http.NoBody, "RemoteAddr": r.RemoteAddr != "", "Pattern": r.Pattern,
			"Response": r.Response == nil, "GetBody": r.GetBody == nil,
		})
	}
	for _, c := range []wireCase{
		{rule: "a plain GET"},
		{rule: "a query", path: "/a/b?x=1&y=%20+z"},
		{rule: "an empty query", path: "/a?"},
		{rule: "an escaped path", path: "/a%2Fb/c%20d/%C3%A9"},
		{rule: "a path that needs no escape but has one", path: "/%61"},
		{rule: "a fragment", path: "/a#b"},
		{rule: "a double slash", path: "//a//b"},
		{rule: "header names become canonical", header: http.Header{"x-lower": {"a", "b"}}},
		{rule: "header values are trimmed", header: http.Header{"X-A": {" a\t"}}},
		{rule: "its own user agent", header: http.Header{"User-Agent": {"me"}}},
		{rule: "no user agent", header: http.Header{"User-Agent": {""}}},
		{rule: "lying headers", header: http.Header{"Host": {"other"}, "Content-Length": {"99"}, "Trailer": {"X"}}},
		{rule: "a body", method: "POST", body: `{"a":1}`, header: http.Header{"Content-Type": {"application/json"}}},
		{rule: "a body of unknown length", method: "PUT", body: "some", chunked: true},
		{rule: "a POST without body", method: "POST"},
		{rule: "a PATCH without body", method: "PATCH"},
		{rule: "a DELETE without body", method: "DELETE"},
		{rule: "a DELETE with body", method: "DELETE", body: "{}"},
		{rule: "OPTIONS", method: "OPTIONS"},
		{rule: "a method of one's own", method: "FROB"},
	} {
		c.rule, c.handler = "request: "+c.rule, echo
		cases = append(cases, c)
	}

	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewUnstartedServer(c.handler)
			server.Config.ErrorLog = log.New(io.Discard, "", 0)
			server.Start()
			defer server.Close()
			socket := &http.Transport{DisableCompression: true}
			defer socket.CloseIdleConnections()
			tr := InProcess(c.handler)
			defer tr.Close()

			want := ask(&http.Client{Transport: socket}, server.URL, c)
			got := ask(&http.Client{Transport: tr}, InProcessURL, c)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-socket +in process)\n%s", diff)
			}
		})
	}
}
