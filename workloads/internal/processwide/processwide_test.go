package processwide_test

import (
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"
	_ "k8s.io/component-base/metrics/prometheus/workqueue" // as k8s.io/apiserver does

	_ "github.com/fakecluster/fakecluster/workloads/internal/processwide"
)

func TestAnIdleQueueDoesNotWake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Name: "q"})
		defer q.ShutDown()
		time.Sleep(time.Second)
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		if strings.Contains(string(stacks), "updateUnfinishedWorkLoop") {
			t.Error("the queue updates its metrics every 500 ms")
		}
		q.Add("one")
		if one, _ := q.Get(); one != "one" {
			t.Errorf("the queue does not work: %q", one)
		}
		q.Done("one")
	})
}
