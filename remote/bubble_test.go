//go:build go1.25

// Bubbles need the timers of Go 1.23, which a module with "go 1.22" does not have otherwise.
//go:debug asynctimerchan=0

package remote

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fakecluster/fakecluster/remote/faults"
	bubbles "github.com/fakecluster/fakecluster/remote/internal/bubble"
)

// within checks that a duration is one, or later by a part of the steps of the pump.
func within(t testing.TB, what string, got, want, late time.Duration) {
	t.Helper()
	if got < want || got > want+late {
		t.Errorf("%s: after %v, want %v, and at most %v later", what, got, want, late)
	}
}

// metadata returns a field of an object's metadata.
func metadata(object map[string]any, field string) any {
	m, _ := object["metadata"].(map[string]any)
	return m[field]
}

// items returns the objects of a list.
func (u user) items(path string) (items []map[string]any) {
	u.t.Helper()
	list, _ := u.must("GET", path, "")["items"].([]any)
	for _, item := range list {
		items = append(items, item.(map[string]any))
	}
	return items
}

// watch begins a watch, and returns what reads the name and the type of its next event.
func (u user) watch(path string) (next func() string, stop func()) {
	u.t.Helper()
	answer, err := u.open("GET", path, "")
	if err != nil {
		u.t.Fatal(err)
	}
	events := json.NewDecoder(answer.Body)
	return func() string {
		var e struct {
			Type   string
			Object struct{ Metadata struct{ Name string } }
		}
		if err := events.Decode(&e); err != nil {
			return err.Error()
		}
		return e.Type + " " + e.Object.Metadata.Name
	}, func() { answer.Body.Close() }
}

// Objects have the time of the bubble to the second, and requests take none of it.
func TestTheTimeOfAClusterIsThatOfTheBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := admin(t, Start(t))
		began := time.Now()
		for i := range 8 {
			time.Sleep(time.Hour)
			made := u.must("POST", maps, configMap(fmt.Sprint("a", i)))
			if got, want := metadata(made, "creationTimestamp"), time.Now().UTC().Format(time.RFC3339); got != want {
				t.Errorf("created at %v, want %v", got, want)
			}
		}
		if passed := time.Since(began); passed != 8*time.Hour {
			t.Errorf("%v have passed", passed)
		}
	})
}

// The events of a watch come in the order of the writes, and a watch that nobody ends ends in time.
func TestAWatchInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := admin(t, Start(t))
		next, stop := u.watch(maps + "?watch=true&timeoutSeconds=3600&fieldSelector=metadata.name!=kube-root-ca.crt")
		defer stop()
		began := time.Now()
		writer := make(chan struct{})
		go func() {
			defer close(writer)
			for i := range 20 {
				time.Sleep(time.Duration(i) * time.Second)
				u.must("POST", maps, configMap(fmt.Sprint("a", i)))
			}
		}()
		for i := range 20 {
			if got, want := next(), fmt.Sprint("ADDED a", i); got != want {
				t.Errorf("event %d is %s, want %s", i, got, want)
			}
			within(t, "the event", time.Since(began), time.Duration(i*(i+1)/2)*time.Second, 0) // it comes with the answer to the write
		}
		<-writer
		if got := next(); got != "EOF" {
			t.Errorf("the end: %s", got)
		}
		within(t, "the end", time.Since(began), time.Hour, 4*time.Second)
	})
}

// A watch that is closed while its reader waits ends there and in the cluster.
func TestAWatchThatIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Start(t)
		u := admin(t, c)
		next, stop := u.watch(maps + "?watch=true&fieldSelector=metadata.name=a")
		ended := make(chan string)
		go func() { ended <- next() }()
		synctest.Wait()
		open := func() (watches int) {
			for _, r := range c.Requests() {
				if r.Verb == "watch" && r.Running {
					watches++
				}
			}
			return watches
		}
		if n := open(); n != 1 {
			t.Errorf("%d watches", n)
		}
		stop()
		if got := <-ended; got != "http: read on closed response body" {
			t.Errorf("the reader gets %s", got)
		}
		if n := open(); n != 0 {
			t.Errorf("%d watches afterwards", n)
		}
	})
}

