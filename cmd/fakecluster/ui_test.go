package main

import (
	"bufio"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// The page of serve shows what has happened, and notifies the browser of changes.
func TestServeUI(t *testing.T) {
	config := t.TempDir() + "/config"
	s := serveArgs(t, "--ui", "--kubeconfig", config)
	url := regexp.MustCompile(`(?m)^ui (http://127\.0\.0\.1:\d+/[A-Z2-7]{26}/)$`).FindStringSubmatch(s.stderr.String())
	if url == nil {
		t.Fatalf("stderr: %s", s.stderr)
	}
	get := func(path string) (int, string) {
		answer, err := http.Get(path)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(text)
	}
	if code, page := get(url[1]); code != 200 || !strings.Contains(page, "<title>fakecluster serve – fakecluster</title>") {
		t.Errorf("the page: %d %.200s", code, page)
	}
	root := url[1][:strings.LastIndexByte(strings.TrimSuffix(url[1], "/"), '/')+1]
	for _, other := range []string{root, root + "guessed/", url[1] + "other"} {
		if code, _ := get(other); code != 404 {
			t.Errorf("%s: %d", other, code)
		}
	}
	if answer, err := http.Post(url[1], "text/plain", nil); err != nil || answer.StatusCode != 405 {
		t.Errorf("a POST: %v %v", answer, err)
	}

	// DNS rebinding: the page of another site whose name points to this machine sends its own name.
	address, _, _ := strings.Cut(strings.TrimPrefix(url[1], "http://"), "/")
	port := address[strings.LastIndexByte(address, ':'):]
	for host, want := range map[string]int{
		address: 200, "localhost" + port: 200, "LOCALHOST" + port: 200, "[::1]" + port: 200, "127.1.2.3" + port: 200,
		"evil.example" + port: 403, "localhost.evil.example" + port: 403, "127.0.0.1": 403, "localhost": 403, "127.0.0.1:1": 403,
		"0.0.0.0" + port: 403, "192.168.0.1" + port: 403, "[::2]" + port: 403, port: 403,
	} {
		req, err := http.NewRequest(http.MethodGet, url[1]+"data.json", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("Host %s: %d", host, answer.StatusCode)
		}
		if policy := answer.Header.Get("Content-Security-Policy"); want == 200 && !strings.Contains(policy, "frame-ancestors 'none'") {
			t.Errorf("Host %s: policy %q", host, policy)
		}
	}

	stream, err := http.Get(url[1] + "changes")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	changes := bufio.NewScanner(stream.Body)
	next := func() {
		for changes.Scan() {
			if changes.Text() == "data: changed" {
				return
			}
		}
		t.Error("the stream ended")
	}
	next() // how it was when the stream began
	cfg, err := clientcmd.BuildConfigFromFlags("", config)
	if err != nil {
		t.Fatal(err)
	}
	cfg.UserAgent = "someone"
	if _, err := kubernetes.NewForConfigOrDie(cfg).CoreV1().ConfigMaps("default").Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	next()
	if code, data := get(url[1] + "data.json"); code != 200 || !strings.Contains(data, `"c":"someone"`) || !strings.Contains(data, `"name":"configmaps default/settings"`) {
		t.Errorf("the data: %d %s", code, data)
	}
	s.stderr.Reset()
	s.end(t)
}
