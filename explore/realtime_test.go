package explore_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/explore"
)

// licenses is a server outside of the cluster. It answers each line.
type licenses struct {
	address              string
	connections, answers atomic.Int64
}

func serveLicenses(t *testing.T) *licenses {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &licenses{address: listener.Addr().String()}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			l.connections.Add(1)
			serving.Go(func() {
				defer connection.Close()
				for lines := bufio.NewScanner(connection); lines.Scan(); {
					l.answers.Add(1)
					_, _ = fmt.Fprintln(connection, "licensed", lines.Text())
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		serving.Wait()
	})
	return l
}

// licensed is an operator that has a connection to the server, and asks it in each reconcile.
func licensed(o gadgetOperator, l *licenses) explore.Subject {
	s := o.subject()
	s.Run = func(ctx context.Context, config *rest.Config) error {
		connection, err := new(net.Dialer).DialContext(ctx, "tcp", l.address)
		if err != nil {
			return err
		}
		answers := make(chan string)
		var reading sync.WaitGroup
		reading.Go(func() {
			defer close(answers)
			for lines := bufio.NewScanner(connection); lines.Scan(); {
				answers <- lines.Text()
			}
		})
		defer reading.Wait()
		defer connection.Close()
		own := o // trials run at the same time
		own.ask = func(name string) error {
			if _, err := fmt.Fprintln(connection, name); err != nil {
				return err
			}
			if answer := <-answers; answer != "licensed "+name {
				return fmt.Errorf("the answer is %q", answer)
			}
			return nil
		}
		return own.run(ctx, config)
	}
	return s
}

func TestChildNeedsASocket(t *testing.T) {
	if os.Getenv(child) == "" {
		t.Skip("it is for TestASocketIsReported")
	}
	explore.Operator(t, licensed(gadgetOperator{}, serveLicenses(t)))
}

// An operator that needs a socket cannot run in a bubble. The message names the socket, and the line that explores the operator in real time.
func TestASocketIsReported(t *testing.T) {
	out := runChild(t, ".", "TestChildNeedsASocket")
	want := `(?s)panic: explore: TestChildNeedsASocket: time in the synctest bubble stands still, because a goroutine uses a socket or a pipe: [^\n]*` +
		`\. If the operator needs it, explore it in real time: write RealTime: time\.Second in the explore\.Subject\. The goroutine that waits:.*realtime_test\.go:`
	if !regexp.MustCompile(want).MatchString(out) {
		t.Error(out)
	}
}

// In real time, the operator with a socket is explored as in bubbles: with faults and restarts, and with the same findings.
func TestAnOperatorWithASocketIsExploredInRealTime(t *testing.T) {
	t.Parallel()
	l := serveLicenses(t)
	s := licensed(gadgetOperator{}, l)
	s.RealTime, s.Trials = 300*time.Millisecond, 6
	found := findIn(t, s)
	for _, f := range found.Findings {
		t.Error(f.Report)
	}
	if found.Trials+found.Rejected < s.Trials || l.answers.Load() == 0 || found.RealTime != s.RealTime ||
		!strings.HasSuffix(found.String(), ", 0 findings; in real time, with 300ms after each step; not checked: goroutines that the operator leaves behind, because they have no bubble") {
		t.Errorf("%s; %d answers", found, l.answers.Load())
	}

	before := l.connections.Load()
	s.Replay = "gadgets.example.com default/a: create | crash-after operator create configmaps default/ 1"
	if found := findIn(t, s); len(found.Findings) > 0 {
		t.Error(found.Findings[0].Report)
	}
	// At rest, before the crash and after it, and without it.
	if n := l.connections.Load() - before; n != 4 {
		t.Errorf("the operator was started %d times, want 4", n)
	}
}

func TestMistakesAreFoundInRealTime(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it takes seconds of real time, and TestAnOperatorWithASocketIsExploredInRealTime explores in real time, too")
	}
	t.Parallel()
	s := licensed(gadgetOperator{forgetsToShrink: true}, serveLicenses(t))
	s.RealTime = 300 * time.Millisecond
	s.Replay = "gadgets.example.com default/a: create; remove /spec/count"
	found := findIn(t, s)
	const want = "\nThe trial ran in real time, with 300ms after each step. A slow machine may need more: see Subject.RealTime.\n"
	if len(found.Findings) != 1 || found.Findings[0].Oracle != explore.PathIndependent || found.Findings[0].Trial != s.Replay || !strings.Contains(found.Findings[0].Report, want) {
		t.Errorf("%s: %+v", found, found.Findings)
	}
}

// Endless writes are found, although time does not stand still.
func TestAnOperatorThatIsNeverQuietInRealTime(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it takes seconds of real time, and TestAnOperatorWithASocketIsExploredInRealTime explores in real time, too")
	}
	t.Parallel()
	s := licensed(gadgetOperator{reportsAlways: true}, serveLicenses(t))
	s.RealTime = 100 * time.Millisecond
	s.Replay = "gadgets.example.com default/a: create"
	found := findIn(t, s)
	if len(found.Findings) != 1 || found.Findings[0].Oracle != explore.Converges || !strings.HasPrefix(found.Findings[0].What, "the operator still writes after 1.2s; ") {
		t.Errorf("%s: %+v", found, found.Findings)
	}
}

// An upgrade in real time replaces an operator that has a socket by another one, and is checked as in bubbles.
func TestAnUpgradeIsExploredInRealTime(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it takes seconds of real time, and TestAnOperatorWithASocketIsExploredInRealTime explores in real time, too")
	}
	t.Parallel()
	l := serveLicenses(t)
	version := func(image string) explore.Subject {
		o := gadgetOperator{image: image}
		s := o.version("testdata/gadget/crd.yaml")
		s.Run = licensed(o, l).Run
		return s
	}
	to := version("main:1")
	to.RealTime = 300 * time.Millisecond
	to.Replay = "gadgets.example.com default/a: create; upgrade; restart; downgrade"
	found := upgradeOf(t, version("main:1"), to)
	if len(found.Findings) > 0 || found.RealTime != to.RealTime || l.answers.Load() == 0 {
		t.Errorf("%s, %d answers: %+v", found, l.answers.Load(), found.Findings)
	}

	to.Run = version("main:2").Run
	to.Replay = "gadgets.example.com default/a: create; upgrade"
	found = upgradeOf(t, version("main:1"), to)
	if len(found.Findings) != 1 || found.Findings[0].Oracle != explore.KeepsPods || found.Findings[0].Trial != to.Replay || !strings.Contains(found.Findings[0].Report, "\nThe trial ran in real time, ") {
		t.Errorf("%s: %+v", found, found.Findings)
	}
}
