package history

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/inspect"
)

func everything() int64 { return 1 }

// Counts are of all requests, also of those that run, those that are forgotten, and those whose
// client was not among the first.
func TestStatsCountEveryRequestOnce(t *testing.T) {
	r := New(nil, everything)
	one := func(agent string) {
		e := r.Begin(inspect.Request{Verb: "update", Resource: "websites", UserAgent: agent, Received: 3}, 0)
		e.Committed(7)
		e.Sent(5, 0)
		e.Responded(200, false)
		e.End()
		e.End() // a second end is none
	}
	for i := range MaxCounted + 100 {
		one(fmt.Sprint("client-", i))
	}
	running := r.Begin(inspect.Request{Verb: "watch", UserAgent: "client-0"}, 0)
	running.Sent(10, 2)
	var sum inspect.Counts
	for _, c := range r.Stats() {
		sum.Add(c)
	}
	const n = MaxCounted + 100
	if want := (inspect.Counts{Requests: n + 1, Revisions: n, Received: 3 * n, Sent: 5*n + 10, Events: 2}); sum != want {
		t.Errorf("all: %+v, want %+v", sum, want)
	}
	if others := r.Stats()[inspect.Counted{}]; others.Requests != 101 {
		t.Errorf("others: %+v", others)
	}
	if len(r.Requests()) != MaxRequests {
		t.Errorf("%d requests", len(r.Requests()))
	}
}

// The requests that are kept and those that are counted are the same, also when some run while others are forgotten,
// and no two of them have the same number.
func TestForgottenRequestsAreNeitherKeptNorCounted(t *testing.T) {
	r := New(nil, everything)
	r.Begin(inspect.Request{Verb: "get"}, 0).End()
	watch := r.Begin(inspect.Request{Verb: "watch", Received: 1, Path: "/watch"}, 0)
	watch.Sent(100, 10)
	answered := r.Begin(inspect.Request{Verb: "list"}, 0) // whose client has the answer before it ends
	answered.Responded(200, false)
	slow := r.Begin(inspect.Request{Verb: "deletecollection"}, 0)
	slow.Committed(7)

	r.Forget()
	answered.End()
	watch.Sent(5, 1)
	slow.Committed(8)
	slow.End()
	r.Begin(inspect.Request{Verb: "get"}, 0).End()

	got := fmt.Sprint(r.Stats())
	want := fmt.Sprint(inspect.Stats{
		{Verb: "watch"}: {Requests: 1, Events: 1, Sent: 5}, {Verb: "deletecollection"}: {Requests: 1, Revisions: 1}, {Verb: "get"}: {Requests: 1},
	})
	if got != want {
		t.Errorf("counted: %s\nwant:    %s", got, want)
	}
	var kept []string
	bytes := 0
	for _, q := range r.Requests() {
		kept = append(kept, fmt.Sprint(q.Number, " ", q.Verb, " ", q.Events))
		bytes += (&Entry{request: q}).texts()
	}
	if got, want := fmt.Sprint(kept), "[2 watch 11 4 deletecollection 0 5 get 0]"; got != want {
		t.Errorf("kept: %s, want %s", got, want)
	}
	if r.bytes != bytes {
		t.Errorf("%d bytes, want %d", r.bytes, bytes)
	}

	watch.End()
	r.Restart()
	r.Begin(inspect.Request{Verb: "get"}, 0).End()
	if requests := r.Requests(); len(requests) != 1 || requests[0].Number != 1 {
		t.Errorf("after a restart: %+v", requests)
	}
}

func TestAWriteThatMayNotHappenIsRecordedWithItsFirstRevision(t *testing.T) {
	r := New(nil, everything)
	e := r.Prepare(inspect.Request{Verb: "update", User: "quota"})
	if len(r.Requests()) != 0 {
		t.Error("it is there before")
	}
	e.Committed(5)
	e.Responded(200, false)
	e.End()
	if requests := r.Requests(); len(requests) != 1 || requests[0].Revision != 5 || requests[0].Number != 1 {
		t.Errorf("%+v", requests)
	}
	if by, ok := r.Writer(5); !ok || by.User != "quota" || by.Request != 1 {
		t.Errorf("%+v", by)
	}
}

func TestWritersAreKeptAsLongAsTheirRevisions(t *testing.T) {
	oldest := int64(1)
	r := New(nil, func() int64 { return oldest })
	for i := int64(2); i <= 3*chunk; i++ {
		e := r.Begin(inspect.Request{Verb: "update", User: fmt.Sprint("user-", i)}, 0)
		e.Committed(i)
		e.End()
		oldest = max(1, i-chunk)
	}
	if by, ok := r.Writer(2*chunk - 1); !ok || by.User != fmt.Sprint("user-", 2*chunk-1) {
		t.Errorf("a revision that is remembered: %+v", by)
	}
	if _, ok := r.Writer(chunk - 1); ok {
		t.Error("the writer of a revision that is long gone")
	}
	if _, ok := r.Writer(1); ok {
		t.Error("nobody has made the first revision")
	}
	fork := r.Fork(2*chunk+10, everything)
	e := r.Begin(inspect.Request{Verb: "update", User: "origin"}, 0)
	e.Committed(2*chunk + 11)
	if by, ok := fork.Writer(2*chunk + 10); !ok || by.Request != 0 {
		t.Errorf("before the fork: %+v", by)
	}
	if by, ok := fork.Writer(2*chunk + 11); ok {
		t.Errorf("after the fork: %+v", by)
	}
}

