package fakecluster_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	clientrest "k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/bubble"
)

const (
	startInBubble = "a cluster in a synctest bubble must be in process, because time stands still while a goroutine waits for a socket: write fakecluster.Start(t, fakecluster.InProcess())"
	forkInBubble  = "forking: the cluster has a socket, so its fork cannot run in a synctest bubble: " +
		"write base := fakecluster.Start(t, fakecluster.InProcess()) outside of the bubble, and base.Fork(t) inside"
	usedInBubble = "fakecluster: the cluster was started outside of the synctest bubble that uses it: " +
		"write c := base.Fork(t) in the bubble, where base is a cluster with InProcess(), and use the clients of c"
	usedOutside = "fakecluster: the cluster was started in a synctest bubble and is used outside of it: " +
		"use the cluster in the function of synctest.Test, or start it with InProcess() outside and write c := base.Fork(t) in the bubble"
)

// reporting is a test that records its failures.
type reporting struct {
	testing.TB
	errors []string
}

func (r *reporting) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}
func (r *reporting) Failed() bool { return false }

func mapsOf(cfg *clientrest.Config) typedcorev1.ConfigMapInterface {
	return kubernetes.NewForConfigOrDie(cfg).CoreV1().ConfigMaps("default")
}

func TestAClusterInABubbleNeedsInProcess(t *testing.T) {
	socket := fakecluster.Start(t)
	synctest.Test(t, func(t *testing.T) {
		equal(t, "Start", fatal(t, func(t testing.TB) { fakecluster.Start(t) }), "fakecluster: "+startInBubble)
		_, err := fakecluster.New(fakecluster.WithTLS())
		fails(t, "New", err, startInBubble)
		equal(t, "Fork", fatal(t, func(t testing.TB) { socket.Fork(t) }), "fakecluster: "+forkInBubble)
		_, err = socket.NewFork()
		fails(t, "NewFork", err, forkInBubble)
		_, err = fakecluster.Start(t, fakecluster.InProcess()).Kubeconfig()
		fails(t, "Kubeconfig", err, "kubeconfig: a cluster in a synctest bubble has no socket for other processes: call Kubeconfig for a cluster that was started outside of bubbles")
	})
}

// A cluster belongs to the bubble in which it was started. The error reaches the client, and the test once.
func TestAClusterIsNotUsedFromTheOtherSideOfABubble(t *testing.T) {
	for name, options := range map[string][]fakecluster.Option{"in process": {fakecluster.InProcess()}, "a socket": nil, "TLS": {fakecluster.WithTLS()}} {
		t.Run(name, func(t *testing.T) {
			tb := &reporting{TB: t}
			c := fakecluster.Start(tb, options...)
			before := mapsOf(c.RESTConfig())
			synctest.Test(t, func(t *testing.T) {
				for _, maps := range []typedcorev1.ConfigMapInterface{before, mapsOf(c.RESTConfig()), mapsOf(c.ConfigFor("jane"))} {
					_, err := maps.Watch(t.Context(), metav1.ListOptions{})
					if err == nil || !strings.HasSuffix(err.Error(), ": "+usedInBubble) {
						t.Errorf("error: %v", err)
					}
				}
			})
			equal(t, "failures of the test", tb.errors, []string{usedInBubble})
			_, err := before.List(t.Context(), metav1.ListOptions{})
			must(t, err)
		})
	}
	t.Run("from outside", func(t *testing.T) {
		use, used := make(chan *fakecluster.Cluster), make(chan error)
		go func() {
			_, err := mapsOf((<-use).RESTConfig()).List(t.Context(), metav1.ListOptions{})
			used <- err
		}()
		synctest.Test(t, func(t *testing.T) {
			tb := &reporting{TB: t}
			use <- fakecluster.Start(tb, fakecluster.InProcess())
			if err := <-used; err == nil || !strings.HasSuffix(err.Error(), ": "+usedOutside) {
				t.Errorf("error: %v", err)
			}
			equal(t, "failures of the test", tb.errors, []string{usedOutside})
		})
	})
	t.Run("after its test", func(t *testing.T) {
		var c *fakecluster.Cluster
		synctest.Test(t, func(t *testing.T) { c = fakecluster.Start(t, fakecluster.InProcess()) })
		if _, err := mapsOf(c.RESTConfig()).List(t.Context(), metav1.ListOptions{}); err == nil || !strings.HasSuffix(err.Error(), ": "+usedOutside) {
			t.Errorf("error: %v", err)
		}
	})
}

