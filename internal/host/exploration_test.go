package host_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fakecluster/fakecluster/internal/host"
	"github.com/fakecluster/fakecluster/internal/release"
)

// explorationLines begins an exploration of an operator of Gadgets, and returns what reads its next line, and what ends its connection.
func explorationLines(t *testing.T, c *client) (next func() host.ExplorationLine, end func()) {
	t.Helper()
	manifests, err := filepath.Abs("../../explore/testdata/gadget")
	if err != nil {
		t.Fatal(err)
	}
	return linesOf(t, c, fmt.Sprintf(`"versions": [{"function": 1, "cluster": {"session": ""}, "install": [%q], "trials": 3}]`, manifests))
}

// linesOf begins an exploration of something.
func linesOf(t *testing.T, c *client, explored string) (next func() host.ExplorationLine, end func()) {
	t.Helper()
	c.called["POST /v1/explorations"] = true
	body := fmt.Sprintf(`{"session": %q, "test": "TestGadgets", "folder": %q, "parallel": 1, %s}`, c.session, t.TempDir(), explored)
	ctx, cancel := context.WithCancel(context.Background())
	read, write := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer write.Close()
		c.host.ServeHTTP(&streamed{header: http.Header{}, Writer: write}, httptest.NewRequestWithContext(ctx, "POST", "/v1/explorations", strings.NewReader(body)))
	}()
	lines := json.NewDecoder(bufio.NewReader(read))
	end = func() {
		cancel()
		go func() { _, _ = io.Copy(io.Discard, read) }()
		<-ended
	}
	t.Cleanup(end)
	return func() (line host.ExplorationLine) {
		t.Helper()
		if err := lines.Decode(&line); err != nil {
			t.Fatal(err)
		}
		return line
	}, end
}

// tryExploration checks that an exploration asks for the bubble of its first trial, and ends with what is wrong with it.
func tryExploration(t *testing.T, c *client) {
	t.Helper()
	for report, want := range map[string]string{
		`{"session": "SESSION", "ended": true, "failed": "there are no bubbles"}`: "there are no bubbles",
		`{"session": "SESSION", "ended": true}`:                                   "the bubble of the trial has ended before the trial",
	} {
		tryReport(t, c, report, want)
	}
	tryRun(t, c)
}

// tryRun checks what a test may do in one of its runs.
func tryRun(t *testing.T, c *client) {
	t.Helper()
	next, end := linesOf(t, c, `"run": {"function": 1, "cluster": {"session": ""}}`)
	path := fmt.Sprintf("/v1/explorations/%s/trials/%d/run", next().Exploration, next().Trial)
	c.called["POST /v1/explorations/{exploration}/trials/{trial}/run"] = true
	if code, text := c.send("POST", path, `{"session": "SESSION", "log": "a"}`); code != http.StatusConflict || !strings.Contains(text, "acts in the bubble of its run") {
		t.Errorf("outside of the bubble: %d %s", code, text)
	}
	if code, text := c.send("POST", path, `{"session": "SESSION", "log": "a", "wait": "1s", "control": {"name": "c", "token": "t", "function": 2}}`); code != http.StatusBadRequest || !strings.Contains(text, "control and wait and log exclude each other; give one of them") {
		t.Errorf("three actions: %d %s", code, text)
	}
	if code, text := c.send("POST", path, `{"session": "SESSION", "failed": true, "wait": "1s"}`); code != http.StatusBadRequest || !strings.Contains(text, "wait and log exclude each other; give one of them") {
		t.Errorf("a failure and a wait: %d %s", code, text)
	}
	b := openBubble(t, c, bubbleOf(path))
	b.pass(0)
	if b.opened.Exploration == "" || path != "/v1/explorations/"+b.opened.Exploration+"/trials/1/run" {
		t.Errorf("the exploration in the bubble is %q", b.opened.Exploration)
	}
	for _, action := range []struct {
		action string
		want   host.RunState
	}{
		{`"wait": "1s"`, host.RunState{}},
		{`"log": "a"`, host.RunState{}},
		{`"control": {"name": "a b", "token": "t", "function": 2}`, host.RunState{Failed: true, Fatal: true}},
		{`"log": "no", "failed": true`, host.RunState{Failed: true}},
	} {
		var state host.RunState
		before := b.now
		b.must(&state, "", "POST", path, "", `{"session": "`+c.session+`", `+action.action+`}`)
		if waits := strings.HasPrefix(action.action, `"wait"`); state != action.want || b.now.Sub(before) > 0 != waits {
			t.Errorf("%s: %+v after %v", action.action, state, b.now.Sub(before))
		}
	}
	end()

	next, end = explorationLines(t, c)
	defer end()
	path = fmt.Sprintf("/v1/explorations/%s/trials/%d/run", next().Exploration, next().Trial)
	b = openBubble(t, c, bubbleOf(path))
	b.pass(0)
	id := b.begin("", "POST", path, "", `{"session": "`+c.session+`", "log": "a"}`)
	if a := b.answers[id]; a.Status != http.StatusConflict || !strings.Contains(a.Body, "no test is running in the trial") {
		t.Errorf("in the trial of an operator: %+v", a)
	}
}

// bubbleOf returns the request for the bubble of a trial with a path.
func bubbleOf(path string) string {
	parts := strings.Split(path, "/")
	return fmt.Sprintf(`{"session": "SESSION", "exploration": %q, "trial": %s}`, parts[3], parts[5])
}