// Kubernetes' controllers, scheduler and nodes follow the time of the bubble.
func TestWorkloadsInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Start(t, Workloads(`{"nodes": 1, "behaviors": [{"image": "web", "startDelay": "10s", "readyDelay": "2m"}, {"image": "work", "runTime": "5m"}]}`))
		u := admin(t, c)
		began := time.Now()
		u.must("POST", "/apis/apps/v1/namespaces/default/deployments", `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": {"app": "web"}},
			"template": {"metadata": {"labels": {"app": "web"}}, "spec": {"terminationGracePeriodSeconds": 600, "containers": [{"name": "web", "image": "web"}]}}}}`)
		c.WaitFor(t, Named("apps/v1", "Deployment", "", "web"), HasCondition("Available").Within(time.Hour))
		within(t, "Available", time.Since(began), 2*time.Minute, time.Minute)

		u.must("POST", "/apis/batch/v1/namespaces/default/cronjobs", `{"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "hourly"}, "spec": {"schedule": "0 * * * *", "jobTemplate": {
			"spec": {"ttlSecondsAfterFinished": 1800, "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "work", "image": "work"}]}}}}}}`)
		next, stop := u.watch("/apis/batch/v1/namespaces/default/jobs?watch=true")
		defer stop()
		for range 4 {
			got := next()
			for !strings.HasPrefix(got, "ADDED ") {
				got = next()
			}
			now := time.Now()
			within(t, got, now.Sub(now.Truncate(time.Hour)), 0, 5*time.Second)
		}
		time.Sleep(10 * time.Minute)
		if jobs := u.items("/apis/batch/v1/namespaces/default/jobs"); len(jobs) != 1 || jobs[0]["status"].(map[string]any)["succeeded"] != 1.0 {
			t.Errorf("jobs after ten minutes: %v", jobs)
		}
		time.Sleep(30 * time.Minute)
		if jobs := u.items("/apis/batch/v1/namespaces/default/jobs"); len(jobs) != 0 {
			t.Errorf("jobs after their time to live: %v", jobs)
		}
	})
}

// A request that waits in the cluster does not stop the time, and ends in time, or with its context.
func TestARequestThatTakesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Start(t)
		u := admin(t, c)
		c.Inject(faults.Fault{Verb: "get", Resource: "configmaps", Latency: 10 * time.Second, Times: 2})
		u.must("POST", maps, configMap("a"))
		began := time.Now()
		u.must("GET", maps+"/a", "")
		within(t, "the answer", time.Since(began), 10*time.Second, 500*time.Millisecond)

		ctx, cancel := context.WithTimeout(context.Background(), 4*time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, "GET", c.URL()+maps+"/a", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+c.Token())
		began = time.Now()
		if _, err := c.Transport().RoundTrip(req); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("at the deadline: %v", err)
		}
		within(t, "the deadline", time.Since(began), 4*time.Second, 0)
		began = time.Now()
		u.must("GET", maps+"/a", "")
		within(t, "without a fault", time.Since(began), 0, 0)
	})
}

// What a cluster does for its test: it waits, holds events, explains, finds, forks, and has snapshots.
func TestTheMethodsOfAClusterInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Start(t, CRDPaths("../scenarios/crontab"), Seed(1))
		u := admin(t, c)
		began := time.Now()
		go func() {
			time.Sleep(20 * time.Minute)
			u.must("POST", maps, configMap("late"))
		}()
		c.WaitFor(t, named("late"), CEL(`object.data.n == "1"`).Within(time.Hour))
		within(t, "WaitFor", time.Since(began), 20*time.Minute, 0)
		failures(t, "fakecluster: WaitFor: ConfigMap default/b: not met after 2h: ", func(t testing.TB) { c.WaitFor(t, named("b"), HasCondition("Ready").Within(2*time.Hour)) })

		began = time.Now()
		if err := c.Settle(context.Background()); err != nil {
			t.Error(err)
		}
		within(t, "Settle", time.Since(began), time.Second, 100*time.Millisecond)

		next, stop := u.watch(maps + "?watch=true&fieldSelector=metadata.name=held")
		defer stop()
		hold := c.Hold()
		u.must("POST", maps, configMap("held"))
		if pending := hold.Wait(); len(pending) != 1 {
			t.Errorf("pending: %v", pending)
		}
		hold.Release()
		if got := next(); got != "ADDED held" {
			t.Errorf("after the hold: %s", got)
		}

		fork := c.Fork(t)
		admin(t, fork).must("POST", maps, configMap("of-the-fork"))
		if code, _ := u.send("GET", maps+"/of-the-fork", ""); code != 404 {
			t.Errorf("the origin has the object of the fork: %d", code)
		}
		if err := fork.Close(); err != nil {
			t.Error(err)
		}

		var content bytes.Buffer
		if err := c.Snapshot(&content); err != nil {
			t.Error(err)
		}
		admin(t, Start(t, Snapshot(&content))).must("GET", maps+"/late", "")

		if e, err := c.Explain(Write{Verb: "create", Object: json.RawMessage(configMap("explained"))}); err != nil || !strings.Contains(e.String(), "201") {
			t.Errorf("the explanation: %s %v", e, err)
		}
		if code, _ := u.send("POST", maps, configMap("late")); code != 409 {
			t.Errorf("the second create: %d", code)
		}
		if text := c.Findings().String(); !strings.Contains(text, "409") && !strings.Contains(text, "late") {
			t.Errorf("the findings: %s", text)
		}
	})
}

// A cluster that was started outside is forked in bubbles, side by side, also one of another version.
func TestAClusterOutsideIsForkedInBubbles(t *testing.T) {
	base := Start(t, CRDPaths("../scenarios/crontab"))
	admin(t, base).must("POST", maps, configMap("a"))
	for range 20 {
		t.Run("bubble", func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u := admin(t, base.Fork(t))
				next, stop := u.watch(maps + "?watch=true")
				defer stop()
				for got := ""; got != "ADDED a"; {
					got = next()
				}
				for i := range 10 {
					time.Sleep(time.Hour)
					u.must("POST", maps, configMap(fmt.Sprint("b", i)))
					if got, want := next(), fmt.Sprint("ADDED b", i); got != want {
						t.Errorf("event: %s, want %s", got, want)
					}
				}
			})
		})
	}
}

func init() { synctestTest = synctest.Test }

// Many goroutines of a bubble use a cluster at once.
func TestManyClientsOfABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := admin(t, Start(t))
		began := time.Now()
		var clients sync.WaitGroup
		for i := range 8 {
			clients.Add(1)
			go func() {
				defer clients.Done()
				for n := range 60 {
					time.Sleep(time.Duration(i+1) * time.Second)
					u.must("POST", maps, configMap(fmt.Sprintf("a-%d-%d", i, n)))
				}
			}()
		}
		clients.Wait()
		if passed := time.Since(began); passed != 8*time.Minute {
			t.Errorf("%v have passed", passed)
		}
		if n := len(u.items(maps)); n < 480 {
			t.Errorf("%d objects", n)
		}
	})
}

// Nothing is left of many bubbles, in the process and in the host.
func TestNothingIsLeftOfBubbles(t *testing.T) {
	base := Start(t)
	before := clusters(t, base)
	var bubbles sync.WaitGroup
	slots := make(chan struct{}, 10)
	for range 100 {
		bubbles.Add(1)
		slots <- struct{}{}
		go func() {
			defer bubbles.Done()
			defer func() { <-slots }()
			synctest.Test(t, func(t *testing.T) {
				u := admin(t, base.Fork(t))
				next, _ := u.watch(maps + "?watch=true") // it ends with the cluster
				go next()
				time.Sleep(time.Minute)
				u.must("POST", maps, configMap("a"))
			})
		}()
	}
	bubbles.Wait()
	if text := stacks(); strings.Contains(text, "synctest bubble") {
		t.Errorf("goroutines are left:\n%s", text)
	}
	if after := clusters(t, base); after != before {
		t.Errorf("clusters are left: %s, before: %s", after, before)
	}
	watchedBubbles.Lock()
	defer watchedBubbles.Unlock()
	if n := len(watchedBubbles.list); n != 0 {
		t.Errorf("%d bubbles are watched", n)
	}
}

// clusters lists the clusters of the host.
func clusters(t *testing.T, c *Cluster) string {
	var answer struct{ Clusters []string }
	if err := c.host.do(context.Background(), "GET", "/v1/clusters", nil, &answer); err != nil {
		t.Error(err)
	}
	return fmt.Sprint(answer.Clusters)
}

// A cluster of New lives until its Close.
func TestNewInABubble(t *testing.T) {
	base, err := New()
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		if err := base.Close(); !errors.Is(err, errUsedInBubble) {
			t.Errorf("Close of a cluster outside: %v", err)
		}
	})
	admin(t, base).must("POST", maps, configMap("a"))
	if err := base.Close(); err != nil {
		t.Error(err)
	}
	if code, _ := admin(t, base).send("GET", maps, ""); code != 0 {
		t.Errorf("after Close: %d", code)
	}
	synctest.Test(t, func(t *testing.T) {
		c, err := New()
		if err != nil {
			t.Fatal(err)
		}
		admin(t, c).must("POST", maps, configMap("a"))
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if code, _ := admin(t, c).send("GET", maps, ""); code != 0 {
			t.Errorf("after Close: %d", code)
		}
		if _, err := c.NewFork(); err == nil || err.Error() != "forking: the cluster has ended" {
			t.Errorf("a fork after Close: %v", err)
		}
		const noSocket = ": clients in a synctest bubble use the transport of the cluster and no socket; leave the option out"
		for name, option := range map[string]Option{"TLS": TLS(), "Port": Port(1234)} {
			if _, err := New(option); err == nil || err.Error() != name+noSocket {
				t.Errorf("with %s: %v", name, err)
			}
		}
	})
}

// The transport works outside of bubbles, too, and trusts the certificate of the cluster.
func TestTheTransportOutsideOfBubbles(t *testing.T) {
	for _, c := range []*Cluster{Start(t), Start(t, TLS())} {
		u := admin(t, c)
		u.transport = c.Transport()
		u.must("POST", maps, configMap("a"))
		answer, err := u.open("GET", maps+"?watch=true", "")
		if err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(answer.Body).ReadString('\n'); err != nil || !strings.Contains(line, "ADDED") {
			t.Errorf("%s %v", line, err)
		}
		answer.Body.Close()
	}
}

// Clients compare the errors of their transport with those of net/http, for example client-go before it sends a request again.
func TestErrorsOfTheTransport(t *testing.T) {
	for name, test := range map[string]func(t *testing.T){"outside": errorsOfTheTransport, "in a bubble": func(t *testing.T) { synctest.Test(t, errorsOfTheTransport) }} {
		t.Run(name, test)
	}
}