// A controller that writes without end never lets the time of the bubble advance. It is refused, and the sleep of the test ends.
func TestEndlessWritesInABubbleFailTheTest(t *testing.T) {
	const advice = ". Write only what has changed: if !equality.Semantic.DeepEqual(before, after) { … }"
	for _, test := range []struct {
		rule, want string
		write      func(maps typedcorev1.ConfigMapInterface, configMap *corev1.ConfigMap) (*corev1.ConfigMap, error)
	}{
		{"writes that change something", "time in the synctest bubble stands still, because of endless writes to configmaps default/a: 2001 writes in a row by operator update (2000), operator create (1); " +
			`the last: data.a: "N" → "N"` + advice, func(maps typedcorev1.ConfigMapInterface, configMap *corev1.ConfigMap) (*corev1.ConfigMap, error) {
			configMap.Data = map[string]string{"a": configMap.ResourceVersion}
			return maps.Update(context.Background(), configMap, metav1.UpdateOptions{})
		}},
		{"writes that change nothing", "time in the synctest bubble stands still, because of endless writes to PUT /api/v1/namespaces/default/configmaps/a from operator (2001 times)" + advice,
			func(maps typedcorev1.ConfigMapInterface, configMap *corev1.ConfigMap) (*corev1.ConfigMap, error) {
				return maps.Update(context.Background(), configMap, metav1.UpdateOptions{})
			}},
	} {
		t.Run(test.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tb := &reporting{TB: t}
				c := fakecluster.Start(tb, fakecluster.InProcess())
				cfg := c.RESTConfig()
				cfg.UserAgent = "operator"
				maps := mapsOf(cfg)
				obj, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
				must(t, err)
				ended := make(chan error)
				go func() {
					for {
						got, err := test.write(maps, obj)
						if err != nil {
							ended <- err
							return
						}
						obj = got
					}
				}()
				time.Sleep(time.Minute)
				err = <-ended
				number := regexp.MustCompile(`"\d+"`)
				fails(t, "the controller", fmt.Errorf("%s", number.ReplaceAllString(err.Error(), `"N"`)), "Internal error occurred: fakecluster: "+test.want)
				equal(t, "failures of the test", number.ReplaceAllString(strings.Join(tb.errors, "\n"), `"N"`), "fakecluster: "+test.want)
				_, err = maps.Get(t.Context(), "a", metav1.GetOptions{})
				must(t, err)
			})
		})
	}
	t.Run("without a test, Close returns it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, err := fakecluster.New(fakecluster.InProcess())
			must(t, err)
			for err == nil {
				err = mapsOf(c.RESTConfig()).Delete(t.Context(), "a", metav1.DeleteOptions{})
				if err != nil && strings.HasSuffix(err.Error(), "not found") {
					err = nil
				}
			}
			err = c.Close()
			if err == nil || !strings.Contains(err.Error(), "endless writes to DELETE /api/v1/namespaces/default/configmaps/a from fakecluster.test (2001 times)") {
				t.Errorf("error of Close: %v", err)
			}
		})
	})
}