// What cannot be explored is refused, with what to write.
func TestExplorationsThatAreRefused(t *testing.T) {
	c, here := newClient(t), release.Version().String()
	for explored, want := range map[string]string{
		`"versions": []`: "versions: there are 0: give the operator, or the old and the new version of an upgrade",
		`"run": {"function": 1, "cluster": {"session": ""}}, "versions": [{"function": 1, "cluster": {"session": ""}}]`:                                                                                                                 "run and versions exclude each other; give one of them",
		`"run": {"function": 1, "cluster": {"session": "", "snapshotData": "eA=="}}`:                                                                                                                                                    "cluster: a snapshot cannot be an option of a test that is run again and again: it is read only once",
		`"versions": [{"function": 1, "cluster": {"session": "", "kubernetesVersion": "1.34"}}, {"function": 1, "cluster": {"session": ""}}]`:                                                                                           "kubernetesVersion: the versions of an operator run as one version of Kubernetes, and not as 1.34 and " + here + ": give both subjects the same remote.KubernetesVersion",
		`"versions": [{"function": 1, "cluster": {"session": "", "kubernetesVersion": "` + here + `"}}, {"function": 1, "cluster": {"session": ""}, "invariants": [{"name": "a", "when": "sometimes", "condition": {"cel": "true"}}]}]`: "the invariant a: when is always, never or eventually",
		`"versions": [{"function": 1, "cluster": {"session": "", "kubernetesVersion": "1.34"}}]`:                                                                                                                                        "the host of Kubernetes 1.34: this host does not start hosts of other versions",
	} {
		body := fmt.Sprintf(`{"session": "SESSION", "test": "TestGadgets", "folder": "/", "parallel": 1, %s}`, explored)
		if code, text := c.send("POST", "/v1/explorations", body); code/100 == 2 || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", explored, code, text)
		}
	}
}

// tryReport checks with what an exploration ends after a report of its first trial.
func tryReport(t *testing.T, c *client, report, want string) {
	t.Helper()
	next, _ := explorationLines(t, c)
	name, trial := next().Exploration, next().Trial
	c.called["POST /v1/explorations/{exploration}/trials/{trial}"] = true
	path := fmt.Sprintf("/v1/explorations/%s/trials/%d", name, trial)
	if code, text := c.send("POST", path, `{"ended": true}`); code != http.StatusConflict || !strings.Contains(text, "lives in another session") {
		t.Errorf("a report of another session: %d %s", code, text)
	}
	if code, text := c.send("POST", path, report); code != http.StatusNoContent {
		t.Fatalf("%d %s", code, text)
	}
	if last := next(); last.Found == nil || last.Failed != want {
		t.Errorf("the last line: %+v", last)
	}
	if code, text := c.send("POST", path, `{"session": "SESSION", "ended": true}`); code != http.StatusNotFound {
		t.Errorf("a trial that has ended: %d %s", code, text)
	}
}

// An exploration ends with its connection, and nothing of it stays, whether a bubble is open or not.
func TestAnExplorationEndsWithItsConnection(t *testing.T) {
	for _, opened := range []bool{false, true} {
		t.Run(fmt.Sprint(opened), func(t *testing.T) {
			c := newClient(t)
			next, end := explorationLines(t, c)
			name, trial := next().Exploration, next().Trial
			if opened {
				b := openBubble(t, c, fmt.Sprintf(`{"session": "SESSION", "exploration": %q, "trial": %d}`, name, trial))
				b.send(host.Frame(b.now, 0, "", "", "", "", ""))
			}
			end()
			if code, text := c.send("POST", fmt.Sprintf("/v1/explorations/%s/trials/%d", name, trial), `{"session": "SESSION", "ended": true}`); code != http.StatusNotFound {
				t.Errorf("%d %s", code, text)
			}
		})
	}
}

// A trial is played in one bubble of its session, which opens while the trial is played.
func TestBubblesThatAreNotOfATrial(t *testing.T) {
	c := newClient(t)
	next, _ := explorationLines(t, c)
	name, trial := next().Exploration, next().Trial
	for request, want := range map[string]string{
		`"session": "` + openSession(t, c.host).session + `"`: "lives in another session",
		`"session": "SESSION", "cluster": "c1"`:               "has no cluster and no kubernetesVersion",
		`"session": "SESSION", "kubernetesVersion": "1.34"`:   "has no cluster and no kubernetesVersion",
	} {
		if code, text := c.send("POST", "/v1/bubbles", fmt.Sprintf(`{%s, "exploration": %q, "trial": %d}`, request, name, trial)); code/100 != 4 || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", request, code, text)
		}
	}
	if host.OpensLate() {
		t.Error("a bubble that opens late plays the trial")
	}
}

// A panic of the old version of an operator is not one of the new version, too.
func TestAPanicIsThatOfOneVersion(t *testing.T) {
	if former, latter := host.PanicsTwice("no mode"); len(former) != 1 || len(latter) > 0 {
		t.Errorf("%q, %q", former, latter)
	}
}

// streamed is a ResponseWriter whose content is read while it is written.
type streamed struct {
	header http.Header
	io.Writer
}

func (s *streamed) Header() http.Header { return s.header }
func (s *streamed) WriteHeader(int)     {}
func (s *streamed) Flush()              {}
