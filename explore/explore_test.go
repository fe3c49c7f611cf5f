package explore_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/explore"
)

func find(t *testing.T, body explore.Body, options ...explore.Option) explore.Result {
	t.Helper()
	result, err := explore.Find(t, body, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d runs, %d points, %d pruned", result.Runs, result.Points, result.Pruned)
	return result
}

func TestACorrectControllerPasses(t *testing.T) {
	result := find(t, operator{}.oneSecret)
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
		operator              operator
		point, explained, log string
	}{
		"trusts a stale cache": {operator{trustsCache: true}, "late operator watch secrets - 1",
			"the events of the watch of secrets by operator come 30s late", "there are 2 secrets, want one"},
		"ignores a failed write": {operator{ignoresErrors: true}, "cut-before operator update configmaps default/a 1",
			"the connection breaks before the update of configmaps default/a by operator is made", "the ConfigMap is not ready"},
		"leaks on restart": {operator{remembers: true}, "crash-after operator create secrets default/ 1",
			"operator stops right after the create of secrets default/, and is started again", "there are 2 secrets, want one"},
	} {
		t.Run(mistake, func(t *testing.T) {
			f := find(t, tt.operator.oneSecret).Failure
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
			again := find(t, tt.operator.oneSecret, explore.Replay(f.Schedule))
			if again.Runs != 1 || again.Failure == nil || again.Failure.Schedule != f.Schedule {
				t.Errorf("the replay: %+v", again)
			}
			corrected := find(t, operator{}.oneSecret, explore.Replay(f.Schedule))
			if corrected.Failure != nil {
				t.Errorf("the replay with a correct operator: %+v", corrected.Failure)
			}
		})
	}
}

func TestExplorationsAreRepeatable(t *testing.T) {
	first := find(t, operator{trustsCache: true}.oneSecret)
	second := find(t, operator{trustsCache: true}.oneSecret)
	if first.Runs != second.Runs || first.Points != second.Points || first.Failure == nil || second.Failure == nil || first.Failure.Schedule != second.Failure.Schedule {
		t.Errorf("%+v\n%+v", first, second)
	}
}

func TestATestThatFailsWithoutFaultsIsReportedAsSuch(t *testing.T) {
	for name, tt := range map[string]struct {
		body explore.Body
		log  string
	}{
		"an error": {func(t testing.TB, _ *explore.Cluster) { t.Error("it is", "so") }, "it is so"},
		"a fatal":  {func(t testing.TB, _ *explore.Cluster) { t.Fatalf("it is %d", 5) }, "it is 5"},
		"a panic":  {func(testing.TB, *explore.Cluster) { panic("oh") }, "the test has panicked: oh\n"},
		"no configuration": {func(_ testing.TB, c *explore.Cluster) { c.Control("a", nil, nil) },
			"explore: the configuration of the controller a is nil: give c.RESTConfig(), or that of its service account"},
		"no function": {func(_ testing.TB, c *explore.Cluster) { c.Control("a", c.RESTConfig(), nil) },
			"explore: the function of the controller a is nil: give a func(ctx context.Context, config *rest.Config) error that runs it until ctx ends"},
		"a name":     {func(_ testing.TB, c *explore.Cluster) { c.Control("a b", c.RESTConfig(), nil) }, `explore: "a b" cannot be the name of a controller: use one word without a slash`},
		"controller": {func(_ testing.TB, c *explore.Cluster) { control(c, func(context.Context) error { return errBroken }) }, "the controller c has returned an error: broken"},
		"it panics":  {func(_ testing.TB, c *explore.Cluster) { control(c, func(context.Context) error { panic("oh") }) }, "the controller c has panicked: oh\n"},
		"it goes on": {func(_ testing.TB, c *explore.Cluster) {
			control(c, func(context.Context) error { time.Sleep(time.Hour); return nil })
		}, "the controller c has not stopped 10m0s after its context ended"},
	} {
		t.Run(name, func(t *testing.T) {
			result := find(t, tt.body)
			if f := result.Failure; f == nil || result.Runs != 1 || f.Schedule != t.Name()+": " || f.Explanation != "" || !strings.Contains(f.Log, tt.log) {
				t.Errorf("%+v", f)
			}
		})
	}
}