// Too many requests at one moment fail the test. The usual limits are 200,000 writes, 50,000 reads of one path, 100,000 reads without a write and 1,000,000 requests. As many as the limit are
// accepted, and so are more once time has advanced.
func TestTooManyRequestsAtOneMoment(t *testing.T) {
	const still = "fakecluster: time in the synctest bubble stands still, because "
	for _, test := range []struct {
		rule string
		send func(maps typedcorev1.ConfigMapInterface, i int) error
		want string
	}{
		{"writes of many objects", func(maps typedcorev1.ConfigMapInterface, i int) error {
			_, err := maps.Create(context.Background(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("a", i)}}, metav1.CreateOptions{})
			return err
		}, still + "11 writes came at the same moment, the last of them POST /api/v1/namespaces/default/configmaps from operator. If this is on purpose, write time.Sleep(time.Millisecond) between them"},
		{"reads of many objects", func(maps typedcorev1.ConfigMapInterface, i int) error {
			_, _ = maps.Get(context.Background(), fmt.Sprint("a", i), metav1.GetOptions{})
			return nil
		}, still + "19 reads came at the same moment and nothing was written, the last of them GET /api/v1/namespaces/default/configmaps/a118 from operator. " +
			"Write time.Sleep(time.Millisecond) between two reads of a loop, or c.WaitFor instead of the loop"},
		{"reads and writes of many objects", func(maps typedcorev1.ConfigMapInterface, i int) (err error) {
			if i%3 == 0 {
				_, err = maps.Create(context.Background(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("b", i)}}, metav1.CreateOptions{})
			} else {
				_, _ = maps.Get(context.Background(), fmt.Sprint("a", i), metav1.GetOptions{})
			}
			return err
		}, still + "21 requests came at the same moment, the last of them POST /api/v1/namespaces/default/configmaps from operator. Write time.Sleep(time.Millisecond) between two reads of a loop"},
		{"reads of one path", func(maps typedcorev1.ConfigMapInterface, _ int) error {
			_, err := maps.List(context.Background(), metav1.ListOptions{})
			return err
		}, still + "GET /api/v1/namespaces/default/configmaps from operator came 16 times at the same moment. Write time.Sleep(time.Millisecond) between two reads of a loop, or c.WaitFor instead of the loop"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tb := &reporting{TB: t}
				c := fakecluster.Start(tb, fakecluster.InProcess(), fakecluster.LimitedAtOneMoment(10, 20))
				cfg := c.RESTConfig()
				cfg.UserAgent = "operator"
				for i := range 30 {
					must(t, test.send(mapsOf(cfg), i))
					if i%10 == 9 {
						time.Sleep(time.Millisecond)
					}
				}
				equal(t, "failures of the test with pauses", len(tb.errors), 0)
				for i := range 30 {
					_ = test.send(mapsOf(cfg), 100+i)
				}
				equal(t, "failures of the test", tb.errors, []string{test.want})
			})
		})
	}
}

// stoodStill is the name of a test that hangs, which another one runs in a process of its own.
const stoodStill = "FAKECLUSTER_TEST_STANDS_STILL"

func TestTimeStandsStill(t *testing.T) {
	if os.Getenv(stoodStill) == "" {
		t.Skip("TestATestWhoseTimeStandsStillFails runs it in another process")
	}
	synctest.Test(t, func(t *testing.T) {
		fakecluster.Start(t, fakecluster.InProcess())
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		go listener.Accept()
		time.Sleep(time.Hour)
	})
}

func TestTimePassesWithoutEnd(t *testing.T) {
	way := os.Getenv(passesWithoutEnd)
	if way == "" {
		t.Skip("TestATestWhoseTimePassesWithoutEndFails runs it in another process")
	}
	rest := rests(t)
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess())
		maps := informers.NewSharedInformerFactory(c.Clientset(), 0)
		informer := maps.Core().V1().ConfigMaps()
		has := informer.Informer().HasSynced
		maps.Start(t.Context().Done())
		for !has() {
			time.Sleep(time.Second)
		}
		if way != "loop" {
			c.Hold()
			_, err := mapsOf(c.RESTConfig()).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
			must(t, err)
		}
		for {
			if _, err := informer.Lister().ConfigMaps("default").Get("a"); err == nil {
				return
			}
			if way == "hold and reads" {
				_, err := mapsOf(c.RESTConfig()).Get(t.Context(), "a", metav1.GetOptions{})
				must(t, err)
			}
			rest()
			time.Sleep(time.Minute)
		}
	})
}

