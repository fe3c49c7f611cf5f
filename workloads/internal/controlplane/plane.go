package controlplane

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"

	"github.com/fakecluster/fakecluster/fakecluster"
	_ "github.com/fakecluster/fakecluster/workloads/internal/processwide"
)

// The programs of a real cluster that run here.
const (
	controllerManager     = "kube-controller-manager"
	controllerManagerUser = "system:kube-controller-manager"
	schedulerName         = "kube-scheduler"
	schedulerUser         = "system:kube-scheduler"
)

// Config is what a control plane runs with.
type Config struct {
	// User and ServiceAccount return the configuration of a client.
	User           func(name string, groups ...string) *rest.Config
	ServiceAccount func(namespace, name string) *rest.Config
	Mapper         meta.RESTMapper
	// Controllers are the names of those that run.
	Controllers []string
	// Scheduler is the configuration of the scheduler; nil: none runs.
	Scheduler *config.KubeSchedulerConfiguration
	Logger    logr.Logger
	// Signing returns the authority and the key with which controllers sign certificates and tokens.
	Signing func() (fakecluster.Signing, error)
	// Idle is what the node lifecycle controller needs in order to stop while nothing happens; nil: it does not stop.
	Idle *Idle
	// Report is called with each panic, on any goroutine.
	Report func(error)
	// Others starts other programs that share the informers, before these run. They end with the context; wait
	// returns when they have ended. nil: there are none.
	Others func(context.Context, informers.SharedInformerFactory) (wait func(), err error)
	// Ready waits, once the controllers run, for what the scheduler should find: Nodes that are ready. nil: nothing.
	Ready func(context.Context)

	table []row // for tests; nil: the table
}

// Plane is a running control plane.
type Plane struct {
	config    Config
	informers informers.SharedInformerFactory
	scheduler *schedulers
	// made are controllers that do not run yet, and runScheduler runs the scheduler unless it does. Their queues and
	// recorders of Events end only when they run.
	made         []func()
	runScheduler func()
	running      sync.WaitGroup
	end          context.CancelFunc
}

// Start runs a control plane until Close. When it returns, its informers have seen all objects.
func Start(c Config) (*Plane, error) {
	ctx, end := context.WithCancel(klog.NewContext(context.Background(), c.Logger))
	p := &Plane{config: c, end: end}
	running.add(p, c.Report)
	if err := p.start(ctx); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (p *Plane) start(ctx context.Context) error {
	client, err := newClient(asProgram(p.config.User(controllerManagerUser), controllerManager, sharedInformers))
	if err != nil {
		return err
	}
	p.informers = newInformers(client, "")
	b := &builder{informers: p.informers, mapper: p.config.Mapper, idle: p.config.Idle, signing: p.config.Signing, config: func(account string) *rest.Config {
		return p.config.ServiceAccount(metav1.NamespaceSystem, account)
	}, root: func(name string) (kubernetes.Interface, error) {
		return newClient(asProgram(p.config.User(controllerManagerUser), controllerManager, name))
	}}
	if err := p.makeControllers(ctx, b); err != nil {
		return err
	}
	if err := createAccounts(ctx, client, b.accounts); err != nil {
		return err
	}
	if p.config.Others != nil {
		wait, err := p.config.Others(ctx, p.informers)
		if wait != nil {
			p.running.Go(wait)
		}
		if err != nil {
			return err
		}
	}
	p.informers.StartWithContext(ctx)
	if err := p.informers.WaitForCacheSyncWithContext(ctx).AsError(); err != nil {
		return fmt.Errorf("waiting for the informers: %w", err)
	}
	// A controller that begins before its informers have synced looks again after 100 ms.
	p.runMade()
	// A scheduler that begins with one of three Nodes binds all Pods to it, or none.
	if p.config.Ready != nil {
		p.config.Ready(ctx)
	}
	if p.config.Scheduler == nil {
		return nil
	}
	return p.startScheduler(ctx)
}

// startScheduler makes and runs the scheduler. What it has seen when it runs is what the informers have now.
func (p *Plane) startScheduler(ctx context.Context) (err error) {
	ctx = withName(ctx, schedulerName, p.config.Report)
	user := asProgram(p.config.User(schedulerUser), schedulerName, "scheduler")
	if p.scheduler, err = newScheduler(ctx, user, p.informers, p.config.Scheduler); err != nil {
		return err
	}
	p.runScheduler = sync.OnceFunc(func() {
		p.running.Go(func() {
			defer recoverPanic(ctx)
			p.scheduler.run(ctx)
		})
	})
	p.scheduler.start(ctx)
	p.informers.StartWithContext(ctx) // those that the scheduler alone needs
	if err := p.informers.WaitForCacheSyncWithContext(ctx).AsError(); err != nil {
		return fmt.Errorf("waiting for the informers of the scheduler: %w", err)
	}
	if err := p.scheduler.sync(ctx); err != nil {
		return fmt.Errorf("waiting for the scheduler: %w", err)
	}
	p.runScheduler()
	return nil
}

// runMade runs the controllers that have been made.
func (p *Plane) runMade() {
	for _, run := range p.made {
		p.running.Go(run)
	}
	p.made = nil
}

// makeControllers makes the controllers.
func (p *Plane) makeControllers(ctx context.Context, b *builder) error {
	rows := p.config.table
	if rows == nil {
		rows = table
	}
	for _, r := range rows {
		if !slices.Contains(p.config.Controllers, r.name) || isOff(r.name) {
			continue
		}
		b.ctx = withName(ctx, r.name, p.config.Report)
		run, err := r.new(b)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		ctx := b.ctx
		p.made = append(p.made, func() {
			defer recoverPanic(ctx)
			run(ctx)
		})
	}
	return nil
}

// Close ends the control plane. When it returns, none of its goroutines is left.
func (p *Plane) Close() {
	p.end()
	p.runMade() // if Start has failed
	if p.runScheduler != nil {
		p.runScheduler()
	}
	p.running.Wait()
	if p.scheduler != nil {
		p.scheduler.shutdown()
	}
	if p.informers != nil {
		p.informers.Shutdown()
	}
	running.remove(p)
}

// createAccounts creates ServiceAccounts in kube-system, unless they exist.
func createAccounts(ctx context.Context, client kubernetes.Interface, names []string) error {
	accounts := client.CoreV1().ServiceAccounts(metav1.NamespaceSystem)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := accounts.Create(ctx, account, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating the ServiceAccount of a controller: %w", err)
		}
	}
	return nil
}
