package fakecluster

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/bubble"
	"github.com/fakecluster/fakecluster/internal/server/console"
)

// standstillLimits bound the requests at one moment of a bubble's time. Without them, a controller that
// writes endlessly would hang its test: it never waits, so time stands still and the sleep of the test never
// ends.
type standstillLimits struct {
	objectWrites int // of one object
	writes       int // of all objects
	objectReads  int // of one path
	reads        int // of all paths, without a write among them
	requests     int // reads and writes
	later        int // requests after the mistake was found, until the process ends
}

// usualStandstill allows the start of 10,000 pods, which is 90,000 writes.
var usualStandstill = standstillLimits{objectWrites: 2_000, writes: 200_000, objectReads: 50_000, reads: 100_000, requests: 1_000_000, later: 100_000}

// endlessPause is how long each request takes after the mistake was found, so that time passes and the test
// can end.
const endlessPause = time.Second

// standstill counts the requests since the time of a bubble last advanced.
type standstill struct {
	limits standstillLimits

	mu       sync.Mutex
	last     time.Time
	requests int
	writes   int
	objects  map[string]int // writes of objects, by their path
	onlyRead int            // reads since the last write
	reads    map[string]int // by path
	mistake  error          // nil: there is none
	later    int            // requests since then
}

// count counts a request. Once there are too many, it returns the mistake, and whether this request is the
// first one that is too many.
func (s *standstill) count(c *Cluster, req *http.Request) (mistake error, first bool) {
	write := req.Method != http.MethodGet && req.Method != http.MethodHead
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mistake != nil {
		if s.later++; s.later == s.limits.later+1 {
			c.endTest(s.mistake)
		}
		return s.mistake, false
	}
	if !now.Equal(s.last) {
		s.last, s.requests, s.writes, s.onlyRead = now, 0, 0, 0
		clear(s.objects)
		clear(s.reads)
	}
	s.requests++
	object, read := 0, 0
	if !write {
		s.onlyRead++
		s.reads[req.URL.Path]++
		read = s.reads[req.URL.Path]
	}
	if write {
		s.writes++
		s.onlyRead = 0
		if req.Method != http.MethodPost { // a test may create many objects
			s.objects[req.URL.Path]++
			object = s.objects[req.URL.Path]
		}
	}
	last := fmt.Sprintf("%s %s from %s", req.Method, req.URL.Path, inspect.ClientName("", req.UserAgent()))
	const still = "time in the synctest bubble stands still, because "
	switch {
	case object > s.limits.objectWrites:
		endless, found := console.EndlessWrites(c.server, s.limits.objectWrites/2)
		if !found { // the writes were rejected, or changed nothing
			endless = fmt.Sprintf("%s (%d times)", last, object)
		}
		s.mistake = fmt.Errorf(still+"of endless writes to %s. Write only what has changed: if !equality.Semantic.DeepEqual(before, after) { … }", endless)
	case s.writes > s.limits.writes:
		s.mistake = fmt.Errorf(still+"%d writes came at the same moment, the last of them %s. If this is on purpose, write time.Sleep(time.Millisecond) between them", s.writes, last)
	case read > s.limits.objectReads:
		s.mistake = fmt.Errorf(still+"%s came %d times at the same moment. Write time.Sleep(time.Millisecond) between two reads of a loop, or c.WaitFor instead of the loop", last, read)
	case s.onlyRead > s.limits.reads:
		s.mistake = fmt.Errorf(still+"%d reads came at the same moment and nothing was written, the last of them %s. Write time.Sleep(time.Millisecond) between two reads of a loop, or c.WaitFor instead of the loop", s.onlyRead, last)
	case s.requests > s.limits.requests:
		s.mistake = fmt.Errorf(still+"%d requests came at the same moment, the last of them %s. Write time.Sleep(time.Millisecond) between two reads of a loop", s.requests, last)
	}
	return s.mistake, s.mistake != nil
}

// found returns the mistake, or nil.
func (s *standstill) found() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mistake
}

// endEndless returns a handler that ends endless requests in a bubble. It fails the test, rejects all later
// writes, and lets a second pass in each later request, so that the test can end. If the test loops
// nevertheless, it ends the process of the test, because go test shows the log of a test only at its end.
func (c *Cluster) endEndless(next http.Handler) http.Handler {
	if !c.home.inBubble {
		return next
	}
	counts := &standstill{limits: c.settings.limits.standstill, objects: map[string]int{}, reads: map[string]int{}}
	c.home.counts = counts
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		mistake, first := counts.count(c, req)
		if mistake == nil {
			next.ServeHTTP(w, req)
			return
		}
		if first {
			c.fail(mistake)
		}
		pause := time.NewTimer(endlessPause)
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-req.Context().Done():
			return
		}
		if req.Method == http.MethodGet || req.Method == http.MethodHead {
			next.ServeHTTP(w, req)
			return
		}
		status := apierrors.NewInternalError(fmt.Errorf("fakecluster: %w", mistake)).Status()
		status.APIVersion, status.Kind = "v1", "Status"
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusInternalServerError)
		_ = json.NewEncoder(w).Encode(status)
	})
}

// fail fails the test of the cluster, which may be in another process. Without a test, Close returns the error.
func (c *Cluster) fail(err error) {
	if c.test != nil {
		c.TB(c.test).Errorf("fakecluster: %v", err)
		return
	}
	if d, ok := bubble.CurrentDriver(); ok && d.Fail != nil {
		d.Fail(err.Error())
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrong = append(c.wrong, err)
}

// endTest ends the process of the test, which failed before and goes on.
func (c *Cluster) endTest(mistake error) {
	text := fmt.Sprintf("%s: %v", c.testName(), mistake)
	if d, ok := bubble.CurrentDriver(); ok {
		d.End(text)
		return
	}
	go panic(text) // in a goroutine of its own, where nothing recovers it
	select {}
}