// rests returns a function that takes a millisecond of real time, in a system call, so that a loop in a bubble needs little of
// a processor.
func rests(t *testing.T) (rest func()) {
	t.Helper()
	r, w, err := os.Pipe()
	must(t, err)
	r.Fd() // now a read is a system call until its end
	var writing sync.WaitGroup
	ended := make(chan struct{})
	writing.Go(func() {
		defer w.Close()
		for ticks := time.NewTicker(time.Millisecond); ; {
			select {
			case <-ticks.C:
				_, _ = w.Write([]byte{0})
			case <-ended:
				return
			}
		}
	})
	t.Cleanup(func() {
		close(ended)
		writing.Wait()
		_ = r.Close()
	})
	return func() { _, _ = r.Read(make([]byte, 1)) }
}

// passesWithoutEnd is the name of a variable with the way in which a test waits for ever, in a process of its own.
const passesWithoutEnd = "FAKECLUSTER_TEST_PASSES_WITHOUT_END"

// A loop that sleeps until something comes which is held back, or never comes, is found although time passes.
func TestATestWhoseTimePassesWithoutEndFails(t *testing.T) {
	for way, want := range map[string]string{
		"hold":           `\d+ hours have passed without a write of the test or its controllers, and c\.Hold keeps back 1 watch event: deliver them, as with hold\.Drain\(10\), or write defer hold\.Release\(\)\. `,
		"hold and reads": `\d+ hours have passed without a write of the test or its controllers, and c\.Hold keeps back 1 watch event: deliver them, as with hold\.Drain\(10\), or write defer hold\.Release\(\)\. `,
		"loop":           `\d+ days have passed without a request of the test or its controllers, and the test waits for something that does not come: give the loop an end, or write c\.WaitFor in its place\. `,
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTimePassesWithoutEnd$", "-test.timeout=5m")
			cmd.Env = append(os.Environ(), passesWithoutEnd+"="+way)
			out, err := cmd.CombinedOutput()
			want := regexp.MustCompile(`panic: TestTimePassesWithoutEnd: time in the synctest bubble passes without end: ` + want + `The goroutine of the test:\s+goroutine`)
			if err == nil || !want.Match(out) || !strings.Contains(string(out), "bubble_test.go") {
				t.Errorf("%v, output:\n%s\nwant: %s", err, out, want)
			}
		})
	}
}

// Time passes in these tests, too: one delivers what it holds, and in the other there is nothing to request for less than three days. Both go on for
// longer than the checks need.
func TestATestWhoseTimePassesAndThatGoesOn(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it takes 15 seconds of real time")
	}
	for way, body := range map[string]func(t *testing.T, c *fakecluster.Cluster, rest func(), goesOn func() bool){
		"deliveries": func(t *testing.T, c *fakecluster.Cluster, rest func(), goesOn func() bool) {
			hold := c.Hold()
			defer hold.Release()
			maps := mapsOf(c.RESTConfig())
			watch, err := maps.Watch(t.Context(), metav1.ListOptions{})
			must(t, err)
			defer watch.Stop()
			for i := range 3000 {
				_, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("a", i)}}, metav1.CreateOptions{})
				must(t, err)
			}
			for goesOn() && hold.Deliver(1) == 1 {
				for range 60 {
					_, err := maps.Get(t.Context(), "a0", metav1.GetOptions{})
					must(t, err)
					rest()
					time.Sleep(time.Minute)
				}
			}
		},
		"nearly three days": func(t *testing.T, c *fakecluster.Cluster, rest func(), goesOn func() bool) {
			time.Sleep(24 * time.Hour)
			for end := time.Now().Add(46 * time.Hour); time.Now().Before(end); time.Sleep(time.Minute) {
				for range 5 {
					rest()
				}
			}
		},
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			started, rest := realNow(), rests(t)
			synctest.Test(t, func(t *testing.T) {
				body(t, fakecluster.Start(t, fakecluster.InProcess()), rest, func() bool { return realNow().Sub(started) < 15*time.Second })
			})
		})
	}
}

// realNow is the time outside of the bubble.
func realNow() time.Time {
	var now syscall.Timeval
	_ = syscall.Gettimeofday(&now) // it fails for a bad address alone
	return time.Unix(now.Unix())
}

// readsWithoutEnd is the name of a variable with the way in which a test loops on reads, in a process of its own.
const readsWithoutEnd = "FAKECLUSTER_TEST_READS_WITHOUT_END"

func TestReadsWithoutEnd(t *testing.T) {
	way := os.Getenv(readsWithoutEnd)
	if way == "" {
		t.Skip("TestATestThatReadsWithoutEndFails runs it in another process")
	}
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.LimitedAtOneMoment(1_000, 1_000))
		for i := 0; ; i++ {
			name := "never"
			if way == "different" {
				name = fmt.Sprint("never", i)
			}
			if _, err := mapsOf(c.RESTConfig()).Get(t.Context(), name, metav1.GetOptions{}); err == nil {
				return
			}
		}
	})
}

// A loop of the test that reads without a pause is found, also if it goes on after the test has failed.
func TestATestThatReadsWithoutEndFails(t *testing.T) {
	const path = "GET /api/v1/namespaces/default/configmaps/never"
	for way, want := range map[string]string{
		"one":       path + " from fakecluster.test came 996 times at the same moment. ",
		"different": "999 reads came at the same moment and nothing was written, the last of them " + path + "998 from fakecluster.test. ",
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestReadsWithoutEnd$", "-test.timeout=5m")
			cmd.Env = append(os.Environ(), readsWithoutEnd+"="+way)
			out, err := cmd.CombinedOutput()
			want := "panic: TestReadsWithoutEnd: time in the synctest bubble stands still, because " + want +
				"Write time.Sleep(time.Millisecond) between two reads of a loop, or c.WaitFor instead of the loop"
			if err == nil || !strings.Contains(string(out), want) {
				t.Errorf("%v, output:\n%.2000s\nwant: %s", err, out, want)
			}
		})
	}
}

// In a bubble that another process drives, a loop fails the test there, and ends that process instead of this one.
func TestALoopInADrivenBubbleEndsTheProcessOfTheTest(t *testing.T) {
	const want = "time in the synctest bubble stands still, because 99 reads came at the same moment and nothing was written, the last of them GET /api/v1/namespaces/default/configmaps/a98 from fakecluster.test. " +
		"Write time.Sleep(time.Millisecond) between two reads of a loop, or c.WaitFor instead of the loop"
	synctest.Test(t, func(t *testing.T) {
		var failed, ended []string
		defer bubble.Drive(bubble.Driver{
			Fail: func(mistake string) { failed = append(failed, mistake) },
			End:  func(mistake string) { ended = append(ended, mistake) },
		})()
		c, err := fakecluster.New(fakecluster.InProcess(), fakecluster.LimitedAtOneMoment(100, 100))
		must(t, err)
		for i := range 300 {
			_, _ = mapsOf(c.RESTConfig()).Get(t.Context(), fmt.Sprint("a", i), metav1.GetOptions{})
		}
		equal(t, "mistakes", failed, []string{want})
		equal(t, "ends", ended, []string{"fakecluster: " + want})
		must(t, c.Close())
	})
}

// runsWithoutPause is the name of a variable with the way in which a goroutine runs, in a process of its own.
const runsWithoutPause = "FAKECLUSTER_TEST_RUNS_WITHOUT_PAUSE"

func TestRunsWithoutPause(t *testing.T) {
	way := os.Getenv(runsWithoutPause)
	if way == "" {
		t.Skip("TestAGoroutineThatRunsWithoutAPauseIsShown runs it in another process")
	}
	var checks atomic.Int64
	go func() { // in place of the checks of each second
		for t.Context().Err() == nil {
			time.Sleep(10 * time.Millisecond)
			bubble.Check()
			checks.Add(1)
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.LimitedAtOneMoment(1_000, 1_000))
		if way == "computes" {
			for checks.Load() < 100 {
			}
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for {
			if _, err := mapsOf(c.RESTConfig()).Get(ctx, "never", metav1.GetOptions{}); err == nil {
				return
			}
		}
	})
}

