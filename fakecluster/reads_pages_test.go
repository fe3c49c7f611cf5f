package fakecluster_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/faults"
	"github.com/fakecluster/fakecluster/internal/testing/consistency"
	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

// All pages of a list show one state, whatever is written between them and while they are
// read. With faults, first pages are stale, pages are refused and late, and the history is
// compacted in the middle of a list, so that it begins anew.
func TestPagesAreOfOneRevisionUnderConcurrentWrites(t *testing.T) {
	t.Run("over HTTP", func(t *testing.T) { // the scheduler decides, so that nothing can be shortened
		pagesAreOfOneRevision(t, &consistency.Writers{Seed: seedtest.Seed(t), Count: 4, Each: 60})
	})
	t.Run("with faults and compaction", func(t *testing.T) {
		struck := map[string]int{}
		replayed(t, writing(seedtest.Seed(t), true), func(t testing.TB, ws *consistency.Writers) {
			struck = pagesAreOfOneRevision(t, ws, fakecluster.InProcess(), fakecluster.WithSeed(ws.Seed))
		})
		t.Log(struck)
		for fault, times := range struck {
			if times == 0 {
				t.Errorf("never: %s", fault)
			}
		}
	})
}

// pagesAreOfOneRevision lists in pages while writers write, and returns how often each fault has struck.
func pagesAreOfOneRevision(t testing.TB, writers *consistency.Writers, options ...fakecluster.Option) map[string]int {
	c, err := fakecluster.New(options...)
	must(t, err)
	defer c.Close()
	define(t, c, consistency.Definition())
	w := newWire(t, c)
	start, err := consistency.Revision(t.Context(), w)
	must(t, err)
	paging := w
	writers.Wire = w
	calm := func() {}
	var injected []faults.Injection
	if writers.Faults {
		writers.Wire.Agent, paging.Agent = "writer", "paging"
		faultsOfWrites(c, "writer")
		injected = injectAll(c, paging.Agent,
			faults.Fault{Verb: "list", Probability: 0.5, Latency: 5 * time.Second},
			faults.Fault{Verb: "list", Probability: 0.1, Effect: faults.Unavailable()},
			faults.Fault{Verb: "list", Probability: 0.1, Effect: faults.InternalError(consistency.OnPurpose)},
			faults.Fault{Verb: "list", Probability: 0.1, Effect: faults.TooManyRequests(0)},
			faults.Fault{Verb: "list", Probability: 0.5, Effect: faults.StaleRead(10)},
		)
		calm = expireWatches(t, c, writers.Seed, time.Minute, paging.Agent, 1)
	}
	var workers sync.WaitGroup
	var h *consistency.History
	workers.Go(func() {
		var err error
		if h, err = consistency.Record(t.Context(), w, start); err != nil {
			t.Error(err)
		}
	})
	type pages struct {
		consistency.Query
		limit, revision int
		objects         []string
	}
	var lists []*pages
	for n := range 40 {
		l := &pages{Query: consistency.Query{Version: "v1", Faults: writers.Faults}, limit: 1 + n%5}
		if n%4 == 1 {
			l.Namespace = "default"
		}
		if n%4 == 2 {
			l.Labels = "parity=even"
		}
		if n%4 == 3 {
			l.Color = "red"
		}
		lists = append(lists, l)
		gate := writers.After(n * 6)
		workers.Go(func() {
			<-gate
			var err error
			if l.revision, l.objects, err = l.Pages(t.Context(), paging, l.limit); err != nil {
				t.Errorf("pages of %d: %v", l.limit, err)
			}
		})
	}
	writers.Run(t)
	workers.Wait()
	calm()
	must(t, c.Close())
	if t.Failed() {
		return nil
	}
	for _, l := range lists {
		var want []string
		for _, e := range h.At(l.revision) {
			if l.Matches(e) {
				want = append(want, e.Text)
			}
		}
		equal(t, fmt.Sprintf("pages of %d at %d, %+v", l.limit, l.revision, l.Query), l.objects, want)
	}
	struck := map[string]int{}
	for _, f := range injected {
		struck[f.Fault().String()] = f.Fired()
	}
	return struck
}

