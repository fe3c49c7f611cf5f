package host

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/fakecluster/fakecluster/internal/place"
)

// exchange is a request of a frame, to a cluster or to the control API.
type exchange struct {
	driver  *driver
	id      uint64
	cluster string // empty: the control API
	request *http.Request
	cancel  context.CancelFunc
	ended   bool // the client has the whole answer, at the latest with the next frame; guarded by the lock of the driver
}

// read reads the request.
func (x *exchange) read(messages *reader) error {
	var fields [4][]byte
	for i := range fields {
		var err error
		if fields[i], err = messages.text(); err != nil {
			return err
		}
	}
	header, err := messages.header()
	if err != nil {
		return err
	}
	body, err := messages.text()
	if err != nil {
		return err
	}
	x.cluster = string(fields[0])
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), driverKey{}, x.driver))
	if x.driver.trial != nil {
		ctx = place.WithCaller(ctx, header.Get(callerHeader))
	}
	header.Del(callerHeader)
	x.cancel = cancel
	x.request, err = http.NewRequestWithContext(ctx, string(fields[1]), "http://"+string(fields[3])+string(fields[2]), bytes.NewReader(bytes.Clone(body)))
	if err != nil {
		return err
	}
	x.request.Header = header
	return nil
}

// callerHeader has the line of code that sends a write of an operator, which is explored.
const callerHeader = "Fakecluster-Caller"

// put adds messages to the next frame.
func (x *exchange) put(add func(out []byte) []byte) {
	x.driver.mu.Lock()
	defer x.driver.mu.Unlock()
	x.driver.out = add(x.driver.out)
}

func (x *exchange) putData(p []byte) {
	x.put(func(out []byte) []byte { return appendText(appendKind(out, answerData, x.id), p) })
}

func (x *exchange) putHead(status int, header http.Header) {
	x.put(func(out []byte) []byte {
		return appendHeader(binary.AppendUvarint(appendKind(out, answerHead, x.id), uint64(status)), header)
	})
}

func (x *exchange) putEnd(text string) {
	x.put(func(out []byte) []byte { x.ended = true; return appendText(appendKind(out, answerEnd, x.id), text) })
}

// serve serves the request.
func (x *exchange) serve() {
	defer x.cancel()
	if x.cluster == "" {
		answer, returned := newRecorder(), false
		defer func() {
			if !returned { // runtime.Goexit, by the test of an exploration
				answer = newRecorder()
				writeError(answer, failed(errTestFailed))
			}
			x.putHead(answer.code, answer.header)
			x.putData(answer.body.Bytes())
			x.putEnd("")
		}()
		x.driver.host.serveRoute(answer, x.request)
		returned = true
		return
	}
	if err := x.forward(); err != nil {
		x.putEnd(err.Error())
		return
	}
	x.putEnd("")
}

// errTestFailed is the answer to a call that has failed the test of an exploration, which has the reason in its log.
var errTestFailed = errors.New("this has failed the run, whose log has the reason")

// forward sends the request to its cluster.
func (x *exchange) forward() error {
	c, err := x.driver.host.living(x.cluster)
	if err != nil {
		return err
	}
	if c.driver != x.driver {
		return errOtherBubble
	}
	answer, err := c.transport.RoundTrip(x.request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	x.putHead(answer.StatusCode, answer.Header)
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	for {
		n, err := answer.Body.Read(*buffer)
		if n > 0 {
			x.putData((*buffer)[:n])
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

// recorder is a ResponseWriter that stores the answer of the control API.
type recorder struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func newRecorder() *recorder { return &recorder{header: http.Header{}, code: http.StatusOK} }

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(code int)        { r.code = code }
func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }
