package controlplane

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/cloud-provider/controllers/route"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/scheduler"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/testing/leaktest"
	"github.com/fakecluster/fakecluster/workloads/internal/world"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// TestAPanicEndsItsGoroutineAndIsReported proves that a panic is reported with the controller's name and its stack, wherever
// it happens, and that the controllers go on and end.
func TestAPanicEndsItsGoroutineAndIsReported(t *testing.T) {
	for _, c := range []struct {
		name string
		new  func(b *builder) (runFunc, error)
		want []string // in the report
	}{
		{"in its main loop", func(*builder) (runFunc, error) {
			return func(context.Context) { panic("on purpose") }, nil
		}, []string{"broken-controller panicked: on purpose\n", "controllers_test.go"}},
		{"in a worker", func(*builder) (runFunc, error) {
			return func(ctx context.Context) {
				done := make(chan struct{})
				go func() {
					defer close(done)
					wait.UntilWithContext(ctx, func(context.Context) { panic("on purpose") }, time.Second)
				}()
				<-done
			}, nil
		}, []string{"broken-controller panicked: on purpose\n", "controllers_test.go"}},
		{"in a worker together with others", func(*builder) (runFunc, error) {
			return together(func(ctx context.Context) { <-ctx.Done() }, func(context.Context) { panic("on purpose") }), nil
		}, []string{"broken-controller panicked: on purpose\n", "controllers_test.go"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				reports := make(chan error, 10)
				w := started(t, Config{Controllers: []string{"broken-controller"}, table: []row{{"broken-controller", c.new}}, Report: func(err error) { reports <- err }})
				synctest.Wait()
				w.Close()
				close(reports)
				text := ""
				n := 0
				for err := range reports {
					text += err.Error()
					n++
				}
				if n != 1 {
					t.Errorf("there are %d reports", n)
				}
				for _, want := range c.want {
					if !strings.Contains(text, want) {
						t.Errorf("the report lacks %q: %s", want, text)
					}
				}
			})
		})
	}
}

// started starts controllers of a new cluster.
func started(t *testing.T, c Config) *world.World {
	return startedIn(context.Background(), t, fakecluster.Start(t, fakecluster.InProcess()), c)
}

// startedIn starts controllers of a cluster, which end with the context.
func startedIn(ctx context.Context, t *testing.T, cluster *fakecluster.Cluster, c Config) *world.World {
	a, err := cluster.Attach("controllers", func() {})
	if err != nil {
		t.Fatal(err)
	}
	c.User, c.ServiceAccount, c.Mapper = a.ConfigFor, a.ServiceAccountConfig, cluster.RESTMapper()
	ctx = klog.NewContext(ctx, logr.Discard())
	controllers, err := NewControllers(context.WithoutCancel(ctx), c)
	if err != nil {
		t.Fatal(err)
	}
	w, err := world.Run(ctx, controllers)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

// TestControllersEndWithTheContext proves that they end with the context that world.Run gets, before anybody waits for them.
func TestControllersEndWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		waits := func(*builder) (runFunc, error) {
			return func(ctx context.Context) {
				<-ctx.Done()
				ended = true
			}, nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		startedIn(ctx, t, fakecluster.Start(t, fakecluster.InProcess()), Config{Controllers: []string{"waiting-controller"}, table: []row{{"waiting-controller", waits}}, Report: func(err error) { t.Error(err) }})
		synctest.Wait()
		if ended {
			t.Error("it has ended before its context")
		}
		cancel()
		synctest.Wait()
		if !ended {
			t.Error("it goes on after its context")
		}
	})
}

// stackIn returns a stack with a method of a type of upstream's.
func stackIn[T any]() string {
	t := reflect.TypeFor[T]()
	return fmt.Sprintf("goroutine 1 [running]:\n%s.(*%s).add(0x1)\n\tfile.go", t.PkgPath(), t.Name())
}

func TestThePackageOfAPanicIsFoundInItsStack(t *testing.T) {
	for stack, want := range map[string]string{
		stackIn[deployment.DeploymentController]():                                        "controller/deployment",
		stackIn[scheduler.Scheduler]():                                                    "scheduler",
		stackIn[route.RouteController]():                                                  "k8s.io/cloud-provider/controllers/route",
		"goroutine 1 [running]:\nmain.main()\n\tk8s.io/kubernetes/pkg/controller/file.go": "",
	} {
		if got := controllerOf([]byte(stack)); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("it is %q, want %q, of %s", got, want, stack)
		}
	}
}
