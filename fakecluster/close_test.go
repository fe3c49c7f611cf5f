package fakecluster_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fakecluster/fakecluster/clientgo"
	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/testing/leaktest"
)

// ticker is in the stack of the one goroutine that outlives Close, for a second at most: that of a
// buntdb.
const ticker = "buntdb.(*DB).backgroundManager"

func TestCloseLeavesNothing(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) { // one after the other: goroutines and sockets are the process's
			before := leaktest.Goroutines(ticker)
			sockets := openSockets(t)

			c, err := fakecluster.New(way.options...)
			must(t, err)
			defer c.Close()
			define(t, c, cronTabDefinition())
			create(t, inDefault(c), cronTab("a"))
			file, err := c.Kubeconfig()
			must(t, err)
			kubeconfig, err := clientcmd.RESTConfigFromKubeConfig(file)
			must(t, err)
			outside, err := dynamic.NewForConfig(kubeconfig)
			must(t, err)

			var watches []watch.Interface
			for range 3 {
				for r, objects := range map[dynamic.ResourceInterface]int{
					inDefault(c): 1, c.Dynamic().Resource(namespaces): 4, outside.Resource(cronTabs): 1,
				} {
					w, err := r.Watch(t.Context(), metav1.ListOptions{})
					must(t, err)
					next(t, w, objects)
					watches = append(watches, w)
				}
			}

			for range 2 {
				must(t, c.Close())
			}
			for _, w := range watches {
				if left := ended(t, w); len(left) != 0 {
					t.Errorf("the watch said at last: %v", left)
				}
			}
			if left := lastDifference(func() string { return leaktest.Goroutines(ticker) }, before); left != "" {
				t.Errorf("goroutines left behind:\n%s", left)
			}
			if left := lastDifference(func() string { return openSockets(t) }, sockets); left != "" {
				t.Errorf("sockets left open:\n%s", left)
			}
		})
	}
}

// lastDifference calls what until it returns no new line. Goroutines whose context has ended may take a
// moment.
func lastDifference(what func() string, before string) (left string) {
	for deadline := time.Now().Add(patience); ; runtime.Gosched() {
		left = what()
		if len(left) <= len(before) {
			return ""
		}
		if time.Now().After(deadline) {
			return left
		}
	}
}

// openSockets returns the open sockets of the process, on systems that list them.
func openSockets(t *testing.T) string {
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Logf("sockets are not looked at: %v", err)
		return ""
	}
	var sockets []string
	for _, f := range files {
		if to, err := os.Readlink("/proc/self/fd/" + f.Name()); err == nil && strings.HasPrefix(to, "socket:") {
			sockets = append(sockets, to)
		}
	}
	return strings.Join(sockets, "\n")
}

func TestRequestsAfterCloseFailClearly(t *testing.T) {
	eachWay(t, func(t *testing.T, way ...fakecluster.Option) {
		c := defined(t, way...)
		must(t, c.Close())
		_, err := inDefault(c).List(t.Context(), metav1.ListOptions{})
		u, ok := errors.AsType[*url.Error](err)
		if !ok {
			t.Fatalf("list: %v", err)
		}
		if strings.HasSuffix(t.Name(), "process") {
			equal(t, "it is ErrClosed", errors.Is(u, clientgo.ErrClosed), true)
			fails(t, "list", u.Err, "clientgo: the in-process transport is closed")
			return
		}
		equal(t, "the connection is refused", errors.Is(u, syscall.ECONNREFUSED), true)
		address, err := url.Parse(c.URL())
		must(t, err)
		if conn, err := net.Dial("tcp", address.Host); err == nil {
			conn.Close()
			t.Error("the closed cluster still listens")
		}
	})
}

func TestStartClosesTheClusterWithTheTest(t *testing.T) {
	var c *fakecluster.Cluster
	t.Run("a test", func(t *testing.T) { c = fakecluster.Start(t, fakecluster.InProcess()) })
	_, err := c.Discovery().ServerVersion()
	equal(t, "it is ErrClosed", errors.Is(err, clientgo.ErrClosed), true)
}

func TestClosedClusterCannotFork(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	must(t, c.Close())
	equal(t, "fatal", fatal(t, func(t testing.TB) { c.Fork(t) }), "fakecluster: forking: the store is closed")
	f, err := c.NewFork()
	equal(t, "no fork", f == nil, true)
	equal(t, "error", fmt.Sprint(err), "forking: the store is closed")
	file, err := c.Kubeconfig()
	equal(t, "no kubeconfig", len(file), 0)
	equal(t, "error of the kubeconfig", fmt.Sprint(err), "kubeconfig: the cluster is closed")
}

// A function that ignores its context cannot be interrupted. Close ends its request all the same, and returns
// after five seconds with an error that names it.
func TestCloseWaitsFiveSecondsForRequestsThatDoNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		c, err := fakecluster.New(fakecluster.InProcess(), waitsFor(release))
		must(t, err)
		define(t, c, cronTabDefinition())
		created := make(chan error)
		go func() {
			_, err := inDefault(c).Create(context.Background(), cronTab("a"), metav1.CreateOptions{})
			created <- err
		}()
		synctest.Wait()
		began := time.Now()
		go func() {
			err := <-created
			equal(t, "the client's error comes after", time.Since(began), time.Duration(0))
			if err == nil {
				t.Error("the create succeeds")
			}
		}()
		fails(t, "close", c.Close(), "fakecluster.test create of crontabs.stable.example.com in default still computes, since 5s; nothing can interrupt it, and its result is dropped")
		close(release)
	})
}

// Over each transport, the client's request ends before the function does.
func TestCloseEndsARequestThatCannotBeInterrupted(t *testing.T) {
	eachWay(t, func(t *testing.T, way ...fakecluster.Option) {
		release, called := make(chan struct{}), make(chan struct{}, 1)
		c, err := fakecluster.New(append(way, waitsFor(release, called))...)
		must(t, err)
		define(t, c, cronTabDefinition())
		go func() {
			<-called
			must(t, c.Close())
		}()
		if _, err := inDefault(c).Create(t.Context(), cronTab("a"), metav1.CreateOptions{}); err == nil {
			t.Error("the create succeeds")
		}
		close(release)
	})
}

// waitsFor calls a function for creates of CronTabs that ignores its context. It reports its call, and waits.
func waitsFor(release <-chan struct{}, called ...chan<- struct{}) fakecluster.Option {
	return fakecluster.WithAdmission(nil, func(_ context.Context, r *fakecluster.AdmissionRequest) error {
		if r.Kind.Kind == "CronTab" {
			for _, one := range called {
				one <- struct{}{}
			}
			<-release
		}
		return nil
	})
}