// A goroutine that runs without a pause is shown. It ends its test if that has failed for requests without a pause, as a controller that goes on when its context has ended.
func TestAGoroutineThatRunsWithoutAPauseIsShown(t *testing.T) {
	for way, want := range map[string]string{
		"computes": `fakecluster: TestRunsWithoutPause: a goroutine in the synctest bubble has run for 20 seconds, and nothing was written meanwhile. If it loops until something comes: ` +
			"write time.Sleep(time.Millisecond) in the loop, because time stands still while it runs, and end it with its context. The goroutine that runs:\n\ngoroutine ",
		"reads": "panic: TestRunsWithoutPause: time in the synctest bubble stands still, because GET /api/v1/namespaces/default/configmaps/never from fakecluster.test came 996 times at the same moment. " +
			"Write time.Sleep(time.Millisecond) between two reads of a loop, or c.WaitFor instead of the loop. The goroutine that runs:",
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRunsWithoutPause$", "-test.timeout=5m")
			cmd.Env = append(os.Environ(), runsWithoutPause+"="+way)
			out, err := cmd.CombinedOutput()
			if passed := err == nil; passed != (way == "computes") || !strings.Contains(string(out), want) || !strings.Contains(string(out), "bubble_test.go") {
				t.Errorf("%v, output:\n%.3000s\nwant: %s", err, out, want)
			}
		})
	}
}

// leavesBehind is the name of a variable with what a test leaves behind, in a process of its own.
const leavesBehind = "FAKECLUSTER_TEST_LEAVES_BEHIND"

func TestLeavesBehind(t *testing.T) {
	what := os.Getenv(leavesBehind)
	if what == "" {
		t.Skip("TestATestThatLeavesSomethingBehindSaysSo runs it in another process")
	}
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess())
		if what == "informer" {
			maps := informers.NewSharedInformerFactory(c.Clientset(), 0)
			maps.Core().V1().ConfigMaps().Informer()
			stop := make(chan struct{})
			maps.Start(stop)
			maps.WaitForCacheSync(stop)
			return
		}
		_, err := mapsOf(c.RESTConfig()).Watch(context.Background(), metav1.ListOptions{})
		must(t, err)
		_, err = mapsOf(c.RESTConfig()).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
		must(t, err)
		synctest.Wait() // for the event, which nobody takes
	})
}

// The runtime ends a bubble in which something waits for ever. The log of the test says what that is before.
func TestATestThatLeavesSomethingBehindSaysSo(t *testing.T) {
	for what, want := range map[string]string{
		"informer": "an informer is never stopped: start it with the context of the test, as factory.Start(t.Context().Done()). The goroutine that waits:",
		"watch":    "a watch is never stopped: write defer w.Stop(). The goroutine that waits:",
	} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLeavesBehind$", "-test.timeout=5m")
		cmd.Env = append(os.Environ(), leavesBehind+"="+what)
		out, err := cmd.CombinedOutput()
		if want = "fakecluster: something is left in the synctest bubble that waits for ever: " + want; err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, output:\n%s\nwant: %s", what, err, out, want)
		}
	}
}

// Nothing in a bubble can find that its time stands still, so a check outside ends the process.
func TestATestWhoseTimeStandsStillFails(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTimeStandsStill$", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), stoodStill+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatalf("it passes:\n%s", out)
	}
	const want = "panic: TestTimeStandsStill: time in the synctest bubble stands still, because a server listens on a socket: " +
		"start it before synctest.Test, and give its clients a transport that keeps no connection, &http.Transport{DisableKeepAlives: true}; " +
		"or serve its handler with fakecluster.WithService. The goroutine that waits:"
	if text := string(out); !strings.Contains(text, want) || !strings.Contains(text, "bubble_test.go") {
		t.Errorf("output:\n%s\nwant: %s", text, want)
	}
}

// socketFromBubble is the name of a variable that has a client in a bubble use a socket, in a process of its own.
const socketFromBubble = "FAKECLUSTER_TEST_SOCKET_FROM_BUBBLE"