// When the revision of a continue token has been compacted, the answer is 410 and brings
// another token. It goes on from the same key, with what is there now.
func TestContinueAfterCompactionIsInconsistent(t *testing.T) {
	c := defined(t, fakecluster.InProcess(), fakecluster.WithWatchHistory(3, 0))
	p := &pastAndPresent{Wire: newWire(t, c), moments: map[string]string{}, tokens: map[string]string{"": ""}}
	crontabs := inDefault(c)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		create(t, crontabs, cronTab(name))
	}
	current := func() string { return list(t, crontabs).GetResourceVersion() }
	step := func(what string, got, want listed) {
		t.Helper()
		if got != want {
			t.Errorf("%s:\n got %+v\nwant %+v", what, got, want)
		}
	}
	first := current()
	step("first page", p.list(t, "", "", 2, ""), listed{code: 200, names: "ab", revision: first, more: true, left: "3"})
	remove(t, crontabs, "c")
	create(t, crontabs, cronTab("b2"))
	step("a page of the past", p.list(t, "", "", 2, "next"), listed{code: 200, names: "cd", revision: first, more: true, left: "1"})
	must(t, crontabs.Delete(t.Context(), "e", metav1.DeleteOptions{}))
	create(t, crontabs, cronTab("x"))
	step("compacted", p.list(t, "", "", 2, "next"), listed{code: 410, message: tooOldToken, more: true})
	now := current()
	step("the inconsistent rest", p.list(t, "", "", 2, "next"), listed{code: 200, names: "x", revision: now})

	step("first page again", p.list(t, "", "", 1, ""), listed{code: 200, names: "a", revision: now, more: true, left: "4"})
	for _, name := range []string{"f", "g", "h", "i"} {
		create(t, crontabs, cronTab(name))
	}
	step("compacted again", p.list(t, "", "", 1, "next"), listed{code: 410, message: tooOldToken, more: true})
	now = current()
	step("an inconsistent page", p.list(t, "", "", 1, "next"), listed{code: 200, names: "b", revision: now, more: true, left: "7"})
	create(t, crontabs, cronTab("c"))
	step("which is consistent from then on", p.list(t, "", "", 100, "next"), listed{code: 200, names: "b2dfghix", revision: now})
}

func TestPagerReadsAllOfOneRevision(t *testing.T) {
	c := defined(t, fakecluster.InProcess())
	crontabs := inDefault(c)
	var want []string
	for n := range 25 {
		create(t, crontabs, cronTab(nameOf(n)))
		want = append(want, nameOf(n))
	}
	requests := 0
	p := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		requests++
		l, err := crontabs.List(ctx, options)
		// Between the pages, the past and the future of the list change.
		if _, err := crontabs.Create(ctx, cronTab(fmt.Sprint("new-", requests)), metav1.CreateOptions{}); err != nil {
			return nil, err
		}
		if err := crontabs.Delete(ctx, nameOf(25-requests), metav1.DeleteOptions{}); err != nil {
			return nil, err
		}
		return l, err
	})
	p.PageSize = 7
	var got []string
	must(t, p.EachListItem(t.Context(), metav1.ListOptions{}, func(o runtime.Object) error {
		got = append(got, o.(*unstructured.Unstructured).GetName())
		return nil
	}))
	equal(t, "objects", got, want)
	equal(t, "requests", requests, 4)
}

func TestPagerFallsBackToAFullListAfterCompaction(t *testing.T) {
	c := defined(t, fakecluster.InProcess(), fakecluster.WithWatchHistory(5, 0))
	crontabs := inDefault(c)
	for n := range 10 {
		create(t, crontabs, cronTab(nameOf(n)))
	}
	var requests []string
	made := 10
	page := func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		l, err := crontabs.List(ctx, options)
		requests = append(requests, fmt.Sprintf("limit %d, continue %v: %v", options.Limit, options.Continue != "", apierrors.ReasonForError(err)))
		if len(requests) == 2 || len(requests) == 5 {
			for range 6 { // more than the history
				if _, err := crontabs.Create(ctx, cronTab(nameOf(made)), metav1.CreateOptions{}); err != nil {
					return nil, err
				}
				made++
			}
		}
		return l, err
	}
	p := pager.New(page)
	p.PageSize = 4
	whole, paginated, err := p.List(t.Context(), metav1.ListOptions{})
	must(t, err)
	equal(t, "paginated", paginated, true)
	equal(t, "objects", names(whole.(*unstructured.UnstructuredList)), names(list(t, crontabs)))
	equal(t, "requests", requests, []string{
		"limit 4, continue false: ", "limit 4, continue true: ", "limit 4, continue true: Expired", "limit 0, continue false: "})

	// Item by item, there is no way back.
	p.PageBufferSize = 0
	var got []string
	err = p.EachListItem(t.Context(), metav1.ListOptions{}, func(o runtime.Object) error {
		got = append(got, o.(*unstructured.Unstructured).GetName())
		return nil
	})
	fails(t, "item by item", err, tooOldToken)
	equal(t, "objects until then", got, names(list(t, crontabs))[:4])
}
