package consistency

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

// FlakyTransport is a transport that breaks again and again. Each watch ends after a few whole
// events, often in the middle of the next one, and now and then a request does not get
// through at all. It does not change what gets through.
type FlakyTransport struct {
	http.RoundTripper
	// away is how long the server is out of reach after a watch has broken, by the clock
	// of a bubble.
	away time.Duration

	mu     sync.Mutex
	random *rand.Rand
	sent   []string // the requests that got through
	broken int
}

// NewFlakyTransport returns a transport that breaks as the seed decides. After each break the
// server is out of reach for a while.
func NewFlakyTransport(seed uint64, away time.Duration) *FlakyTransport {
	return &FlakyTransport{random: seedtest.Source(seed, 1001), away: away}
}

// Wrap makes b send its requests through rt. It is for the Wrap method of a rest.Config.
func (b *FlakyTransport) Wrap(rt http.RoundTripper) http.RoundTripper {
	b.RoundTripper = rt
	return b
}

func (b *FlakyTransport) roll(n int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.random.IntN(n)
}

func (b *FlakyTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	q := req.URL.Query()
	if req.Method != http.MethodGet || q.Get("watch") != "true" {
		b.record("list")
		return b.RoundTripper.RoundTrip(req)
	}
	b.mu.Lock()
	again := b.broken > 0
	b.mu.Unlock()
	if again && b.away > 0 {
		select {
		case <-time.After(b.away):
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
	}
	if b.roll(4) == 0 {
		return nil, syscall.ECONNREFUSED
	}
	what, whole := "watch", 1+b.roll(5)
	if q.Get("sendInitialEvents") == "true" {
		what, whole = "streaming list", 1+whole+20*b.roll(2) // at least the bookmark and an event; some lists come to their end
	}
	b.record(what)
	resp, err := b.RoundTripper.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	resp.Body = &flakyBody{
		ReadCloser: resp.Body, way: b,
		whole:  whole,
		tail:   b.roll(2) * b.roll(1000),
		end:    []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET}[b.roll(3)],
		frames: frames{binary: strings.Contains(resp.Header.Get("Content-Type"), "protobuf")},
	}
	return resp, nil
}

func (b *FlakyTransport) record(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sent = append(b.sent, what)
}

// Lists returns how many lists were requested, streaming ones too, and how many watches
// broke.
func (b *FlakyTransport) Lists() (lists, breaks int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, what := range b.sent {
		if what != "watch" {
			lists++
		}
	}
	return lists, b.broken
}

func (b *FlakyTransport) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return fmt.Sprintf("%d broken of %q", b.broken, b.sent)
}

// flakyBody lets a number of whole events through, and then some bytes of the next one.
type flakyBody struct {
	io.ReadCloser
	frames
	way   *FlakyTransport
	whole int
	tail  int
	end   error
}

func (b *flakyBody) Read(p []byte) (int, error) {
	if b.whole == 0 && b.tail == 0 {
		b.way.mu.Lock()
		b.way.broken++
		b.way.mu.Unlock()
		return 0, b.end
	}
	n, err := b.ReadCloser.Read(p)
	for i, c := range p[:n] {
		switch {
		case b.whole > 0:
			if b.ends(c) {
				b.whole--
			}
		case b.tail > 0:
			b.tail--
		default:
			return i, nil
		}
	}
	return n, err
}

// frames finds where the events of a watch end. In JSON an event is a line. In protobuf the
// length stands before each event, in four bytes.
type frames struct {
	binary bool
	length uint32
	header int // how many bytes of the length have been read
}

func (f *frames) ends(c byte) bool {
	if !f.binary {
		return c == '\n'
	}
	if f.header < 4 {
		f.length = f.length<<8 | uint32(c)
		f.header++
		if f.header == 4 && f.length == 0 {
			f.header = 0
			return true
		}
		return false
	}
	f.length--
	if f.length == 0 {
		f.header = 0
		return true
	}
	return false
}
