package workloads_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"

	"github.com/fakecluster/fakecluster/workloads"
)

// TestGoroutinesThatOutliveTheirContainerAreNamed proves that the log has the line that has started them, and nothing about those that
// end with their container.
func TestGoroutinesThatOutliveTheirContainerAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		var mu sync.Mutex
		var lines []string
		logger := funcr.New(func(_, args string) {
			if strings.Contains(args, "has exited, and left") {
				mu.Lock()
				lines = append(lines, args)
				mu.Unlock()
			}
		}, funcr.Options{})
		stop, logged := make(chan struct{}), ""
		w, err := workloads.New(c, workloads.Nodes(1), workloads.Logger(logger),
			workloads.Image("tidy", func(ctx context.Context, _ *workloads.Container) error {
				go func() { <-ctx.Done() }()
				<-ctx.Done()
				return nil
			}),
			workloads.Image("untidy", func(ctx context.Context, _ *workloads.Container) error {
				_, file, line, _ := runtime.Caller(0)
				logged = fmt.Sprintf("%s:%d", file, line+2)
				go wait(stop)
				<-ctx.Done()
				return nil
			}))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"tidy", "untidy"} {
			createPod(t, c, name, "containers: [{name: c, image: "+name+"}]")
		}
		time.Sleep(5 * time.Second)
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		want := "container c of pod default/untidy (image untidy) has exited, and left a goroutine of " +
			"github.com/fakecluster/fakecluster/workloads_test.wait, started at " + logged + "; a goroutine must end with the context of the function"
		if len(lines) != 1 || !strings.Contains(lines[0], want) {
			t.Errorf("the log is %q, want %q", lines, want)
		}
		close(stop)
	})
}

func wait(stop chan struct{}) { <-stop }