func TestUsesASocketFromABubble(t *testing.T) {
	if os.Getenv(socketFromBubble) == "" {
		t.Skip("TestAClientWithASocketInABubbleFails runs it in another process")
	}
	c := fakecluster.Start(t)
	begun := make(chan struct{})
	go func() { // in place of the checks of each second
		<-begun
		for range 100 {
			bubble.Check()
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		answer, err := http.Get(c.RESTConfig().Host + "/version")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(answer.Body); err != nil {
			t.Error(err)
		}
		_ = answer.Body.Close()
		close(begun)
		time.Sleep(time.Hour)
	})
}

// A client of its own, without the transport of RESTConfig, stops the time of a bubble that has no cluster.
func TestAClientWithASocketInABubbleFails(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestUsesASocketFromABubble$", "-test.timeout=1m")
	cmd.Env = append(os.Environ(), socketFromBubble+"=1")
	out, err := cmd.CombinedOutput()
	const want = "If that is the cluster, write fakecluster.Start(t, fakecluster.InProcess()) in the bubble, and use its RESTConfig(). "
	if text := string(out); err == nil || !strings.Contains(text, "panic: TestUsesASocketFromABubble: time in the synctest bubble stands still, because an HTTP client has a connection to a server") ||
		!strings.Contains(text, want) {
		t.Errorf("%v, output:\n%s\nwant: %s", err, out, want)
	}
}

// outer is a test outside of a bubble, which has a deadline.
type outer struct{ testing.TB }

func (outer) Deadline() (time.Time, bool) { return time.Time{}, false }

// The t of the test outside is recognized, wherever a cluster takes one.
func TestABubbleDoesNotUseTheTestOutside(t *testing.T) {
	base := fakecluster.Start(t, fakecluster.InProcess())
	const want = "fakecluster: t is the test outside of the synctest bubble: write synctest.Test(t, func(t *testing.T) { … }), and use the t of that function"
	synctest.Test(t, func(t *testing.T) {
		c := base.Fork(t)
		for name, use := range map[string]func(testing.TB){
			"Start": func(t testing.TB) { fakecluster.Start(t, fakecluster.InProcess()) },
			"Fork":  func(t testing.TB) { base.Fork(t) },
			"WaitFor": func(t testing.TB) {
				c.WaitFor(t, fakecluster.Named("v1", "Namespace", "", "default"), fakecluster.CEL("true"))
			},
			"TB": func(t testing.TB) { c.TB(t) },
		} {
			equal(t, name, fatal(t, func(t testing.TB) { use(outer{t}) }), want)
		}
	})
	base.TB(outer{t}) // it is in its place here
}

// A context of the test outside, if a cluster has been started with it, ends neither the process nor the test without a reason.
func TestABubbleDoesNotUseTheContextOutside(t *testing.T) {
	base := fakecluster.Start(t, fakecluster.InProcess())
	ctx := t.Context()
	synctest.Test(t, func(t *testing.T) {
		tb := &reporting{TB: t}
		maps := mapsOf(base.Fork(tb).RESTConfig())
		const want = "fakecluster: the request has the context of a test outside of the synctest bubble: use t.Context() with the t of the function of synctest.Test"
		if _, err := maps.Watch(ctx, metav1.ListOptions{}); err == nil || !strings.HasSuffix(err.Error(), ": "+want) {
			t.Errorf("error: %v", err)
		}
		equal(t, "failures of the test", tb.errors, []string{want})
		_, err := maps.List(t.Context(), metav1.ListOptions{})
		must(t, err)
	})
}

// The stack of a request of net/http has the name by which the advice for it is found.
func TestARequestWithoutAnEndIsNamed(t *testing.T) {
	var stack string
	client := http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		stack = string(debug.Stack())
		return nil, errors.New("no answer")
	})}
	_, _ = client.Get("http://127.0.0.1")
	got := fakecluster.PassesWithoutEnd(fakecluster.Start(t, fakecluster.InProcess()), 0, stack)
	const want = "time in the synctest bubble passes without end: 3 days have passed without a request of the test or its controllers, " +
		"and an HTTP request of the test is not answered: give its client a Timeout"
	equal(t, "the message", got, want)
}
