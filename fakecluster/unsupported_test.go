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

// A request that a real server would serve is refused with an error that names fakecluster, and the log of
// the test has it once. Requests that a real server does not serve either are left out.
func TestTheLogNamesUnsupportedRequestsOnce(t *testing.T) {
	tb := &logged{TB: t}
	c := fakecluster.Start(tb, fakecluster.InProcess())
	ask := func(c *fakecluster.Cluster, path string) string {
		return c.Discovery().RESTClient().Get().AbsPath(path).Do(context.Background()).Error().Error()
	}
	const logs = "fakecluster does not serve /debug/flags: the verbosity of logs is that of the process, which is the test's"
	const queues = "fakecluster does not serve /debug/api_priority_and_fairness: no request waits in a queue"
	for range 2 {
		equal(t, "logs", ask(c, "/debug/flags/v"), logs)
		equal(t, "queues", ask(c, "/debug/api_priority_and_fairness/dump_queues"), queues)
		equal(t, "what nobody serves", ask(c, "/apis/apps/v1/deploymints"), "the server could not find the requested resource")
	}
	equal(t, "the log", tb.lines, []string{logs, queues})

	ofFork := &logged{TB: t}
	ask(c.Fork(ofFork), "/debug/flags")
	equal(t, "the log of a fork", ofFork.lines, []string{logs})
	equal(t, "the log", len(tb.lines), 2)
}
