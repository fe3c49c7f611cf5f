package workloads

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/collector"
	"github.com/fakecluster/fakecluster/workloads/internal/controlplane"
	"github.com/fakecluster/fakecluster/workloads/internal/cri"
	"github.com/fakecluster/fakecluster/workloads/internal/network"
	"github.com/fakecluster/fakecluster/workloads/internal/node"
	"github.com/fakecluster/fakecluster/workloads/internal/world"
)

// Workloads is the set of controllers, scheduler and Nodes that run in a cluster. Its methods are safe for
// concurrent use.
type Workloads struct {
	attachment *fakecluster.Attachment
	world      *world.World  // nil: Run has failed
	agent      *node.Agent   // nil: there are no Nodes
	programs   *cri.Programs // nil: there are no Nodes
	network    *network.Network
	dns        netip.Addr // the address of the DNS
	services   string     // the range of the addresses of Services; only with a control plane
	end        func()
	detach     sync.Once    // of Close
	fail       func(error)  // fails the test, if there is one
	log        func(string) // writes to the log of the test; without a test, to Logger

	clusterClosed atomic.Bool // the cluster is closed or being closed

	mu       sync.Mutex
	problems []error
}

// Run runs controllers, the scheduler and Nodes in a cluster until the test and its subtests are complete.
// When it returns, the Nodes are ready, and the controllers and the scheduler have synced the objects of the
// cluster. Run waits up to 10 s for a Node that cannot become ready, as with a fault on the requests of
// node-lifecycle-controller, and then logs which one and why. Run fails the test with t.Fatal if an option is
// wrong, if the cluster is closed, or if workloads run in it already. A controller that panics fails the test
// with its name and stack; the other controllers continue.
func Run(t testing.TB, c *fakecluster.Cluster, opts ...Option) *Workloads {
	t.Helper()
	tb := c.TB(t)
	w := &Workloads{
		fail: func(err error) { tb.Errorf("workloads: %v", err) },
		log:  func(sentence string) { t.Log("workloads: " + sentence) },
	}
	if err := w.start(c, opts); err != nil {
		tb.Fatalf("workloads: %v", err)
	}
	t.Cleanup(func() {
		t.Helper()
		w.end() // its problems have failed the test before
		w.attachment.Detach()
		if err := w.unmatched(); err != nil && !t.Failed() {
			tb.Errorf("workloads: %v", err)
		}
	})
	return w
}

// New runs controllers, the scheduler and Nodes in a cluster until Close, or until the cluster is closed. It
// is for programs, examples and TestMain; tests use Run. After an error nothing is left to close.
func New(c *fakecluster.Cluster, opts ...Option) (*Workloads, error) {
	w := &Workloads{fail: func(error) {}}
	if err := w.start(c, opts); err != nil {
		return nil, err
	}
	return w, nil
}

// errClosed is the error of workloads whose cluster is closed while they start.
var errClosed = errors.New("the cluster is closed")

func (w *Workloads) start(c *fakecluster.Cluster, opts []Option) (err error) {
	if c == nil {
		return errors.New("the cluster is nil: give one of fakecluster.Start or fakecluster.New")
	}
	s, err := read(opts)
	if err != nil {
		return err
	}
	if err := s.needNodes(); err != nil {
		return err
	}
	if w.log == nil {
		w.log = func(sentence string) { s.logger.Info(sentence) }
	}
	scheduler, err := s.scheduler()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), s.logger))
	context.AfterFunc(ctx, collector.RunLess()) // until the workloads end
	started := make(chan struct{})              // before that there is no world to close
	w.end = sync.OnceFunc(func() {
		cancel()
		<-started
		if w.world != nil {
			w.world.Close()
		}
	})
	w.attachment, err = c.Attach("workloads", func() {
		w.clusterClosed.Store(true)
		w.end()
	})
	if err != nil {
		cancel()
		return err
	}
	defer func() {
		close(started)
		if err != nil {
			if ctx.Err() != nil {
				err = errClosed
			}
			cancel()
			w.attachment.Detach()
		}
	}()
	clients, within, err := s.acting(w.attachment)
	if err != nil {
		return err
	}
	if len(s.nodes) > 0 {
		if err := w.createRoles(ctx); err != nil {
			return err
		}
		if s.controlPlane {
			if err := w.installControlPlane(ctx, c, s); err != nil {
				return fmt.Errorf("ControlPlane: %w", err)
			}
		}
	}
	if err := w.attachment.Act(within...); err != nil {
		return err
	}
	if slices.Contains(clients, string(fakecluster.NamespaceController)) {
		if err := w.attachment.Replace(fakecluster.NamespaceController); err != nil {
			return err
		}
	}
	w.world, err = w.run(ctx, c, s, clients, scheduler)
	return err
}

// run starts the parts of the workloads in order. The informers start with the controllers, so parts that use
// informers come before them.
func (w *Workloads) run(ctx context.Context, c *fakecluster.Cluster, s *settings, clients []string, scheduler *config.KubeSchedulerConfiguration) (*world.World, error) {
	controllers, err := controlplane.NewControllers(ctx, controlplane.Config{
		User: w.attachment.ConfigFor, ServiceAccount: w.attachment.ServiceAccountConfig, Signing: w.attachment.Signing, Mapper: c.RESTMapper(),
		Controllers: clients, Report: w.report,
		Idle: &controlplane.Idle{Revision: w.attachment.Revision, Faulty: w.attachment.Faulty, Beat: w.beat},
	})
	if err != nil {
		return nil, err
	}
	shared := controllers.Informers()
	var parts []world.Part
	if len(s.nodes) > 0 {
		parts = append(parts, &podNetwork{w: w, informers: shared}, &nodes{w: w, cluster: c, settings: s, informers: shared},
			&provisioners{w: w, names: s.provisioners, informers: shared})
	}
	parts = append(parts, controllers, ready{w, slices.Contains(clients, "node-lifecycle-controller")})
	if scheduler != nil {
		parts = append(parts, controllers.Scheduler(scheduler))
	}
	return world.Run(ctx, parts...)
}

// report fails the test with a problem, and keeps it for Close. Any goroutine may call it.
func (w *Workloads) report(err error) {
	w.mu.Lock()
	w.problems = append(w.problems, err)
	w.mu.Unlock()
	w.fail(err)
}

// Close ends the controllers, the scheduler and the Nodes. When it returns, none of their goroutines is left.
// The cluster continues as an API server, and Run and New may be called for it again. Close returns an error
// for panics of controllers, failures of Nodes, and behaviors that have selected no container. Further calls
// return the same.
func (w *Workloads) Close() error {
	w.end()
	w.detach.Do(func() {
		if w.clusterClosed.Load() {
			return
		}
		w.attachment.Detach()
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	return errors.Join(append(slices.Clone(w.problems), w.unmatched())...)
}
