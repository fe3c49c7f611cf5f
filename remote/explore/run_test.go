//go:build go1.25

package explore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fakecluster/fakecluster/remote"
	"github.com/fakecluster/fakecluster/remote/explore"
	"github.com/fakecluster/fakecluster/remote/faults"
)

func findRun(t *testing.T, body explore.Body, options ...explore.Option) explore.Result {
	t.Helper()
	result, err := explore.Find(t, body, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d runs, %d points, %d pruned", result.Runs, result.Points, result.Pruned)
	return result
}

// A right controller passes.
func TestACorrectControllerPasses(t *testing.T) {
	result := findRun(t, keeper{}.oneSecret)
	if f := result.Failure; f != nil {
		t.Errorf("%s\n%s\n%s", f.Schedule, f.Explanation, f.Log)
	}
	if result.Points < 15 || result.More {
		t.Errorf("points: %d, more: %v", result.Points, result.More)
	}
}

// Each mistake is found, with a schedule that fails again.
func TestMistakesAreFound(t *testing.T) {
	for mistake, tt := range map[string]struct {
		keeper                keeper
		point, explained, log string
	}{
		"trusts a stale cache": {keeper{trustsCache: true}, "late operator watch secrets default/ 1",
			"the events of the watch of secrets default/ by operator come 30s late", "there are 2 secrets, want one"},
		"ignores a failed write": {keeper{ignoresErrors: true}, "cut-before operator update configmaps default/a 1",
			"the connection breaks before the update of configmaps default/a by operator is made", "the ConfigMap is not ready"},
		"leaks on restart": {keeper{remembers: true}, "crash-after operator create secrets default/ 1",
			"operator stops right after the create of secrets default/, and is started again", "there are 2 secrets, want one"},
	} {
		t.Run(mistake, func(t *testing.T) {
			f := findRun(t, tt.keeper.oneSecret).Failure
			if f == nil {
				t.Fatal("nothing has been found")
			}
			if want := t.Name() + ": " + tt.point; f.Schedule != want {
				t.Errorf("schedule:\n got %s\nwant %s", f.Schedule, want)
			}
			if f.Explanation != tt.explained {
				t.Errorf("explanation:\n got %s\nwant %s", f.Explanation, tt.explained)
			}
			if !strings.Contains(f.Log, tt.log) {
				t.Errorf("log:\n%s", f.Log)
			}
			again := findRun(t, tt.keeper.oneSecret, explore.Replay(f.Schedule))
			if again.Runs != 1 || again.Failure == nil || again.Failure.Schedule != f.Schedule {
				t.Errorf("the replay: %+v", again)
			}
			if corrected := findRun(t, keeper{}.oneSecret, explore.Replay(f.Schedule)); corrected.Failure != nil {
				t.Errorf("the replay with a correct operator: %+v", corrected.Failure)
			}
		})
	}
}

// The same seed has the same runs.
func TestExplorationsAreRepeatable(t *testing.T) {
	first, second := findRun(t, keeper{trustsCache: true}.oneSecret), findRun(t, keeper{trustsCache: true}.oneSecret)
	if first.Failure == nil || second.Failure == nil || first.Runs != second.Runs || first.Points != second.Points || first.Failure.Schedule != second.Failure.Schedule {
		t.Errorf("%+v\n%+v", first, second)
	}
}

// control runs a controller in the body of a run.
func control(c *explore.Cluster, run func(context.Context) error) {
	c.Control("c", c.Config(), func(ctx context.Context, _ *remote.Cluster) error { return run(ctx) })
	c.Wait(time.Second)
}

// A test that fails without faults is reported as such, with its log.
func TestATestThatFailsWithoutFaults(t *testing.T) {
	for name, tt := range map[string]struct {
		body explore.Body
		log  string
	}{
		"an error": {func(t testing.TB, _ *explore.Cluster) { t.Log("before"); t.Error("it is", "so"); t.Log("after") }, "before\nit is so\nafter"},
		"a fatal":  {func(t testing.TB, _ *explore.Cluster) { t.Fatalf("it is %d", 5) }, "it is 5"},
		"a panic":  {func(testing.TB, *explore.Cluster) { panic("oh") }, "the test has panicked: oh\n"},
		"no configuration": {func(_ testing.TB, c *explore.Cluster) { c.Control("a", remote.Config{}, nil) },
			"explore: the configuration of the controller a has no token: give c.Config(), or that of its service account"},
		"no function": {func(_ testing.TB, c *explore.Cluster) { c.Control("a", c.Config(), nil) },
			"explore: the function of the controller a is nil: give a func(ctx context.Context, c *remote.Cluster) error that runs it until ctx ends"},
		"a name": {func(t testing.TB, c *explore.Cluster) {
			c.Control("a b", c.Config(), keeper{}.run)
			t.Error("it goes on")
		}, `explore: "a b" cannot be the name of a controller: use one word without a slash`},
		"a name for two": {func(_ testing.TB, c *explore.Cluster) {
			control(c, func(ctx context.Context) error { <-ctx.Done(); return nil })
			control(c, func(ctx context.Context) error { <-ctx.Done(); return nil })
		}, "explore: there are two controllers called c: give each a name of its own"},
		"controller": {func(_ testing.TB, c *explore.Cluster) { control(c, func(context.Context) error { return errBroken }) }, "the controller c has returned an error: the operator is broken"},
		"it panics":  {func(_ testing.TB, c *explore.Cluster) { control(c, func(context.Context) error { panic("oh") }) }, "the controller c has panicked: oh\n"},
		"it goes on": {func(_ testing.TB, c *explore.Cluster) {
			control(c, func(context.Context) error { time.Sleep(time.Hour); return nil })
		}, "the controller c has not stopped 10m0s after its context ended"},
		"a fault that strikes nothing": {func(_ testing.TB, c *explore.Cluster) {
			c.Inject(faults.Fault{Verb: "update", Resource: "pods", Effect: faults.Conflict()})
		}, "never fired"},
		"a fault that cannot be": {func(t testing.TB, c *explore.Cluster) {
			c.Inject(faults.Fault{Verb: "get", Resource: "pods", Effect: faults.Conflict()})
			t.Error("it goes on")
		}, "the fault cannot be injected"},
		"a method of the cluster": {func(t testing.TB, c *explore.Cluster) {
			c.WaitFor(t, &object{APIVersion: "v1", Kind: "ConfigMap", Metadata: metadata{Namespace: "default", Name: "none"}}, remote.CEL("true"))
			t.Error("it goes on")
		}, "none"},
		"a cleanup": {func(t testing.TB, _ *explore.Cluster) {
			t.Cleanup(func() { t.Fatal("the first") })
			t.Cleanup(func() { t.Fatal("the last") })
		}, "the last\nthe first"},
	} {
		t.Run(name, func(t *testing.T) {
			result := findRun(t, tt.body)
			f := result.Failure
			if f == nil || result.Runs != 1 || f.Schedule != t.Name()+": " || f.Explanation != "" || !strings.Contains(f.Log, tt.log) || strings.Contains(f.Log, "it goes on") {
				t.Errorf("%+v", f)
			}
		})
	}
}

// A server that is older than the run has another time, and may still report to its t.
func TestAGoroutineOutsideOfTheRunReports(t *testing.T) {
	calls, returned := make(chan func()), make(chan bool)
	defer close(calls)
	go func() {
		for f := range calls {
			f()
			returned <- true
		}
	}()
	outside := func(f func()) {
		calls <- f
		<-returned
	}
	const usedOutside = "the cluster was started in a synctest bubble and is used outside of it: use the cluster in the function of synctest.Test, or start it outside and write c := base.Fork(t) in the bubble"
	f := findRun(t, func(t testing.TB, c *explore.Cluster) {
		t.Log("the first line")
		outside(func() {
			t.Log("from outside")
			if t.Failed() {
				t.Error("a line of the log fails the run")
			}
		})
		t.Log("the second line")
		outside(func() {
			if _, _, err := (client{c.Cluster}).list(context.Background(), configMaps); err == nil || !strings.Contains(err.Error(), usedOutside) {
				t.Errorf("a request: %v", err)
			}
			if !t.Failed() {
				t.Error("the misuse does not fail the run")
			}
			ended := make(chan bool)
			go func() {
				defer close(ended)
				c.Wait(time.Second)
				t.Error("it goes on")
			}()
			<-ended
		})
		t.Cleanup(func() { outside(func() { t.Log("at the end") }) })
	}).Failure
	want := "the first line\nfrom outside\nthe second line\nfakecluster: " + usedOutside + "\nexplore: " + usedOutside + "\nat the end"
	if f == nil || f.Schedule != t.Name()+": " || !strings.Contains(f.Log, want) {
		t.Errorf("%+v\nwant %s", f, want)
	}
}

// The test sees that a controller has failed the run, and controllers have ended when it cleans up.
func TestTheEndOfABody(t *testing.T) {
	var order []string
	note := func(text string) { order = append(order, text) }
	findRun(t, func(t testing.TB, c *explore.Cluster) {
		order = nil
		t.Cleanup(func() {
			_, _, err := client{c.Cluster}.list(context.Background(), configMaps)
			note(fmt.Sprintf("clean up, %v", err))
		})
		c.Control("c", c.Config(), func(ctx context.Context, c *remote.Cluster) error {
			<-ctx.Done()
			time.Sleep(time.Minute)
			note("end")
			return nil
		})
		c.Wait(time.Second)
		note(fmt.Sprint(t.Failed()))
		c.Control("d", c.Config(), func(ctx context.Context, c *remote.Cluster) error { return errBroken })
		c.Wait(time.Second)
		note(fmt.Sprint(t.Failed()))
	})
	if want := []string{"false", "true", "end", "clean up, <nil>"}; !reflect.DeepEqual(order, want) {
		t.Errorf("%q, want %q", order, want)
	}
}

// A controller acts as the user of its configuration, and its name is the user agent.
func TestAControllerHasItsUser(t *testing.T) {
	result := findRun(t, func(t testing.TB, c *explore.Cluster) {
		c.Control("reader", c.ConfigFor("jane"), func(ctx context.Context, c *remote.Cluster) error {
			if _, _, err := (client{c}).list(ctx, configMaps); !errors.Is(err, failure(http.StatusForbidden)) {
				t.Errorf("the user: %v", err)
			}
			return nil
		})
		c.Wait(time.Second)
		for _, r := range c.Requests() {
			if r.UserAgent == "reader" && r.User == "jane" {
				return
			}
		}
		t.Errorf("%+v", c.Requests())
	}, explore.Replay(t.Name()+": "))
	if result.Failure != nil {
		t.Error(result.Failure.Log)
	}
}

// Faults do not reach a connection that a request upgrades. A controller gets an error that says so, and the body may use them.
func TestAControllerCannotUpgradeConnections(t *testing.T) {
	const want = "exec, attach, port-forward and other requests that upgrade their connection cannot be explored, because faults do not reach them: " +
		"give the controller a function that makes them, and replace it by a fake in the exploration"
	upgrades := func(ctx context.Context, c *remote.Cluster) map[string]error {
		_, exec := c.Exec(ctx, remote.PodExec{Pod: "none", Args: []string{"true"}})
		_, forward := c.PortForward(ctx, "", "none", 80)
		req, err := http.NewRequestWithContext(ctx, "POST", c.URL()+"/api/v1/namespaces/default/pods/none/exec?command=true", nil)
		if err != nil {
			return map[string]error{"the request": err}
		}
		req.Header = http.Header{"Authorization": {"Bearer " + c.Token()}, "Connection": {"Upgrade"}, "Upgrade": {"SPDY/3.1"}}
		answer, upgrade := c.Transport().RoundTrip(req)
		if upgrade == nil {
			upgrade = errors.New(answer.Status)
			answer.Body.Close()
		}
		return map[string]error{"exec": exec, "attach": c.AttachPod(ctx, remote.PodAttach{Pod: "none"}), "port-forward": forward, "an upgrade": upgrade}
	}
	result := findRun(t, func(t testing.TB, c *explore.Cluster) {
		c.Control("c", c.Config(), func(ctx context.Context, c *remote.Cluster) error {
			for what, err := range upgrades(ctx, c) {
				if err == nil || strings.TrimPrefix(err.Error(), "fakecluster: a request that upgrades its connection: ") != want {
					t.Errorf("%s of the controller: %v", what, err)
				}
			}
			if _, err := c.Dial(ctx, "tcp", "none:80"); err == nil || err.Error() == want {
				t.Errorf("a connection to a Pod: %v", err)
			}
			<-ctx.Done()
			return nil
		})
		for what, err := range upgrades(t.Context(), c.Cluster) {
			if err == nil || !strings.Contains(err.Error(), "not found") && err.Error() != "404 Not Found" {
				t.Errorf("%s of the body: %v", what, err)
			}
		}
		c.Wait(time.Minute)
	}, explore.With(remote.Workloads(`{"nodes": 1}`)), explore.Replay(t.Name()+": "))
	if result.Failure != nil {
		t.Error(result.Failure.Log)
	}
}

// Schedules and options that make no sense are refused.
func TestWrongOptionsOfRuns(t *testing.T) {
	body := keeper{}.oneSecret
	for schedule, text := range map[string]string{
		"TestOther: cut-after operator update configmaps default/a 1":   "the schedule belongs to the test TestOther, not to TestWrongOptionsOfRuns",
		t.Name() + ": cut-after operator update configmaps default/b 1": `the point "cut-after operator update configmaps default/b 1" of the schedule was not reached, because the test or the controller has changed: run the test without explore.Replay`,
	} {
		if _, err := explore.Find(t, body, explore.Replay(schedule)); err == nil || err.Error() != text {
			t.Errorf("%s:\n got %v\nwant %s", schedule, err, text)
		}
	}
	for text, option := range map[string]explore.Option{
		"Runs(0): must be at least 1":         explore.Runs(0),
		"Faults(3): must be 1 or 2":           explore.Faults(3),
		"Orders(-1): must not be negative":    explore.Orders(-1),
		"option 1 is nil":                     nil,
		"a snapshot cannot be an option of a": explore.With(remote.Snapshot(strings.NewReader("x"))),
	} {
		if _, err := explore.Find(t, body, option); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, want %s", err, text)
		}
	}
	if _, err := explore.Find(t, nil); err == nil || !strings.HasPrefix(err.Error(), "the test is nil: give a func(t testing.TB, c *explore.Cluster)") {
		t.Errorf("without a test: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		const want = "explore.Run in a synctest bubble: each run is a bubble of its own, and bubbles cannot be nested: call it outside of synctest.Test"
		if _, err := explore.Find(t, body); err == nil || err.Error() != want {
			t.Errorf("in a bubble: %v", err)
		}
	})
}