func control(c *explore.Cluster, run func(context.Context) error) {
	c.Control("c", c.RESTConfig(), func(ctx context.Context, _ *rest.Config) error { return run(ctx) })
	c.Wait(time.Second)
}

func TestSchedulesThatCannotBeReplayedAreRefused(t *testing.T) {
	body := operator{}.oneSecret
	for schedule, text := range map[string]string{
		"TestOther: cut-after operator update configmaps default/a 1": "the schedule belongs to the test TestOther, not to TestSchedulesThatCannotBeReplayedAreRefused",
		"cut-after": `the schedule "cut-after" does not begin with the name of its test`,
		t.Name() + ": cut-after operator update configmaps default/b 1": `the point "cut-after operator update configmaps default/b 1" of the schedule was not reached, because the test or the controller has changed: run the test without explore.Replay`,
		t.Name() + ": break operator update configmaps default/a 1":     `the part "break operator update configmaps default/a 1" of the schedule: unknown fault "break"; the faults are crash-after, cut-after, late, stale, cut-before, crash-before, drop, order`,
		t.Name() + ": drop operator watch configmaps - 1":               `the part "drop operator watch configmaps - 1" of the schedule: drop takes 6 words, not 5`,
		t.Name() + ": order x": `the part "order x" of the schedule: "x" is not a whole number, 0 or more`,
		t.Name() + ": cut-after operator update configmaps default/a 0": `the part "cut-after operator update configmaps default/a 0" of the schedule: "0" is not the number of a request: the first is 1`,
	} {
		if _, err := explore.Find(t, body, explore.Replay(schedule)); err == nil || err.Error() != text {
			t.Errorf("%s:\n got %v\nwant %s", schedule, err, text)
		}
	}
	for text, option := range map[string]explore.Option{
		"Runs(0): must be at least 1":      explore.Runs(0),
		"Faults(3): must be 1 or 2":        explore.Faults(3),
		"Orders(-1): must not be negative": explore.Orders(-1),
		"option 1 is nil":                  nil,
	} {
		if _, err := explore.Find(t, body, option); err == nil || err.Error() != text {
			t.Errorf("got %v, want %s", err, text)
		}
	}
}

// Mistakes that would otherwise end the process with a message of Go's runtime.
func TestExplorationsThatCannotRunAreRefused(t *testing.T) {
	const noTest = "the test is nil: give a func(t testing.TB, c *explore.Cluster) that starts a controller with c.Control and checks what it does"
	if _, err := explore.Find(t, nil); err == nil || err.Error() != noTest {
		t.Errorf("without a test: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		const inBubble = " in a synctest bubble: each run is a bubble of its own, and bubbles cannot be nested: call it outside of synctest.Test"
		if _, err := explore.Find(t, operator{}.oneSecret); err == nil || err.Error() != "explore.Run"+inBubble {
			t.Errorf("in a bubble: %v", err)
		}
		if _, err := explore.FindOperator(t, explore.Subject{}); err == nil || err.Error() != "explore.Operator"+inBubble {
			t.Errorf("an operator in a bubble: %v", err)
		}
	})
}

