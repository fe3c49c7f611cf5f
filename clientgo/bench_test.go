package clientgo

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BenchmarkRoundTrip is a GET of ready bytes: what the transport costs over the
// handler, beside what a socket costs.
func BenchmarkRoundTrip(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"get-446B", 446}, {"list-32KiB", 32 << 10}, {"list-1MiB", 1 << 20}} {
		ready := bytes.Repeat([]byte("x"), size.bytes)
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Write(ready)
		})
		b.Run(size.name+"/in-process", func(b *testing.B) {
			tr := InProcess(h)
			defer tr.Close()
			benchmarkGet(b, tr, InProcessURL, size.bytes)
		})
		b.Run(size.name+"/socket", func(b *testing.B) {
			server := httptest.NewServer(h)
			defer server.Close()
			tr := &http.Transport{DisableCompression: true}
			defer tr.CloseIdleConnections()
			benchmarkGet(b, tr, server.URL, size.bytes)
		})
	}
}

func benchmarkGet(b *testing.B, rt http.RoundTripper, url string, size int) {
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", url+"/apis/stable.example.com/v1/namespaces/default/crontabs/a", nil)
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "benchmark")
	req.Header.Set("Authorization", "Bearer secret")
	var into bytes.Buffer
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		resp, err := rt.RoundTrip(req)
		if err != nil {
			b.Fatal(err)
		}
		into.Reset()
		if n, err := into.ReadFrom(resp.Body); n != int64(size) || err != nil {
			b.Fatal(n, err)
		}
		resp.Body.Close()
	}
}

// BenchmarkHandlerAlone is the floor of BenchmarkRoundTrip: the same handler called
// with a recorder.
func BenchmarkHandlerAlone(b *testing.B) {
	ready := bytes.Repeat([]byte("x"), 446)
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		w.Header().Set("Content-Type", "application/json")
		w.Write(ready)
	}
}

// BenchmarkDynamicGet is a get as an operator does it.
func BenchmarkDynamicGet(b *testing.B) {
	ready := []byte(`{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"a","namespace":"default","resourceVersion":"7"},"spec":{"cronSpec":"* * * * */5","image":"my-awesome-cron-image","replicas":3}}`)
	tr := InProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write(ready)
	}))
	defer tr.Close()
	c, err := NewClients(Access{Transport: tr, Token: "secret"}.RESTConfig())
	if err != nil {
		b.Fatal(err)
	}
	crontabs := c.Dynamic.Resource(cronTabs).Namespace("default")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := crontabs.Get(b.Context(), "a", metav1.GetOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWatch is what a flushed watch event costs from Write to Read.
func BenchmarkWatch(b *testing.B) {
	event := bytes.Repeat([]byte("x"), 512)
	tr := InProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		for c.Flush() == nil {
			w.Write(event)
		}
	}))
	defer tr.Close()
	req, err := http.NewRequest("GET", InProcessURL, nil)
	if err != nil {
		b.Fatal(err)
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		b.Fatal(err)
	}
	into := make([]byte, len(event))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := io.ReadFull(resp.Body, into); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
	resp.Body.Close()
}
