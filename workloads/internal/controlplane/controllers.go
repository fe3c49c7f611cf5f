package controlplane

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/fakecluster"
	_ "github.com/fakecluster/fakecluster/workloads/internal/processwide"
)

// The programs of a real control plane that run here.
const (
	controllerManager     = "kube-controller-manager"
	controllerManagerUser = "system:kube-controller-manager"
	schedulerName         = "kube-scheduler"
	schedulerUser         = "system:kube-scheduler"
)

// Config configures NewControllers.
type Config struct {
	// User and ServiceAccount return the configuration of a client.
	User           func(name string, groups ...string) *rest.Config
	ServiceAccount func(namespace, name string) *rest.Config
	Mapper         meta.RESTMapper
	// Controllers are the names of the controllers to run.
	Controllers []string
	// Signing returns the authority and the key with which controllers sign certificates and tokens.
	Signing func() (fakecluster.Signing, error)
	// Idle makes the node lifecycle controller pause while nothing happens; nil: it does not pause.
	Idle *Idle
	// Report is called with each panic, on any goroutine.
	Report func(error)

	table []row // for tests; nil: the table
}

// Controllers are controllers of kube-controller-manager, with shared informers.
type Controllers struct {
	config    Config
	informers informers.SharedInformerFactory
	// made are controllers that do not run yet. Their queues and Event recorders end only after they have run.
	made    []func()
	running sync.WaitGroup
	end     context.CancelFunc
}

// NewControllers returns controllers, and creates their ServiceAccounts. They log to the context's logger, and end with
// the context. If it returns no error, the caller must call Wait.
func NewControllers(ctx context.Context, config Config) (*Controllers, error) {
	ctx, end := context.WithCancel(ctx)
	c := &Controllers{config: config, end: end}
	running.add(c, config.Report)
	if err := c.make(ctx); err != nil {
		c.Wait()
		return nil, err
	}
	return c, nil
}

func (c *Controllers) make(ctx context.Context) error {
	client, err := newClient(asProgram(c.config.User(controllerManagerUser), controllerManager, sharedInformers))
	if err != nil {
		return err
	}
	c.informers = newInformers(client, "")
	b := &builder{informers: c.informers, mapper: c.config.Mapper, idle: c.config.Idle, signing: c.config.Signing, config: func(account string) *rest.Config {
		return c.config.ServiceAccount(metav1.NamespaceSystem, account)
	}, root: func(name string) (kubernetes.Interface, error) {
		return newClient(asProgram(c.config.User(controllerManagerUser), controllerManager, name))
	}}
	if err := c.makeEach(ctx, b); err != nil {
		return err
	}
	return createAccounts(ctx, client, b.accounts)
}

// Informers returns the informers that all parts of the living cluster share. Users must request theirs before
// [Controllers.Start].
func (c *Controllers) Informers() informers.SharedInformerFactory { return c.informers }

// Start implements world.Part. It starts the informers and, when they have synced, the controllers. A controller that
// starts before its informers have synced would check again only after 100 ms.
func (c *Controllers) Start(ctx context.Context) error {
	context.AfterFunc(ctx, c.end)
	c.informers.StartWithContext(ctx)
	if err := c.informers.WaitForCacheSyncWithContext(ctx).AsError(); err != nil {
		return fmt.Errorf("waiting for the informers: %w", err)
	}
	c.runMade()
	return nil
}

// runMade runs the controllers that were made.
func (c *Controllers) runMade() {
	for _, run := range c.made {
		c.running.Go(run)
	}
	c.made = nil
}

// Wait implements world.Part. It ends the controllers and the informers. It runs controllers that do not run yet,
// because only then they end.
func (c *Controllers) Wait() {
	c.end()
	c.runMade()
	c.running.Wait()
	if c.informers != nil {
		c.informers.Shutdown()
	}
	running.remove(c)
}

// makeEach makes each of the controllers.
func (c *Controllers) makeEach(ctx context.Context, b *builder) error {
	rows := c.config.table
	if rows == nil {
		rows = table
	}
	for _, r := range rows {
		if !slices.Contains(c.config.Controllers, r.name) || isOff(r.name) {
			continue
		}
		b.ctx = withName(ctx, r.name, c.config.Report)
		run, err := r.new(b)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		ctx := b.ctx
		c.made = append(c.made, func() {
			defer recoverPanic(ctx)
			run(ctx)
		})
	}
	return nil
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