func errorsOfTheTransport(t *testing.T) {
	c := Start(t)
	client := &http.Client{Transport: c.Transport()}
	send := func(ctx context.Context, method, path string, body io.Reader) error {
		req, err := http.NewRequestWithContext(ctx, method, c.URL()+path, body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+c.Token())
		answer, err := client.Do(req)
		if err != nil {
			return errors.Unwrap(err) // the error of the transport is in a url.Error
		}
		defer answer.Body.Close()
		_, err = io.ReadAll(answer.Body)
		return err
	}
	soon, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	c.Inject(faults.Fault{Verb: "create", Effect: faults.CutBeforeCommit(), Times: 1})
	if err := send(t.Context(), "POST", maps, strings.NewReader(configMap("a"))); err != io.EOF && err != io.ErrUnexpectedEOF {
		t.Errorf("a connection that is cut: %v", err)
	}
	c.Inject(faults.Fault{Verb: "watch", Effect: faults.DropWatch(0), Times: 1})
	if err := send(t.Context(), "GET", maps+"?watch=true&resourceVersion=1", nil); err != io.ErrUnexpectedEOF {
		t.Errorf("a watch that is dropped: %v", err)
	}
	c.Inject(faults.Fault{Verb: "list", Latency: time.Second, Times: 1})
	if err := send(soon, "GET", maps, nil); err != context.DeadlineExceeded {
		t.Errorf("a context that has ended: %v", err)
	}
	for want, req := range map[string]*http.Request{
		"http: nil Request.URL":        {Header: http.Header{}},
		"http: nil Request.Header":     {URL: &url.URL{Scheme: "http", Host: "a"}},
		"http: no Host in request URL": {URL: &url.URL{Scheme: "http", Path: "/"}, Header: http.Header{}},
	} {
		if _, err := c.Transport().RoundTrip(req); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// Each mistake in a bubble is one sentence with what to write instead.
func TestMistakesInABubble(t *testing.T) {
	base := Start(t)
	synctest.Test(t, func(t *testing.T) {
		const own = "give the client the transport of the cluster, as in &rest.Config{Host: c.URL(), BearerToken: c.Token(), Transport: c.Transport(), QPS: -1}"
		failures(t, own, func(t testing.TB) {
			c := Start(t)
			req, err := http.NewRequest("GET", c.URL()+maps+"?watch=true", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+c.Token())
			answer, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			if text, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != 400 || !strings.Contains(string(text), own) {
				t.Fatalf("%d %s %v", answer.StatusCode, text, err)
			}
			time.Sleep(time.Hour)
		})
		failures(t, "write c.Exec, c.AttachPod or c.PortForward, or make the executor with spdy.NewRoundTripperWithConfig(spdy.RoundTripperConfig{UpgradeTransport: c.Transport()})", func(t testing.TB) {
			c := Start(t)
			req, err := http.NewRequest("POST", c.URL()+pods+"/web/exec", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+c.Token())
			req.Header.Set("Connection", "Upgrade")
			req.Header.Set("Upgrade", "SPDY/3.1")
			answer, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			time.Sleep(time.Hour)
		})
		req, err := http.NewRequest("GET", base.URL()+maps, nil)
		if err != nil {
			t.Fatal(err)
		}
		failures(t, "the cluster was started outside of the synctest bubble that uses it: write c := base.Fork(t) in the bubble", func(t testing.TB) {
			c := &Cluster{host: base.host, description: base.description, test: t}
			if _, err := c.Transport().RoundTrip(req); err == nil || !strings.HasPrefix(err.Error(), "fakecluster: the cluster was started outside") {
				t.Error(err)
			}
		})
		if err := base.Settle(context.Background()); !errors.Is(err, errUsedInBubble) {
			t.Errorf("a method of a cluster outside: %v", err)
		}
	})
	var left *Cluster
	synctest.Test(t, func(t *testing.T) { left = Start(t) })
	if _, err := left.NewFork(); !errors.Is(err, errUsedOutside) {
		t.Errorf("a fork outside: %v", err)
	}
	if req, err := http.NewRequest("GET", left.URL()+maps, nil); err != nil {
		t.Fatal(err)
	} else if _, err := left.Transport().RoundTrip(req); !errors.Is(err, errUsedOutside) {
		t.Errorf("a request of a cluster that has ended: %v", err)
	}
	outer := &recorder{TB: t}
	synctest.Test(t, func(inner *testing.T) {
		if !bubbles.IsOuter(t) || bubbles.IsOuter(inner) || bubbles.IsOuter(outer) {
			t.Error("the outer test is not recognized")
		}
	})
}

// mistakeVariable names the mistake that TestMakeAMistake makes, in a process of its own.
const mistakeVariable = "FAKECLUSTER_TEST_MISTAKE"

// TestMakeAMistake is run by TestMistakesEndATest.
func TestMakeAMistake(t *testing.T) {
	mistake := os.Getenv(mistakeVariable)
	if mistake == "" {
		t.Skip("it is run by TestMistakesEndATest")
	}
	if mistake == "the host is killed" {
		defer func() { // synctest.Test ends a failed test
			code, _ := admin(t, Start(t)).send("GET", maps, "")
			fmt.Println("a new host serves:", code)
		}()
	}
	outer := t
	synctest.Test(t, func(t *testing.T) {
		c := Start(t)
		u := admin(t, c)
		switch mistake {
		case "the test outside":
			c.WaitFor(outer, Named("v1", "Namespace", "", "default"), CEL("true"))
		case "the host is killed":
			next, _ := u.watch(maps + "?watch=true")
			go func() {
				for !strings.Contains(next(), "host of the cluster") {
				}
				fmt.Println("the watch has ended")
			}()
			time.Sleep(time.Minute)
			endHost()
			for range 100 { // until the process has gone
				time.Sleep(time.Hour)
				if _, err := u.open("GET", maps, ""); err != nil {
					fmt.Println("the request has failed")
					return
				}
			}
		case "a server in the bubble":
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			go l.Accept()
			time.Sleep(time.Hour)
		case "writes without end":
			for {
				_, _ = u.open("PUT", maps+"/a", `{"metadata": {"name": "a"}}`) // the controller ignores its errors
			}
		case "a wait without end":
			for {
				time.Sleep(time.Minute)
			}
		case "a client of its own":
			for {
				req, err := http.NewRequest("GET", c.URL()+maps, nil)
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Authorization", "Bearer "+c.Token())
				if answer, err := http.DefaultClient.Do(req); err == nil {
					answer.Body.Close()
				}
				time.Sleep(time.Minute)
			}
		}
	})
}

// A test whose bubble cannot go on ends within seconds, and says what to write.
func TestMistakesEndATest(t *testing.T) {
	for mistake, want := range map[string][]string{
		"the host is killed":     {"fakecluster: the host of the cluster has ended, or does not answer: start the test again, and look at its log if that happens again, ", "/fakecluster/host/host.log, which the next host keeps as host.former.log: ", "a new host serves: 200", "the watch has ended", "the request has failed"},
		"a server in the bubble": {"panic: TestMakeAMistake: time in the synctest bubble stands still, because a server listens on a socket: start it before synctest.Test"},
		"writes without end": {"fakecluster: time in the synctest bubble stands still, because of endless writes to PUT /api/v1/namespaces/default/configmaps/a from tester (2001 times). Write only what has changed: if !equality.Semantic.DeepEqual(before, after) { … }",
			"panic: TestMakeAMistake: time in the synctest bubble stands still, because of endless writes to PUT /api/v1/namespaces/default/configmaps/a from tester (2001 times)"},
		"a wait without end":  {"panic: TestMakeAMistake: time in the synctest bubble passes without end: ", "give the loop an end, or write c.WaitFor in its place"},
		"a client of its own": {"panic: TestMakeAMistake: the cluster lives in a synctest bubble, where a socket stops the time: give the client the transport of the cluster"},
		"the test outside":    {"fakecluster: t is the test outside of the synctest bubble: write synctest.Test(t, func(t *testing.T) { … }), and use the t of that function"},
	} {
		t.Run(mistake, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
			defer cancel()
			child := exec.CommandContext(ctx, os.Args[0], "-test.run", "^TestMakeAMistake$", "-test.v")
			child.Env = append(os.Environ(), mistakeVariable+"="+mistake)
			text, err := child.CombinedOutput()
			if err == nil {
				t.Error("the test passes")
			}
			for _, want := range want {
				if !strings.Contains(string(text), want) {
					t.Errorf("the test says:\n%s\nwant: %s", text, want)
				}
			}
		})
	}
}