// An exploration that tries nothing would pass whatever the controller does.
func TestATestWithoutFaultPointsIsRefused(t *testing.T) {
	for name, body := range map[string]explore.Body{
		"no controller": func(t testing.TB, c *explore.Cluster) {
			_, err := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().ConfigMaps("default").
				Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
			if err != nil {
				t.Error(err)
			}
		},
		"one without requests": func(_ testing.TB, c *explore.Cluster) {
			control(c, func(ctx context.Context) error { <-ctx.Done(); return nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := explore.Find(t, body)
			if err == nil || !strings.HasPrefix(err.Error(), "nothing can go wrong in this test: ") || result.Runs != 1 {
				t.Errorf("%+v, %v", result, err)
			}
		})
	}
}

func TestTheNumberOfRunsIsBounded(t *testing.T) {
	result := find(t, operator{}.oneSecret, explore.Runs(3))
	if result.Runs != 3 || !result.More {
		t.Errorf("%+v", result)
	}
}

// A controller that reads from the server is right on a real one, and wrong behind a cache.
func TestReadsWithoutAResourceVersionAreStaleOnRequest(t *testing.T) {
	body := func(t testing.TB, c *explore.Cluster) {
		c.Control("reader", c.RESTConfig(), func(ctx context.Context, config *rest.Config) error {
			secrets := kubernetes.NewForConfigOrDie(config).CoreV1().Secrets("default")
			for range 2 {
				list, err := secrets.List(ctx, metav1.ListOptions{})
				if err != nil || len(list.Items) > 0 {
					continue
				}
				_, _ = secrets.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{GenerateName: "a-"}}, metav1.CreateOptions{})
			}
			return nil
		})
		c.Wait(time.Minute)
		secrets, err := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().Secrets("default").List(t.Context(), metav1.ListOptions{})
		if err != nil || len(secrets.Items) > 1 {
			t.Errorf("%d secrets, %v", len(secrets.Items), err)
		}
	}
	if f := find(t, body).Failure; f != nil {
		t.Errorf("by default: %+v", f)
	}
	f := find(t, body, explore.StaleReads()).Failure
	if f == nil || f.Schedule != t.Name()+": stale reader list secrets default/ 2 1" || f.Explanation != "the list of secrets default/ (number 2) by reader is answered as of 1 revision before" {
		t.Errorf("with stale reads: %+v", f)
	}
}

// The events of two kinds come in both orders, and in the same one for the same number.
func TestEventsOfKindsAreReordered(t *testing.T) {
	var seen []string
	body := func(t testing.TB, c *explore.Cluster) {
		var mu sync.Mutex
		var order []string
		c.Control("watcher", c.RESTConfig(), func(ctx context.Context, config *rest.Config) error {
			client := kubernetes.NewForConfigOrDie(config).CoreV1()
			follow := func(w watch.Interface, err error) {
				if err != nil {
					t.Error(err)
					return
				}
				context.AfterFunc(ctx, w.Stop)
				for e := range w.ResultChan() {
					mu.Lock()
					order = append(order, fmt.Sprintf("%T", e.Object))
					mu.Unlock()
				}
			}
			var both sync.WaitGroup
			both.Go(func() { follow(client.ConfigMaps("default").Watch(ctx, metav1.ListOptions{})) })
			both.Go(func() { follow(client.Secrets("default").Watch(ctx, metav1.ListOptions{})) })
			both.Wait()
			return nil
		})
		c.Wait(time.Second)
		client := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1()
		for _, name := range []string{"a", "b"} {
			_, err := client.ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			_, err = client.Secrets("default").Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
		}
		c.Wait(time.Second)
		mu.Lock()
		seen = append(seen, strings.ReplaceAll(strings.Join(order, " "), "*v1.", ""))
		mu.Unlock()
	}
	different := map[string]bool{}
	for n := range 8 {
		replay := explore.Replay(fmt.Sprintf("%s: order %d", t.Name(), n))
		find(t, body, replay)
		find(t, body, replay)
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

// With two faults each pair of points is tried, and a correct controller passes still.
func TestPairsOfFaults(t *testing.T) {
	result := find(t, operator{}.oneSecret, explore.Faults(2), explore.Orders(1), explore.Runs(120))
	if f := result.Failure; f != nil {
		t.Errorf("%s\n%s\n%s", f.Schedule, f.Explanation, f.Log)
	}
	if result.Runs != 120 || !result.More {
		t.Errorf("%+v", result)
	}
	// The controller tries twice, so that it takes two faults to break it.
	twice := func(t testing.TB, c *explore.Cluster) {
		c.Control("twice", c.RESTConfig(), func(ctx context.Context, config *rest.Config) error {
			configMaps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default")
			for range 2 {
				if _, err := configMaps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{}); err == nil {
					break
				}
			}
			return nil
		})
		c.Wait(time.Minute)
		if _, err := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().ConfigMaps("default").Get(t.Context(), "a", metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
	}
	if f := find(t, twice).Failure; f != nil {
		t.Errorf("one fault: %+v", f)
	}
	f := find(t, twice, explore.Faults(2)).Failure
	if f == nil || f.Schedule != t.Name()+": cut-before twice create configmaps default/ 1; cut-before twice create configmaps default/ 2" ||
		!strings.Contains(f.Explanation, "\n") || f.Log == "" {
		t.Errorf("two faults: %+v", f)
	}
}
