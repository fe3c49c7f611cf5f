package bubble

import (
	"net"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A goroutine that listens stops the time of its bubble. A check outside finds it, and reports it once.
func TestABubbleWhoseTimeStandsStillIsReported(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var reports, second atomic.Int32
	var found Blocked
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for reports.Load() == 0 {
			Check() // in place of the timer of the process
			runtime.Gosched()
		}
		listener.Close()
	}()
	synctest.Test(t, func(t *testing.T) {
		stop := Watch(nil, func(b Blocked) {
			found = b
			reports.Add(1)
		})
		defer stop()
		defer Watch(nil, func(Blocked) { second.Add(1) })()
		go listener.Accept()
		time.Sleep(time.Hour)
	})
	<-ended
	if reports.Load() != 1 || second.Load() != 0 {
		t.Errorf("%d and %d reports, want 1 and 0", reports.Load(), second.Load())
	}
	if !strings.Contains(found.Stack, "net.(*TCPListener).Accept") {
		t.Errorf("it waits at %s", found.Stack)
	}
	const want = "time in the synctest bubble stands still, because a server listens on a socket: start it before synctest.Test, and give its clients a transport that keeps no connection, &http.Transport{DisableKeepAlives: true}; or serve its handler with fakecluster.WithService"
	if got := found.Mistake(); got != want {
		t.Errorf("mistake: %s\nwant: %s", got, want)
	}
	notWatched(t)
}

// Time passes in a bubble that waits for something outside again and again, for a moment each.
func TestABubbleThatWaitsOutsideAgainAndAgainIsNotReported(t *testing.T) {
	answers, ended := make(chan struct{}), make(chan struct{})
	go func() {
		for range 1000 {
			time.Sleep(time.Millisecond)
			answers <- struct{}{}
		}
		close(ended)
	}()
	go func() {
		for {
			select {
			case <-ended:
				return
			default:
				Check()
				runtime.Gosched()
			}
		}
	}()
	var reports atomic.Int32
	synctest.Test(t, func(t *testing.T) {
		defer Watch(nil, func(Blocked) { reports.Add(1) })()
		began := time.Now()
		for range 1000 {
			<-answers
			time.Sleep(time.Minute)
		}
		if passed := time.Since(began); passed != 1000*time.Minute {
			t.Errorf("%v have passed", passed)
		}
	})
	if n := reports.Load(); n != 0 {
		t.Errorf("%d reports", n)
	}
	notWatched(t)
}

// Time stands still while a bubble asks a database again and again, each time in the same place, and it goes on.
func TestABubbleThatAsksAConnectionAgainAndAgainIsNotReported(t *testing.T) {
	here, there, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer here.Close()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer there.Close()
		for range 1000 {
			time.Sleep(time.Millisecond)
			if _, err := there.Write([]byte{0}); err != nil {
				t.Error(err)
			}
		}
	}()
	go func() {
		for {
			select {
			case <-ended:
				return
			default:
				Check()
				runtime.Gosched()
			}
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		defer Watch(nil, func(b Blocked) { t.Error(b.Stack) })()
		for text := make([]byte, 1); ; {
			if _, err := here.Read(text); err != nil {
				return
			}
		}
	})
	notWatched(t)
}

// notWatched checks that bubbles that have ended are not watched.
func notWatched(t *testing.T) {
	t.Helper()
	for range 2 * waitChecks {
		Check()
	}
	if len(watched.bubbles) != 0 {
		t.Errorf("watched afterwards: %v", watched.bubbles)
	}
}

// A goroutine that remains when the work is done is reported, too: the bubble waits for it, and for nothing else.
func TestABubbleThatDoesNotEndIsReported(t *testing.T) {
	outside := make(chan struct{})
	var reports atomic.Int32
	go func() {
		for reports.Load() == 0 {
			Check()
			runtime.Gosched()
		}
		close(outside)
	}()
	synctest.Test(t, func(*testing.T) {
		var work atomic.Int64
		defer Watch(func() int64 { return work.Add(1) }, func(Blocked) { reports.Add(1) })()
		go func() { <-outside }()
	})
	notWatched(t)
}

// A bubble may wait for signals: the goroutines of package os/signal are outside.
func TestSignalsDoNotBelongToABubble(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		c := make(chan os.Signal, 1)
		signal.Notify(c, os.Interrupt)
		time.Sleep(time.Hour)
		signal.Stop(c)
	})
}

// A bubble at work is not reported, however often it is checked.
func TestABubbleAtWorkIsNotReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer Watch(nil, func(b Blocked) { t.Error(b.Stack) })()
		go time.Sleep(time.Second)
		for range 2 * enoughChecks {
			Check()
			time.Sleep(time.Second)
		}
	})
	notWatched(t)
	if stop := Watch(nil, nil); len(watched.bubbles) != 0 {
		t.Error("a goroutine outside of bubbles is watched")
	} else {
		stop()
	}
}

