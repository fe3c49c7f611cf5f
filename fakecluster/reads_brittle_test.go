package fakecluster_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/fakecluster/fakecluster/internal/seedtest"
)

// brittle is a way to the cluster that breaks again and again: each watch ends
// after a few whole events, often in the middle of the next one, and now and then
// a request does not get through. What gets through is unharmed.
type brittle struct {
	http.RoundTripper
	// away is how long the cluster is out of reach after a watch has broken, by
	// the clock of a bubble.
	away time.Duration

	mu     sync.Mutex
	random *rand.Rand
	asked  []string // what got through
	broken int
}

func newBrittle(seed uint64, away time.Duration) *brittle {
	return &brittle{random: seedtest.Source(seed, 1001), away: away}
}

func (b *brittle) wrap(rt http.RoundTripper) http.RoundTripper {
	b.RoundTripper = rt
	return b
}

func (b *brittle) roll(n int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.random.IntN(n)
}

func (b *brittle) RoundTrip(req *http.Request) (*http.Response, error) {
	q := req.URL.Query()
	if req.Method != http.MethodGet || q.Get("watch") != "true" {
		b.note("list")
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
		what, whole = "streaming list", 1+whole+20*b.roll(2) // the bookmark and an event at least; some come to their end
	}
	b.note(what)
	resp, err := b.RoundTripper.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	resp.Body = &brittleBody{
		ReadCloser: resp.Body, way: b,
		whole:  whole,
		tail:   b.roll(2) * b.roll(1000),
		end:    []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET}[b.roll(3)],
		frames: frames{binary: strings.Contains(resp.Header.Get("Content-Type"), "protobuf")},
	}
	return resp, nil
}

func (b *brittle) note(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, what)
}

// lists returns how often a list was asked for, and breaks how many watches broke.
func (b *brittle) lists() (lists, breaks int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, what := range b.asked {
		if what != "watch" {
			lists++
		}
	}
	return lists, b.broken
}

func (b *brittle) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return fmt.Sprintf("%d broken of %q", b.broken, b.asked)
}

// brittleBody lets a number of whole events through, and some of the bytes after
// them.
type brittleBody struct {
	io.ReadCloser
	frames
	way   *brittle
	whole int
	tail  int
	end   error
}

func (b *brittleBody) Read(p []byte) (int, error) {
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

// frames tells where the events of a watch end: JSON with the line, others have
// their length before them.
type frames struct {
	binary bool
	length uint32
	header int // bytes of the length that have been read
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