// An exploration that tries nothing would pass whatever the controller does.
func TestATestWithoutFaultPointsIsRefused(t *testing.T) {
	result, err := explore.Find(t, func(_ testing.TB, c *explore.Cluster) {
		control(c, func(ctx context.Context) error { <-ctx.Done(); return nil })
	})
	if err == nil || !strings.HasPrefix(err.Error(), "nothing can go wrong in this test: ") || result.Runs != 1 {
		t.Errorf("%+v, %v", result, err)
	}
}

// A cluster that cannot start fails the test.
func TestAClusterThatCannotStart(t *testing.T) {
	if f := findRun(t, keeper{}.oneSecret, explore.With(remote.Manifests("none.yaml"))).Failure; f == nil || f.Explanation != "" || !strings.Contains(f.Log, "no such file or directory") {
		t.Errorf("%+v", f)
	}
}

func TestTheNumberOfRunsIsBounded(t *testing.T) {
	if result := findRun(t, keeper{}.oneSecret, explore.Runs(3)); result.Runs != 3 || !result.More {
		t.Errorf("%+v", result)
	}
}

// create creates an object with a name in the namespace default.
func create(ctx context.Context, c *remote.Cluster, path, kind, name string) error {
	return client{c}.do(ctx, "POST", path, object{APIVersion: "v1", Kind: kind, Metadata: metadata{Name: name}}, nil)
}

