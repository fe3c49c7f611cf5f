//go:build go1.25

package remote

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// How much of it there is. The large one: go test -run 'BubblesInARow|BubblesInParallel|Killed' -rows 1000 -parallel-bubbles 50 -kills 200 -timeout 3h
var (
	rows    = flag.Int("rows", 5, "how many bubbles run one after the other")
	atATime = flag.Int("parallel-bubbles", 4, "how many bubbles run at the same time")
	kills   = flag.Int("kills", 3, "how many clients are killed, and how many hosts")
)

// few returns how many of n there are with -short: two at most.
func few(n int) int {
	if testing.Short() {
		return min(n, 2)
	}
	return n
}

// busy starts a cluster to fork in bubbles, with a container and a webhook in the process of the test. step is called before each step of a
// bubble.
func busy(t *testing.T, step func(what string)) *Cluster {
	t.Helper()
	return Start(t,
		Service("default", "hook", 443, denial(func(*http.Request, string) string {
			step("webhook")
			time.Sleep(time.Second)
			return ""
		})),
		Image("web", func(ctx context.Context, p *Container) error {
			step("container")
			l, err := p.Listen("tcp", ":7")
			if err != nil {
				return err
			}
			go func() {
				<-ctx.Done()
				_ = l.Close()
			}()
			for {
				conn, err := l.Accept()
				if err != nil {
					return nil
				}
				go func() {
					_, _ = io.Copy(conn, conn)
					_ = conn.Close()
				}()
			}
		}))
}

// busyBubble forks the cluster in a bubble that uses everything which is carried between the processes, and leaves it open.
func busyBubble(t *testing.T, base *Cluster, step func(what string)) {
	synctest.Test(t, func(t *testing.T) {
		step("fork")
		c := base.Fork(t)
		step("workloads")
		if err := c.RunWorkloads("nodes: 1"); err != nil {
			t.Fatal(err)
		}
		u := admin(t, c)
		u.must("POST", configurations, webhook(c.CABundle(), 10))
		follow := func(path string) {
			answer, err := u.open("GET", path, "")
			if err != nil {
				t.Fatal(err)
			}
			go io.Copy(io.Discard, answer.Body)
		}
		follow(pods + "?watch=true")
		step("pod")
		u.must("POST", pods, pod("web", "web", `"stdin": true, "readinessProbe": {"tcpSocket": {"port": 7}}, `, ""))
		c.WaitFor(t, Named("v1", "Pod", "", "web"), HasCondition("Ready"))
		step("streams")
		follow(pods + "/web/log?follow=true")
		attached, end := context.WithCancel(t.Context())
		defer end()
		go c.AttachPod(attached, PodAttach{Pod: "web"})
		conn, err := c.PortForward(t.Context(), "", "web", 7)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, "hello"); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(conn, make([]byte, 5)); err != nil {
			t.Fatal(err)
		}
		go io.Copy(io.Discard, conn)
		for i := range 3 {
			step("write")
			u.must("POST", maps, configMap(fmt.Sprint("a", i)))
			time.Sleep(20 * time.Minute)
		}
		step("end")
	})
}

// hostState is what the host of a cluster has open.
type hostState struct{ Sessions, Clusters, Bubbles int }

// state asks the host until it has ended all bubbles, and the sessions of others.
func (c *Cluster) state(t *testing.T) (s hostState) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for {
		if err := c.host.do(ctx, "GET", "/v1/info", nil, &s); err != nil {
			t.Fatalf("the host has %+v open: %v", s, err)
		}
		if s.Bubbles == 0 && s.Sessions == 1 {
			return s
		}
	}
}

// files returns how many files and sockets the host has open, or 0 if the system does not tell.
func (c *Cluster) files(t *testing.T) int {
	t.Helper()
	pid, err := c.host.process()
	if err != nil {
		t.Fatal(err)
	}
	open, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return len(open)
}

// nothingIsLeft checks that nothing is left of bubbles, in the process and in the host.
func nothingIsLeft(t *testing.T, c *Cluster, before hostState, files int) {
	t.Helper()
	if text := stacks(); strings.Contains(text, "synctest bubble") {
		t.Errorf("goroutines are left:\n%s", text)
	}
	if after := c.state(t); after != before {
		t.Errorf("the host has %+v open, and before: %+v", after, before)
	}
	c.closeIdle()
	if after := c.files(t); after > files+3 { // connections that end; there are more bubbles
		t.Errorf("the host has %d files open, and before: %d", after, files)
	}
}

