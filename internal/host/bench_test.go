package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/internal/host"
)

// overSocket serves the host of a client on a Unix socket, and returns what sends a request to it and reads the answer.
func overSocket(b *testing.B, h *host.Host) func(method, path, body string) []byte {
	b.Helper()
	socket := filepath.Join(b.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		b.Fatal(err)
	}
	server := &http.Server{Handler: h}
	go func() { _ = server.Serve(l) }()
	var d net.Dialer
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return d.DialContext(ctx, "unix", socket) }}
	b.Cleanup(func() { _ = server.Close(); transport.CloseIdleConnections() })
	client := &http.Client{Transport: transport}
	return func(method, path, body string) []byte {
		req, err := http.NewRequest(method, "http://host"+path, strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		answer, err := client.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode >= 300 {
			b.Fatalf("%s %s: %d %s %v", method, path, answer.StatusCode, text, err)
		}
		return text
	}
}

// benchmarkClusters measures a request that makes a cluster, until its kubeconfig has been read. Ending the cluster is not measured.
func benchmarkClusters(b *testing.B, path, body string) {
	c := newClient(b)
	send := overSocket(b, c.host)
	body = strings.ReplaceAll(body, "SESSION", c.session)
	send("POST", "/v1/clusters", `{"session": "`+c.session+`"}`) // c1, and what a process does once
	for b.Loop() {
		text := send("POST", path, body)
		b.StopTimer()
		var made host.Cluster
		if err := json.Unmarshal(text, &made); err != nil || !bytes.Contains(text, []byte("certificate-authority-data")) {
			b.Fatalf("%v in %s", err, text)
		}
		send("DELETE", "/v1/clusters/"+made.Cluster, "")
		b.StartTimer()
	}
}

func BenchmarkStart(b *testing.B) { benchmarkClusters(b, "/v1/clusters", `{"session": "SESSION"}`) }

func BenchmarkStartWithDefinition(b *testing.B) {
	path, err := filepath.Abs("../../scenarios/crontab/crontab-crd.yaml")
	if err != nil {
		b.Fatal(err)
	}
	benchmarkClusters(b, "/v1/clusters", `{"session": "SESSION", "crdPaths": [`+quote(path)+`]}`)
}

func BenchmarkFork(b *testing.B) {
	benchmarkClusters(b, "/v1/clusters/c1/fork", `{"session": "SESSION"}`)
}

// A host holds 500 clusters at once, each with its own objects.
func TestFiveHundredClusters(t *testing.T) {
	c := newClient(t)
	const n = 500
	var clusters []host.Cluster
	for range n {
		clusters = append(clusters, c.start(`{"session": "SESSION"}`))
	}
	if got := do[host.Info](c, "GET /v1/info", "", "").Clusters; got != n {
		t.Errorf("%d clusters run", got)
	}
	for _, made := range []host.Cluster{clusters[0], clusters[n/2], clusters[n-1]} {
		maps := clientset(t, made.Kubeconfig).CoreV1().ConfigMaps("default")
		if _, err := maps.Create(t.Context(), configMap("own"), metav1.CreateOptions{}); err != nil {
			t.Errorf("%s: %v", made.Cluster, err)
		}
	}
	c.end()
	if got := do[host.Clusters](openSession(t, c.host), "GET /v1/clusters", "", "").Clusters; len(got) != 0 {
		t.Errorf("clusters that are left: %v", got)
	}
}
