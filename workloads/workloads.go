package workloads

import (
	"errors"
	"sync"
	"testing"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads/internal/controlplane"
)

// Workloads is what lives in a cluster. Its methods are safe for concurrent use.
type Workloads struct {
	attachment *fakecluster.Attachment
	plane      *controlplane.Plane
	end        func()

	mu     sync.Mutex
	panics []error
}

// Run makes a cluster live until the test and its subtests are complete. When it returns, all controllers and the
// scheduler have seen what is in the cluster. Run fails the test with t.Fatal if an option is wrong, if the cluster is
// closed, or if something runs in it already. A controller that panics fails the test with its name and stack; the
// other controllers go on.
func Run(t testing.TB, c *fakecluster.Cluster, opts ...Option) *Workloads {
	t.Helper()
	w := &Workloads{}
	if err := w.start(c, opts, func(err error) { t.Errorf("workloads: %v", err) }); err != nil {
		t.Fatalf("workloads: %v", err)
	}
	t.Cleanup(func() { _ = w.Close() }) // panics have been reported
	return w
}

// New makes a cluster live until Close, or until the cluster is closed. It is for programs, examples and TestMain; tests use Run.
// After an error nothing is left to close.
func New(c *fakecluster.Cluster, opts ...Option) (*Workloads, error) {
	w := &Workloads{}
	if err := w.start(c, opts, func(error) {}); err != nil {
		return nil, err
	}
	return w, nil
}

func (w *Workloads) start(c *fakecluster.Cluster, opts []Option, report func(error)) (err error) {
	s, err := read(opts)
	if err != nil {
		return err
	}
	scheduler, err := s.scheduler()
	if err != nil {
		return err
	}
	started := make(chan struct{}) // before that there is nothing to end
	w.end = sync.OnceFunc(func() {
		<-started
		if w.plane != nil {
			w.plane.Close()
		}
	})
	if w.attachment, err = c.Attach("workloads", w.end); err != nil {
		return err
	}
	defer func() {
		close(started)
		if err != nil {
			w.attachment.Detach()
		}
	}()
	clients, within, err := s.acting(w.attachment)
	if err != nil {
		return err
	}
	if err := w.attachment.Act(within...); err != nil {
		return err
	}
	w.plane, err = controlplane.Start(controlplane.Config{
		User: w.attachment.ConfigFor, ServiceAccount: w.attachment.ServiceAccountConfig, Mapper: c.RESTMapper(),
		Controllers: clients, Scheduler: scheduler, Logger: s.logger,
		Report: func(err error) {
			w.mu.Lock()
			w.panics = append(w.panics, err)
			w.mu.Unlock()
			report(err)
		},
	})
	return err
}

// Close ends what lives in the cluster. When it returns, no goroutine of it is left; the cluster goes on as an API server,
// and Run and New may be called for it again. Close returns the panics of controllers. Further calls return the
// same.
func (w *Workloads) Close() error {
	w.end()
	w.attachment.Detach()
	w.mu.Lock()
	defer w.mu.Unlock()
	return errors.Join(w.panics...)
}