// A bubble that does something between two checks is not reported, and its stacks are not read.
func TestABubbleThatDoesSomethingIsNotReported(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var work atomic.Int64
	go func() {
		for work.Load() < 10*enoughChecks {
			Check()
			runtime.Gosched()
		}
		listener.Close()
	}()
	synctest.Test(t, func(t *testing.T) {
		defer Watch(func() int64 { return work.Add(1) }, func(b Blocked) { t.Error(b.Stack) })()
		defer Watch(func() int64 { return 0 }, func(b Blocked) { t.Error("by another number:", b.Stack) })()
		go listener.Accept()
		time.Sleep(time.Hour)
	})
}

// What keeps the time of a bubble from passing, in the words of Go's stacks.
func TestTheGoroutineThatBlocksABubbleIsFound(t *testing.T) {
	const (
		socket  = "goroutine 7 [IO wait, 2 minutes, synctest bubble 3]:\nnet.(*TCPListener).Accept()"
		other   = "goroutine 8 [IO wait, synctest bubble 33]:\nnet.(*TCPListener).Accept()"
		outside = "goroutine 9 [IO wait]:\nnet.(*TCPListener).Accept()"
		durable = "goroutine 10 [select (durable), synctest bubble 3]:\nmain.main()"
		runs    = "goroutine 11 [runnable, locked to thread, synctest bubble 3]:\nmain.main()"
		locked  = "goroutine 13 [sync.Mutex.Lock, synctest bubble 3]:\nsync.(*Mutex).Lock()"
		asks    = "goroutine 15 [IO wait, synctest bubble 3]:\nnet.(*conn).Read()\ngithub.com/fakecluster/fakecluster/remote.(*bubble).exchange(0x1)"
		assists = "goroutine 14 [GC assist wait, synctest bubble 3]:\nmain.main()"
		writes  = "goroutine 12 [syscall, synctest bubble 3]:\nsyscall.Write()"
	)
	for _, test := range []struct {
		rule, goroutine string
		stacks          []string
	}{
		{"a socket does", "7", []string{other, outside, durable, socket}},
		{"also if it began just now", "7", []string{strings.Replace(socket, ", 2 minutes", "", 1)}},
		{"time passes in a moment if another goroutine runs", "", []string{socket, runs}},
		{"or writes to the log", "", []string{socket, writes}},
		{"or helps the garbage collector", "", []string{socket, assists}},
		{"or asks the host of module remote", "", []string{socket, asks}},
		{"or waits for a lock, which another goroutine releases", "", []string{socket, locked}},
		{"a durable wait does not", "", []string{durable, other, outside}},
	} {
		t.Run(test.rule, func(t *testing.T) {
			got := blockedOutside(strings.Join(test.stacks, "\n\n"), "3")
			if got.number != test.goroutine {
				t.Errorf("goroutine %q waits, want %q", got.number, test.goroutine)
			} else if test.goroutine == "7" && !strings.HasPrefix(got.Stack, "goroutine 7 [IO wait, synctest bubble 3]:\n") {
				t.Errorf("it waits at %s", got.Stack)
			}
		})
	}
}

// A lock that nobody releases, and a call of the system, keep the time of a bubble from passing.
func TestTheGoroutineThatIsStuckInABubbleIsFound(t *testing.T) {
	const (
		checks  = "goroutine 1 [running]:\nmain.main()"
		locked  = "goroutine 13 [sync.Mutex.Lock, 2 minutes, synctest bubble 3]:\nsync.(*Mutex).Lock()"
		durable = "goroutine 10 [select (durable), synctest bubble 3]:\nmain.main()"
		calls   = "goroutine 12 [syscall, 1 minutes, synctest bubble 3]:\nos.(*Process).Wait()"
		runs    = "goroutine 11 [runnable, synctest bubble 3]:\nmain.main()"
		socket  = "goroutine 7 [IO wait, synctest bubble 3]:\nnet.(*TCPListener).Accept()"
		asks    = "goroutine 8 [IO wait, synctest bubble 3]:\nnet.(*conn).Read()\ngithub.com/fakecluster/fakecluster/remote.(*bubble).exchange(0x1)"
		outside = "goroutine 9 [IO wait]:\nnet.(*TCPListener).Accept()"
		busy    = "goroutine 15 [runnable]:\nmain.main()"
		sleeps  = "goroutine 16 [sleep]:\nmain.main()"
		signals = "goroutine 17 [syscall]:\nos/signal.signal_recv()"
		other   = "goroutine 18 [running, synctest bubble 4]:\nmain.main()"
	)
	for _, test := range []struct {
		rule, goroutine string
		stacks          []string
	}{
		{"a lock that nobody releases", "13", []string{checks, locked, durable, outside, signals}},
		{"unless a goroutine outside runs", "", []string{checks, locked, durable, busy}},
		{"or sleeps", "", []string{checks, locked, sleeps}},
		{"or one of another bubble runs", "", []string{checks, locked, other}},
		{"or one of its own", "", []string{checks, locked, runs}},
		{"or one asks the host of module remote", "", []string{checks, locked, asks}},
		{"a socket or a channel outside, for which the owner of the lock may wait", "7", []string{checks, locked, socket}},
		{"unless a goroutine outside runs", "", []string{checks, locked, socket, busy}},
		{"a call of the system", "12", []string{checks, calls, durable, busy}},
		{"also if another one waits for a lock", "12", []string{checks, locked, calls}},
		{"a durable wait does not", "", []string{checks, durable}},
	} {
		t.Run(test.rule, func(t *testing.T) {
			if got := stuckInside(strings.Join(test.stacks, "\n\n"), "3"); got.number != test.goroutine {
				t.Errorf("goroutine %q waits, want %q", got.number, test.goroutine)
			}
		})
	}
}