// Nothing is left of bubbles in a row.
func TestBubblesInARow(t *testing.T) {
	quiet := func(string) {}
	base := busy(t, quiet)
	busyBubble(t, base, quiet)
	before, files := base.state(t), base.files(t)
	for range few(*rows) {
		busyBubble(t, base, quiet)
	}
	nothingIsLeft(t, base, before, files)
}

// Nothing is left of bubbles that run at the same time.
func TestBubblesInParallel(t *testing.T) {
	quiet := func(string) {}
	base := busy(t, quiet)
	busyBubble(t, base, quiet)
	before, files := base.state(t), base.files(t)
	var running sync.WaitGroup
	for range *atATime {
		running.Add(1)
		go func() {
			defer running.Done()
			busyBubble(t, base, quiet)
		}()
	}
	running.Wait()
	nothingIsLeft(t, base, before, files)
}

// TestBeKilled is run by TestKilledClients and TestKilledHosts, and prints a line before each step.
func TestBeKilled(t *testing.T) {
	if os.Getenv(killedVariable) == "" && os.Getenv(mistakeVariable) == "" {
		t.Skip("it is run by TestKilledClients and TestKilledHosts")
	}
	step := func(what string) { fmt.Println("step", what) }
	base := busy(t, step)
	pid, err := base.host.process()
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("host", pid)
	var running sync.WaitGroup
	for range 3 {
		running.Add(1)
		go func() {
			defer running.Done()
			for !t.Failed() {
				busyBubble(t, base, step)
			}
		}()
	}
	running.Wait()
}

// startVictim runs TestBeKilled in a process of its own, and waits for a number of steps. rest has what the process writes afterwards.
func startVictim(t *testing.T, ctx context.Context, variable string, steps int) (victim *exec.Cmd, host int, rest *bufio.Reader) {
	t.Helper()
	victim = exec.CommandContext(ctx, os.Args[0], "-test.run", "^TestBeKilled$", "-test.v")
	victim.Env = append(os.Environ(), variable+"=1", "GOTRACEBACK=all")
	out, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	victim.Stderr = victim.Stdout
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	rest = bufio.NewReader(out)
	var text strings.Builder
	for steps > 0 {
		line, err := rest.ReadString('\n')
		text.WriteString(line)
		if err != nil {
			_ = victim.Process.Kill()
			_ = victim.Wait()
			t.Fatalf("the process has ended by itself:\n%s", text.String())
		}
		if _, err := fmt.Sscanf(line, "host %d", &host); err != nil && strings.HasPrefix(line, "step ") {
			steps--
		}
	}
	return victim, host, rest
}

// Clients are killed at random moments. The host ends what they have open, and goes on.
func TestKilledClients(t *testing.T) {
	quiet := func(string) {}
	base := busy(t, quiet)
	busyBubble(t, base, quiet)
	before, files := base.state(t), base.files(t)
	for range few(*kills) {
		steps := 1 + rand.IntN(60)
		victim, _, _ := startVictim(t, t.Context(), killedVariable, steps)
		if err := victim.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = victim.Wait()
		if after := base.state(t); after != before {
			t.Errorf("after %d steps: the host has %+v open, and before: %+v", steps, after, before)
		}
	}
	busyBubble(t, base, quiet)
	nothingIsLeft(t, base, before, files)
}

// hostHasEnded is what a test says whose host has ended.
var hostHasEnded = regexp.MustCompile("the host( of the cluster)? has ended, or does not answer: start the test again")

// Hosts are killed at random moments. The tests that use them fail, say why, and end.
func TestKilledHosts(t *testing.T) {
	for range few(*kills) {
		steps := 1 + rand.IntN(60)
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		victim, host, rest := startVictim(t, ctx, mistakeVariable, steps)
		process, err := os.FindProcess(host)
		if err == nil {
			err = process.Kill()
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(rest)
		if err := victim.Wait(); err == nil {
			t.Errorf("after %d steps: the test passes", steps)
		}
		switch {
		case ctx.Err() != nil:
			t.Errorf("after %d steps: the test does not end:\n%s", steps, text)
		case err != nil, !hostHasEnded.Match(text), strings.Contains(string(text), "panic: "), strings.Contains(string(text), "fatal error: "), strings.Contains(string(text), "DATA RACE"):
			t.Errorf("after %d steps: the test says, %v:\n%s", steps, err, text)
		}
		cancel()
	}
}
