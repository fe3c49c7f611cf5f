package fakecluster_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// logged is a test whose log can be read.
type logged struct {
	testing.TB
	lines []string
}

func (l *logged) Log(args ...any) { l.lines = append(l.lines, fmt.Sprint(args...)) }

// What a real server would serve is refused in words that say whose fault it is, and the log of
// the test says so once. What a real server does not serve either is not mentioned there.
func TestTheLogSaysOnceWhatFakeclusterDoesNotServe(t *testing.T) {
	of := &logged{TB: t}
	c := fakecluster.Start(of, fakecluster.InProcess())
	ask := func(c *fakecluster.Cluster, path string) string {
		return c.Discovery().RESTClient().Get().AbsPath(path).Do(context.Background()).Error().Error()
	}
	const flags = "fakecluster does not serve /flagz: a cluster in a test has options and no flags"
	const debug = "fakecluster does not serve /debug: the process is that of the test, and can be looked into there"
	for range 2 {
		equal(t, "flags", ask(c, "/flagz"), flags)
		equal(t, "profiles", ask(c, "/debug/pprof"), debug)
		equal(t, "what nobody serves", ask(c, "/apis/apps/v1/deploymints"), "the server could not find the requested resource")
	}
	equal(t, "the log", of.lines, []string{flags, debug})

	ofFork := &logged{TB: t}
	ask(c.Fork(ofFork), "/flagz")
	equal(t, "the log of a fork", ofFork.lines, []string{flags})
	equal(t, "the log", len(of.lines), 2)
}