// A controller that reads from the server is right on a real one, and wrong behind a cache.
func TestReadsWithoutAResourceVersionAreStaleOnRequest(t *testing.T) {
	body := func(t testing.TB, c *explore.Cluster) {
		c.Control("reader", c.Config(), func(ctx context.Context, c *remote.Cluster) error {
			for range 2 {
				secrets, _, err := client{c}.list(ctx, secretsOfDefault)
				if err != nil || len(secrets) > 0 {
					continue
				}
				_ = client{c}.do(ctx, "POST", secretsOfDefault, object{APIVersion: "v1", Kind: "Secret", Metadata: metadata{GenerateName: "a-"}}, nil)
			}
			return nil
		})
		c.Wait(time.Minute)
		if secrets, _, err := (client{c.Cluster}).list(context.Background(), secretsOfDefault); err != nil || len(secrets) > 1 {
			t.Errorf("%d secrets, %v", len(secrets), err)
		}
	}
	if f := findRun(t, body).Failure; f != nil {
		t.Errorf("by default: %+v", f)
	}
	f := findRun(t, body, explore.StaleReads()).Failure
	if f == nil || f.Schedule != t.Name()+": stale reader list secrets default/ 2 1" || f.Explanation != "the list of secrets default/ (number 2) by reader is answered as of 1 revision before" {
		t.Errorf("with stale reads: %+v", f)
	}
}

