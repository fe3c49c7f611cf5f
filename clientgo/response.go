package clientgo

import (
	"fmt"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// responseWriter is the handler's end of an exchange. It has Flush and FlushError,
// and WriteString, but no Hijack, for which http.ResponseController answers
// http.ErrNotSupported, and no deadlines.
type responseWriter struct{ x *exchange }

func (w responseWriter) Header() http.Header { return w.x.header }

// WriteHeader fixes the answer's header. A second call is ignored, and so are the
// informational codes, which no client of an API server looks at.
func (w responseWriter) WriteHeader(code int) {
	if code < 100 || code > 999 {
		panic(fmt.Sprintf("invalid WriteHeader code %v", code)) // net/http's words
	}
	if code < 200 && code != http.StatusSwitchingProtocols {
		return
	}
	w.x.mu.Lock()
	defer w.x.mu.Unlock()
	if w.x.status == 0 {
		w.x.setHeader(code)
	}
}

func (w responseWriter) Write(p []byte) (int, error) { return w.x.write(p) }

func (w responseWriter) WriteString(s string) (int, error) { return w.x.write([]byte(s)) }

func (w responseWriter) Flush() { w.FlushError() }

func (w responseWriter) FlushError() error {
	x := w.x
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.failed != nil {
		return x.failed
	}
	if x.returned {
		return errAfterTheAnswer
	}
	if x.status == 0 {
		x.setHeader(http.StatusOK)
	}
	x.release(nil)
	return nil
}

// SetReadDeadline and SetWriteDeadline return http.ErrNotSupported to http.ResponseController,
// which allocates two values for its error if these methods do not exist.
func (w responseWriter) SetReadDeadline(time.Time) error { return http.ErrNotSupported }

// SetWriteDeadline is SetReadDeadline's counterpart.
func (w responseWriter) SetWriteDeadline(time.Time) error { return http.ErrNotSupported }

// EnableFullDuplex returns nil to http.ResponseController: a handler may always read the request
// while it writes the answer.
func (w responseWriter) EnableFullDuplex() error { return nil }

func (x *exchange) write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.failed != nil {
		return 0, x.failed
	}
	if x.returned {
		return 0, errAfterTheAnswer
	}
	if x.status == 0 {
		x.setHeader(http.StatusOK)
	}
	if len(p) == 0 {
		return 0, nil
	}
	if !bodyAllowed(x.status) {
		return 0, http.ErrBodyNotAllowed
	}
	if x.length >= 0 && x.written+int64(len(p)) > x.length {
		return 0, http.ErrContentLength
	}
	x.written += int64(len(p))
	if !x.released {
		if x.buffered.Len()+len(p) <= heldBack {
			return x.buffered.Write(p)
		}
		x.release(p)
	}
	if !x.hasBody() {
		return len(p), nil
	}
	defer x.changed.Broadcast()
	if len(p) < lentAtOnce && len(x.lent) == 0 && x.buffered.Len()+len(p) <= bufferLimit {
		return x.buffered.Write(p)
	}
	return x.lend(p)
}

// lend lets the client read p without a copy into the buffer, and waits until it has read all of p. x.mu is
// held, except while it waits.
func (x *exchange) lend(p []byte) (int, error) {
	for len(x.lent) > 0 { // another goroutine of the handler is writing
		x.changed.Wait()
	}
	if x.failed != nil {
		return 0, x.failed
	}
	x.lent = p
	x.changed.Broadcast()
	for len(x.lent) > 0 {
		x.changed.Wait()
	}
	if x.failed != nil {
		return 0, x.failed
	}
	return len(p), nil
}

// setHeader copies the handler's header. Later changes have no effect. x.mu is held.
func (x *exchange) setHeader(code int) {
	x.status = code
	x.sent = wireHeader(x.header)
	types, set := x.header["Content-Type"]
	x.untyped = set && len(types) == 0
	if s := x.sent.Get("Content-Length"); s != "" {
		if n, err := strconv.ParseInt(s, 10, 64); err == nil && n >= 0 {
			x.length = n
		}
	}
}

// release gives the header to the client. It is completed by the rules of net/http from the
// bytes received so far: those buffered, followed by next. x.mu is held.
func (x *exchange) release(next []byte) {
	if x.released {
		return
	}
	x.released = true
	defer x.changed.Broadcast()

	h := x.sent
	_, transferEncoding := h["Transfer-Encoding"]
	delete(h, "Transfer-Encoding")
	delete(h, "Trailer")
	if !bodyAllowed(x.status) {
		delete(h, "Content-Length")
		if x.status == http.StatusNotModified {
			delete(h, "Content-Type")
		}
		if x.length = 0; x.client.Method == http.MethodHead {
			x.length = -1 // as in the client of net/http
		}
		return
	}

	// The handler of a HEAD may have written nothing because it is a HEAD.
	start := x.buffered.Bytes()
	if x.returned && !transferEncoding && h["Content-Length"] == nil && (len(start) > 0 || x.client.Method != http.MethodHead) {
		x.length = int64(len(start))
		h["Content-Length"] = []string{strconv.Itoa(len(start))}
	}
	if x.length < 0 || transferEncoding {
		x.length = -1
		delete(h, "Content-Length") // it is not a number, or contradicts the encoding
	}

	if _, typed := h["Content-Type"]; !typed && !x.untyped && !transferEncoding && h.Get("Content-Encoding") == "" {
		const sniffed = 512 // http.DetectContentType reads as many bytes
		if len(start) == 0 {
			start = next
		} else if len(start) < sniffed {
			start = append(start[:len(start):len(start)], next[:min(len(next), sniffed)]...)
		}
		if len(start) > 0 {
			h["Content-Type"] = []string{http.DetectContentType(start)}
		}
	}
	if !x.hasBody() {
		x.drop()
	}
}

// hasBody reports whether the answer has a body. x.status is set.
func (x *exchange) hasBody() bool {
	return x.client.Method != http.MethodHead && bodyAllowed(x.status)
}

func bodyAllowed(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}

// wireHeader copies a header in the form in which it arrives over a wire: names in canonical
// form, values trimmed and on one line, invalid names dropped.
func wireHeader(h http.Header) http.Header {
	n := 0
	for _, values := range h {
		n += len(values)
	}
	found := make([]string, 0, n)
	out := make(http.Header, len(h)+2) // often a length and a type are added
	for name, values := range h {
		if len(values) == 0 || !httpguts.ValidHeaderFieldName(name) {
			continue
		}
		start := len(found)
		for _, v := range values {
			if strings.ContainsAny(v, "\r\n") {
				v = newlineToSpace.Replace(v)
			}
			found = append(found, textproto.TrimString(v))
		}
		name = http.CanonicalHeaderKey(name)
		if earlier, twice := out[name]; twice { // the same name in another spelling
			out[name] = append(earlier, found[start:]...)
		} else {
			out[name] = found[start:len(found):len(found)]
		}
	}
	return out
}

var newlineToSpace = strings.NewReplacer("\n", " ", "\r", " ")
