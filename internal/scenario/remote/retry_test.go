package remote

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/scenario/player"
	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// lateTransport is a transport to a cluster that does something later than others: the first times it answers a
// request as if that were still to come.
type lateTransport struct {
	next http.RoundTripper
	mu   sync.Mutex
	// left is how often, and code with what, by METHOD and the end of the path. Dry runs are DRY.
	left map[string]int
	code map[string]int
	seen []string
}

func (l *lateTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	method := request.Method
	if request.URL.Query().Has("dryRun") {
		method = "DRY"
	}
	what := method + " " + request.URL.Path[strings.LastIndex(request.URL.Path, "/")+1:]
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, watched := l.left[what]; watched {
		l.seen = append(l.seen, what)
	}
	if l.left[what] > 0 {
		l.left[what]--
		code := l.code[what]
		return &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}")), Request: request}, nil
	}
	return l.next.RoundTrip(request)
}

// Steps are played again if that changes nothing, and a write that should be refused is tried first.
func TestAStepIsRepeatedUntilItsAnswerIsAsExpected(t *testing.T) {
	for _, test := range []struct {
		name, step string
		what       string
		code       int
		want       []string
		failed     string
	}{
		{"a read", "get: {apiVersion: v1, kind: ConfigMap, name: a}", "GET a", 404, []string{"GET a", "GET a", "GET a"}, ""},
		{"a write that is refused", "create: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}", "POST configmaps", 503,
			[]string{"POST configmaps", "POST configmaps", "POST configmaps", "POST configmaps"}, ""}, // one of the setup
		{"a write that should be refused", "create: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n  error: {code: 409}", "DRY configmaps", 201,
			[]string{"DRY configmaps", "DRY configmaps", "DRY configmaps"}, ""},
		{"a write with another answer", "patch: {apiVersion: v1, kind: ConfigMap, name: a}\n  type: merge\n  body: {data: {x: y}}\n  expect: {data: {x: z}}", "PATCH a", 200,
			[]string{"PATCH a"}, "unexpected answer"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := fakecluster.Start(t)
			late := &lateTransport{left: map[string]int{test.what: 2}, code: map[string]int{test.what: test.code}}
			cfg := c.RESTConfig()
			cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { late.next = next; return late })
			file := filepath.Join(t.TempDir(), "a.yaml")
			text := "scenario: a\nsetup:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\nsteps:\n- " + test.step + "\n"
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			loaded, err := syntax.Load(file)
			if err != nil {
				t.Fatal(err)
			}
			player.Player{Start: NewStarter(cfg), Remote: true, Grace: 20 * time.Second}.PlayAll(t.Context(), loaded, func(r player.Result) {
				failed := ""
				if r.Failure != nil {
					failed = r.Failure.Message
				}
				if failed != test.failed {
					t.Errorf("%q, want %q", failed, test.failed)
				}
			})
			if got := late.seen; len(got) < len(test.want) || cmp.Diff(test.want, got[:len(test.want)]) != "" {
				t.Errorf("requests: %q, want %q", got, test.want)
			}
		})
	}
}