// The events of two kinds come in different orders, and in the same one for the same number.
func TestEventsOfKindsAreReordered(t *testing.T) {
	var seen []string
	body := func(t testing.TB, c *explore.Cluster) {
		var mu sync.Mutex
		var order []string
		c.Control("watcher", c.Config(), func(ctx context.Context, c *remote.Cluster) error {
			var both sync.WaitGroup
			for _, path := range []string{configMapsOfDefault, secretsOfDefault} {
				both.Add(1)
				go func() {
					defer both.Done()
					watch, err := client{c}.open(ctx, "GET", path+"?watch=true", nil)
					if err != nil {
						return
					}
					defer watch.Close()
					for events := json.NewDecoder(watch); ; {
						var event struct{ Object object }
						if events.Decode(&event) != nil {
							return
						}
						mu.Lock()
						order = append(order, event.Object.Kind)
						mu.Unlock()
					}
				}()
			}
			both.Wait()
			return nil
		})
		c.Wait(time.Second)
		for _, name := range []string{"a", "b"} {
			must(t, create(context.Background(), c.Cluster, configMapsOfDefault, "ConfigMap", name))
			must(t, create(context.Background(), c.Cluster, secretsOfDefault, "Secret", name))
		}
		c.Wait(time.Second)
		mu.Lock()
		seen = append(seen, strings.Join(order, " "))
		mu.Unlock()
	}
	different := map[string]bool{}
	for n := range 8 {
		replay := explore.Replay(fmt.Sprintf("%s: order %d", t.Name(), n))
		findRun(t, body, replay)
		findRun(t, body, replay)
		last := seen[len(seen)-2:]
		if last[0] != last[1] || strings.Count(last[0], "Secret") != 2 || strings.Count(last[0], "ConfigMap") != 2 {
			t.Errorf("order %d: %v", n, last)
		}
		different[last[0]] = true
	}
	if len(different) < 3 {
		t.Errorf("orders: %v", different)
	}
}