// Each usual mistake has its sentence, with the line to write instead.
func TestTheMistakeOfABlockedBubble(t *testing.T) {
	for _, test := range []struct{ rule, stack, want string }{
		{"metrics", "[IO wait, synctest bubble 1]:\nnet.(*TCPListener).Accept(0x1)\nsigs.k8s.io/controller-runtime/pkg/metrics/server.(*defaultServer).Start(0x2)",
			`a manager serves metrics on a socket: write ctrl.Options{Metrics: metricsserver.Options{BindAddress: "0"}}`},
		{"probes", "[IO wait, synctest bubble 1]:\nnet.(*TCPListener).Accept(0x1)\nsigs.k8s.io/controller-runtime/pkg/manager.(*Server).serve(0x2)",
			`a manager serves health probes or profiles on a socket: write ctrl.Options{HealthProbeBindAddress: "0", PprofBindAddress: "0"}`},
		{"webhooks", "[IO wait, synctest bubble 1]:\nnet.(*TCPListener).Accept(0x1)\nsigs.k8s.io/controller-runtime/pkg/webhook.(*DefaultServer).Start(0x2)",
			`a manager serves webhooks on a socket: run it with controllerruntime.Run and fakecluster.WithWebhookPaths(folder), or write fakecluster.WithService(namespace, name, 443, mgr.GetWebhookServer().WebhookMux()) and replace the server by one whose Start waits for its context`},
		{"a client", "[IO wait, synctest bubble 1]:\nnet/http.(*persistConn).Read()",
			`an HTTP client has a connection to a server` + peers() + `. If that is the cluster, write fakecluster.Start(t, fakecluster.InProcess()) in the bubble, and use its RESTConfig(). ` +
				`If it is a server of the test, such as one of httptest: start it before synctest.Test, and give the client a transport that keeps no connection, &http.Transport{DisableKeepAlives: true}; or serve its handler with fakecluster.WithService`},
		{"a server of httptest", "[IO wait, synctest bubble 1]:\nnet.(*TCPListener).Accept(0x1)\nnet/http/httptest.(*Server).goServe.func1()",
			`a server of httptest listens on a socket: start it before synctest.Test, and give its clients a transport that keeps no connection, &http.Transport{DisableKeepAlives: true}; or serve its handler with fakecluster.WithService`},
		{"a connection of a server", "[IO wait, synctest bubble 1]:\ninternal/poll.(*FD).Read(0x1)\nnet/http.(*connReader).Read(0x1)\nnet/http.(*conn).serve(0x1)",
			`a server has a connection` + peers() + `. If it is one of the test, such as one of httptest: start it before synctest.Test, and give its clients a transport that keeps no connection, &http.Transport{DisableKeepAlives: true}; or serve its handler with fakecluster.WithService`},
		{"a WaitGroup", "[sync.WaitGroup.Wait, synctest bubble 1]:\nmain.main()",
			`a goroutine waits for a WaitGroup that belongs to no bubble, because it is a package variable or was created outside: create it in the function of synctest.Test`},
		{"a lock", "[sync.Mutex.Lock, synctest bubble 1]:\nmain.main()",
			`a goroutine waits for a lock, and no running goroutine can release it. Time passes only when all goroutines of the bubble wait for channels, timers and the like: do not hold a lock while you sleep or wait for a request, such as one that calls a function of the test`},
		{"another process", "[syscall, synctest bubble 1]:\nos.(*Process).pidfdWait(0x1)\nos/exec.(*Cmd).Wait(0x1)",
			`a goroutine waits for another process, which has real time: run it before synctest.Test`},
		{"a call of the system", "[syscall, synctest bubble 1]:\nsyscall.Flock()",
			`a goroutine waits in a call of the operating system: do that before synctest.Test`},
		{"a channel", "[chan receive, synctest bubble 1]:\nmain.main()",
			`a goroutine waits for a channel that was created outside of the bubble: create it in the function of synctest.Test`},
		{"another reason", "[finalizer wait, synctest bubble 1]:\nmain.main()",
			`a goroutine waits for something outside of the bubble: create everything that it waits for in the function of synctest.Test`},
	} {
		t.Run(test.rule, func(t *testing.T) {
			if got := (Blocked{Stack: "goroutine 1 " + test.stack}).Mistake(); got != "time in the synctest bubble stands still, because "+test.want {
				t.Error(got)
			}
		})
	}
}
