package fakecluster_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/testing/consistency"
)

// The benchmarks of reads send raw requests and drop the answers. So they measure the server, with
// very little of a client.

// manySamples returns a Wire to a cluster with n samples of 446 bytes. One in a hundred has the
// label tier=rare and the color red.
func manySamples(b *testing.B, n int, way ...fakecluster.Option) consistency.Wire {
	b.Helper()
	c := fakecluster.Start(b, way...)
	define(b, c, consistency.Definition())
	w := newWire(b, c)
	for i := range n {
		tier, color := "usual", "blue"
		if i%100 == 0 {
			tier, color = "rare", "red"
		}
		body := fmt.Sprintf(`{"apiVersion":"reads.example.com/v1","kind":"Sample","metadata":{"name":%q,"namespace":"default",`+
			`"labels":{"app.kubernetes.io/name":"sample","app.kubernetes.io/part-of":"benchmark","tier":%q},"annotations":{"fill":""}},"spec":{"color":%q,"count":%d}}`,
			nameOf(i), tier, color, i)
		body = strings.Replace(body, `"fill":""`, `"fill":"`+strings.Repeat("x", objectBytes-len(body))+`"`, 1)
		code, answer, err := w.Send(b.Context(), http.MethodPost, consistency.Path+"/namespaces/default/samples", "application/json", body)
		if err != nil || code != http.StatusCreated {
			b.Fatalf("%d %s %v", code, answer, err)
		}
	}
	return w
}

// drain reads a response and returns the time until its first byte, and its size.
func drain(ctx context.Context, w consistency.Wire, path, accept string) (first time.Duration, size int64, err error) {
	begin := time.Now()
	resp, err := w.Open(ctx, http.MethodGet, path, "", accept, "")
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return 0, 0, fmt.Errorf("%s: %s", path, resp.Status)
	}
	if _, err := io.ReadFull(resp.Body, make([]byte, 1)); err != nil {
		return 0, 0, err
	}
	first = time.Since(begin)
	size, err = io.Copy(io.Discard, resp.Body)
	return first, size + 1, err
}

// BenchmarkListOf100000 lists 100 thousand objects, whole and filtered. The
// answer-MB are its size, the MB/op all that was allocated for it (the sockets'
// buffers with it), and first-ms is when it begins.
func BenchmarkListOf100000(b *testing.B) {
	const table, partial = "application/json;as=Table;g=meta.k8s.io;v=v1", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	overHTTPAndInProcess(b, func(b *testing.B, way ...fakecluster.Option) {
		w := manySamples(b, 100_000, append(way, fakecluster.WithWatchHistory(1000, 0))...)
		for _, c := range []struct{ name, version, query, accept string }{
			{"whole", "v1", "", ""},
			{"page-of-500", "v1", "limit=500", ""},
			{"by-label", "v1", "labelSelector=tier%3Drare", ""},
			{"by-label-in", "v1", "labelSelector=" + url.QueryEscape("tier in (rare,none)"), ""},
			{"by-label-of-none", "v1", "labelSelector=tier%3Dnone", ""},
			{"by-name", "v1", "fieldSelector=metadata.name%3D" + nameOf(77), ""},
			{"by-names", "v1", "fieldSelector=metadata.name%3D" + nameOf(77) + ",metadata.namespace%3Ddefault", ""},
			{"by-field", "v1", "fieldSelector=spec.color%3Dred", ""},
			{"other-version", "v2", "", ""},
			{"table", "v1", "", table},
			{"partial", "v1", "", partial},
		} {
			b.Run(c.name, func(b *testing.B) {
				var first time.Duration
				var size int64
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				for b.Loop() {
					f, n, err := drain(b.Context(), w, consistency.GroupPath+c.version+"/samples?"+c.query, c.accept)
					must(b, err)
					first, size = first+f, n
				}
				runtime.ReadMemStats(&after)
				b.ReportMetric(float64(size)/1e6, "answer-MB")
				b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/1e6/float64(b.N), "MB/op")
				b.ReportMetric(float64(first.Microseconds())/1e3/float64(b.N), "first-ms")
			})
		}
	})
}

// BenchmarkListOf100000Peak measures how much the heap grows while 8 clients have begun to read
// the list and stopped. A server that streams keeps no copy of the list for them.
func BenchmarkListOf100000Peak(b *testing.B) {
	overHTTPAndInProcess(b, func(b *testing.B, way ...fakecluster.Option) {
		const readers = 8
		w := manySamples(b, 100_000, append(way, fakecluster.WithWatchHistory(1000, 0))...)
		heap := func() float64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return float64(m.HeapAlloc) / 1e6
		}
		var held float64
		for b.Loop() {
			before := heap()
			var bodies []io.Closer
			for range readers {
				resp, err := w.Open(b.Context(), http.MethodGet, consistency.Path+"/samples", "", "", "")
				must(b, err)
				_, err = io.ReadFull(resp.Body, make([]byte, 1000))
				must(b, err)
				bodies = append(bodies, resp.Body)
			}
			held += heap() - before
			for _, body := range bodies {
				must(b, body.Close())
			}
		}
		b.ReportMetric(held/float64(b.N)/readers, "MB-held/reader")
	})
}

// BenchmarkWatchersOf1000 is one change until 1000 watchers of the resource have
// it. ns/op is for all of them, ns/watcher for each.
func BenchmarkWatchersOf1000(b *testing.B) {
	const watchers = 1000
	for _, c := range []struct{ name, version, query, accept string }{
		{"as-stored", "v1", "", ""},
		{"by-label", "v1", "&labelSelector=tier%3Drare", ""},
		{"other-version", "v2", "", ""},
		{"table", "v1", "", "application/json;as=Table;g=meta.k8s.io;v=v1"},
		{"partial", "v1", "", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"},
	} {
		b.Run(c.name, func(b *testing.B) {
			overHTTPAndInProcess(b, func(b *testing.B, way ...fakecluster.Option) {
				w := manySamples(b, 1, way...)
				start, err := consistency.Revision(b.Context(), w)
				must(b, err)
				ctx, stop := context.WithCancel(b.Context())
				var reading sync.WaitGroup
				var left atomic.Int64
				seen := make(chan struct{})
				var opened sync.WaitGroup
				for range watchers {
					opened.Add(1)
					reading.Go(func() {
						resp, err := w.Open(ctx, http.MethodGet, fmt.Sprintf("%s%s/samples?watch=1&resourceVersion=%d%s", consistency.GroupPath, c.version, start, c.query), "", c.accept, "")
						opened.Done()
						if err != nil {
							b.Error(err)
							return
						}
						defer resp.Body.Close()
						lines := bufio.NewReader(resp.Body)
						for {
							if _, err := lines.ReadSlice('\n'); err != nil && err != bufio.ErrBufferFull {
								return
							} else if err == nil && left.Add(-1) == 0 {
								seen <- struct{}{}
							}
						}
					})
				}
				opened.Wait()
				n := 0
				change := func() {
					n++
					left.Store(watchers)
					code, answer, err := w.Send(b.Context(), http.MethodPatch, consistency.Path+"/namespaces/default/samples/"+nameOf(0),
						"application/merge-patch+json", fmt.Sprintf(`{"spec":{"count":%d}}`, n))
					if err != nil || code != http.StatusOK {
						b.Fatalf("%d %s %v", code, answer, err)
					}
					<-seen
				}
				change()
				b.ReportAllocs()
				for b.Loop() {
					change()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/watchers, "ns/watcher")
				stop()
				reading.Wait()
			})
		})
	}
}