// With two faults each pair of points is tried.
func TestPairsOfFaults(t *testing.T) {
	twice := func(t testing.TB, c *explore.Cluster) {
		c.Control("twice", c.Config(), func(ctx context.Context, c *remote.Cluster) error {
			for range 2 {
				if create(ctx, c, configMapsOfDefault, "ConfigMap", "a") == nil {
					break
				}
			}
			return nil
		})
		c.Wait(time.Minute)
		if err := (client{c.Cluster}).do(context.Background(), "GET", configMapsOfDefault+"/a", nil, nil); err != nil {
			t.Error(err)
		}
	}
	if f := findRun(t, twice).Failure; f != nil {
		t.Errorf("one fault: %+v", f)
	}
	f := findRun(t, twice, explore.Faults(2)).Failure
	if f == nil || f.Schedule != t.Name()+": cut-before twice create configmaps default/ 1; cut-before twice create configmaps default/ 2" || !strings.Contains(f.Explanation, "\n") || f.Log == "" {
		t.Errorf("two faults: %+v", f)
	}
}

// A controller that crashes in the first second can read until that second is over, as in process: at the same times.
func TestAControllerThatCrashesAtItsStartMayStillRead(t *testing.T) {
	type life struct {
		began, took time.Duration // since the body began; until the context ended
		reads       int           // that were answered
	}
	var mu sync.Mutex
	var lives []life
	result := findRun(t, func(t testing.TB, c *explore.Cluster) {
		lives = nil
		start := time.Now()
		c.Control("writer", c.Config(), func(ctx context.Context, c *remote.Cluster) error {
			began := time.Now()
			l, written := life{began: began.Sub(start)}, make(chan struct{})
			go func() {
				defer close(written)
				_ = create(ctx, c, configMapsOfDefault, "ConfigMap", "a")
			}()
			for ctx.Err() == nil && time.Since(began) < time.Minute {
				time.Sleep(300 * time.Millisecond)
				if (client{c}).do(ctx, "GET", configMapsOfDefault+"/a", nil, nil) == nil {
					l.reads++
				}
			}
			<-written
			<-ctx.Done()
			l.took = time.Since(began)
			mu.Lock()
			defer mu.Unlock()
			lives = append(lives, l)
			return nil
		})
		c.Wait(10 * time.Second)
	}, explore.Replay(t.Name()+": crash-after writer create configmaps default/ 1"))
	if result.Failure != nil {
		t.Fatal(result.Failure.Log)
	}
	// The loop looks at its context every 300 ms, and the controller starts again a second after it has ended.
	if len(lives) != 2 || lives[0] != (life{0, 1200 * time.Millisecond, 3}) || lives[1].began != 2200*time.Millisecond {
		t.Errorf("the lives of the controller are %+v", lives)
	}
}