func TestTextsAreBounded(t *testing.T) {
	r := New(nil, everything)
	for range 50 {
		e := r.Begin(inspect.Request{Path: strings.Repeat("x", 1<<20)}, 0)
		e.Failed(&metav1.Status{Reason: "Invalid", Message: strings.Repeat("y", 1<<20)})
		e.Webhook(inspect.WebhookCall{Message: strings.Repeat("z", 1<<20)})
		e.End()
	}
	total := 0
	requests := r.Requests()
	for i := range requests {
		total += (&Entry{request: requests[i]}).texts()
	}
	if total > MaxBytes || total != r.bytes || len(requests) < 5 {
		t.Errorf("%d requests with %d bytes of texts, counted as %d", len(requests), total, r.bytes)
	}
}

func TestNamesAreBounded(t *testing.T) {
	r := New(nil, everything)
	long := strings.Repeat("ä", 1<<20)
	e := r.Begin(inspect.Request{Verb: long, Resource: long, Group: long, Subresource: long, UserAgent: long}, 0)
	e.User(long)
	e.Failed(&metav1.Status{Reason: "Invalid", Message: long})
	e.End()
	for counted := range r.Stats() {
		if n := len(counted.User) + len(counted.UserAgent) + len(counted.Verb) + len(counted.Group) + len(counted.Resource) + len(counted.Subresource); n > 6*maxName {
			t.Errorf("the key of a count has %d bytes", n)
		}
	}
	if q := r.Requests()[0]; len(q.User) != maxName || len(q.UserAgent) != maxName || len(q.Message) > maxMessage+3 || !utf8.ValidString(q.Message+q.User) {
		t.Errorf("%d %d %d", len(q.User), len(q.UserAgent), len(q.Message))
	}
}

// With the race detector, this is a test that nothing is shared without a lock.
func TestSeveralGoroutinesTellOfRequests(t *testing.T) {
	r := New(nil, everything)
	var workers sync.WaitGroup
	for i := range 8 {
		workers.Go(func() {
			for j := range 500 {
				e := r.Begin(inspect.Request{Verb: "get"}, 0)
				e.User("jane")
				e.Webhook(inspect.WebhookCall{Outcome: "allowed"})
				e.Failed(&metav1.Status{Reason: "NotFound", Message: "gone"})
				e.Responded(404, j%2 == 0)
				if i == 0 {
					e.Committed(int64(j + 2))
				}
				e.End()
			}
		})
		workers.Go(func() {
			for range 20 {
				_, _ = r.Requests(), r.Stats()
				r.Fork(100, everything).Writer(50)
			}
		})
	}
	workers.Wait()
	if n := len(r.Requests()); n != 4000 {
		t.Errorf("%d requests", n)
	}
	var none *Entry // a request without a history
	none.User("")
	none.Failed(&metav1.Status{})
	none.Responded(1, false)
	none.Unchanged()
	none.Committed(1)
	none.Webhook(inspect.WebhookCall{})
	none.Sent(1, 1)
	none.End()
	if none.Number() != 0 {
		t.Error("a number")
	}
}

// The parts of a path keep the first line of the request in memory, which may have a megabyte.
func TestFirstLinesOfRequestsAreBounded(t *testing.T) {
	r := New(nil, everything)
	for range 50 {
		r.Begin(inspect.Request{Verb: strings.Repeat("a", 1<<20), Path: "/"}, 1<<20+1).End()
	}
	requests := r.Requests()
	if len(requests) > MaxBytes>>20 {
		t.Errorf("%d lines of a megabyte are kept", len(requests))
	}
	for _, q := range requests {
		if len(q.Verb) > maxName {
			t.Errorf("a verb of %d bytes is kept", len(q.Verb))
		}
	}
}

// A message may make the oldest request too much, which may be the one that gets it.
func TestTheBytesAreThoseOfTheTexts(t *testing.T) {
	r := New(nil, everything)
	oldest := r.Begin(inspect.Request{Path: strings.Repeat("x", 100_000)}, 0)
	for range (MaxBytes - 100_000) / 100_000 {
		r.Begin(inspect.Request{Path: strings.Repeat("x", 100_000)}, 0).End()
	}
	r.Begin(inspect.Request{Path: strings.Repeat("x", MaxBytes-r.bytes-10)}, 0).End()
	oldest.Failed(&metav1.Status{Reason: "Invalid", Message: strings.Repeat("y", maxMessage)})
	total := 0
	requests := r.Requests()
	for i := range requests {
		total += (&Entry{request: requests[i]}).texts()
	}
	if total != r.bytes {
		t.Errorf("%d bytes of texts, counted as %d", total, r.bytes)
	}
}