// A controller that writes without end is found in the first run, in one sentence.
func TestEndlessWritersEndTheExploration(t *testing.T) {
	result := findRun(t, func(t testing.TB, c *explore.Cluster) {
		c.Control("operator", c.Config(), func(ctx context.Context, c *remote.Cluster) error {
			for ctx.Err() == nil {
				var n object
				if err := (client{c}).do(ctx, "GET", "/api/v1/namespaces/default", nil, &n); err != nil {
					return nil
				}
				n.Metadata.Annotations = map[string]any{"n": n.Metadata.ResourceVersion}
				_ = client{c}.do(ctx, "PUT", "/api/v1/namespaces/default", n, nil)
			}
			return nil
		})
		c.Wait(time.Minute)
	})
	const want = `(?m)^fakecluster: time in the synctest bubble stands still, because of endless writes to namespaces default: \d+ writes in a row by operator update \(\d+\); `
	if f := result.Failure; f == nil || result.Runs != 1 || f.Explanation != "" || !regexp.MustCompile(want).MatchString(f.Log) {
		t.Errorf("%d runs, failure: %+v", result.Runs, f)
	}
}

// What Kubernetes' controllers and nodes do is there, and a body may wait for it.
func TestARunWithWorkloads(t *testing.T) {
	result := findRun(t, func(t testing.TB, c *explore.Cluster) {
		c.Control("maker", c.Config(), func(ctx context.Context, c *remote.Cluster) error {
			job := `{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a"}]}}}}`
			for ctx.Err() == nil && (client{c}).do(ctx, "POST", "/apis/batch/v1/namespaces/default/jobs", json.RawMessage(job), nil) != nil {
				pause(ctx, time.Second)
			}
			return nil
		})
		c.WaitFor(t, &object{APIVersion: "batch/v1", Kind: "Job", Metadata: metadata{Namespace: "default", Name: "a"}}, remote.CEL("has(object.status.active)"))
	}, explore.With(remote.Workloads(`{"nodes": 1}`)), explore.Runs(4))
	if result.Failure != nil {
		t.Error(result.Failure.Log)
	}
}

// runs names the body of TestRunFails in a process of its own.
const runs = "FAKECLUSTER_TEST_RUNS"

// bodies are those of TestRunFails, with the output of the test.
var bodies = map[string]struct {
	body explore.Body
	want string // a regular expression
}{
	"a mistake": {keeper{remembers: true}.oneSecret, `(?s)explore: the test fails if\s+operator stops right after the create of secrets default/, and is started again\s+there are 2 secrets, want one.*` +
		`fakecluster: the report is in \S+\.html.*To run this schedule alone, give Run the option explore\.Replay\("TestRunFails: crash-after operator create secrets default/ 1"\)`},
	"nothing":   {keeper{}.oneSecret, `(?s)explore: \d+ runs, with faults at \d+ points; at \d+ points more a fault would change nothing.*PASS`},
	"no test":   {nil, `explore: the test is nil: give a func`},
	"no faults": {func(testing.TB, *explore.Cluster) {}, `run_test\.go:\d+: explore: nothing can go wrong in this test`},
	"it skips":  {func(t testing.TB, _ *explore.Cluster) { t.Skip("not today") }, `(?s)not today.*--- SKIP: TestRunFails`},
	"a goroutine is left": {func(_ testing.TB, c *explore.Cluster) {
		control(c, func(ctx context.Context) error {
			go func() { <-make(chan struct{}) }()
			<-ctx.Done()
			return nil
		})
	}, `(?s)explore: the test fails without any fault:.*goroutines wait forever after the run: end what the test or a controller starts, such as an informer, a watch or a worker, with the context of c\.Control: .*run_test\.go:\d+`},
	"it ignores its context": {func(_ testing.TB, c *explore.Cluster) {
		control(c, func(context.Context) error {
			for {
				time.Sleep(time.Second)
			}
		})
	}, `panic: explore: TestRunFails: the controller c ignores its context: it has not stopped a day after that has ended, so the run cannot end\. ` +
		`Return when ctx\.Done\(\) is closed, and sleep with a timer beside it: select \{ case <-ctx\.Done\(\): return nil; case <-time\.After\(pause\): \}`},
	"it waits outside": {func(_ testing.TB, c *explore.Cluster) { <-outside },
		`(?s)panic: explore: TestRunFails: time in the synctest bubble stands still, because a goroutine waits for a channel that was created outside of the bubble: create it in the body\. The goroutine that waits:.*run_test\.go:\d+`},
	"it has a transport of its own": {func(_ testing.TB, c *explore.Cluster) {
		req, err := http.NewRequest("GET", c.URL()+configMaps, nil)
		if err != nil {
			panic(err)
		}
		req.Header.Set("Authorization", "Bearer "+c.Token())
		if answer, err := (&http.Client{Transport: &http.Transport{}}).Do(req); err == nil {
			_, _ = io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
		}
		c.Wait(time.Second)
	}, `give the client the transport of the cluster, as in &rest\.Config\{Host: c\.URL\(\)`},
}

var outside = make(chan struct{}) // never closed

// What Run writes into the log of a test, and how it fails.
func TestRunFails(t *testing.T) {
	if name := os.Getenv(runs); name != "" {
		explore.Run(t, bodies[name].body)
		return
	}
	for name, tt := range bodies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			command := exec.Command(os.Args[0], "-test.run", "^TestRunFails$", "-test.v")
			command.Dir = folder
			command.Env = append(os.Environ(), runs+"="+name, "FAKECLUSTER_REPORT=pages")
			text, err := command.CombinedOutput()
			if passes := name == "nothing" || name == "it skips"; (err == nil) != passes || !regexp.MustCompile(tt.want).Match(text) {
				t.Errorf("%v:\n%s", err, text)
			}
			want := 0
			if name == "a mistake" {
				want = 1
			}
			if pages, err := filepath.Glob(folder + "/pages/*.html"); err != nil || len(pages) != want {
				t.Errorf("%v, %v, want %d", pages, err, want)
			}
		})
	}
}
