package controlplane

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core"
	corev1informers "k8s.io/client-go/informers/core/v1"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clientevents "k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	configv1 "k8s.io/kubernetes/pkg/scheduler/apis/config/v1"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
)

// ReadSchedulerConfig reads a KubeSchedulerConfiguration, in YAML or JSON, as kube-scheduler reads the file of its flag
// --config. For empty data it returns the default configuration.
func ReadSchedulerConfig(data []byte) (*config.KubeSchedulerConfiguration, error) {
	if len(data) == 0 {
		data = []byte(fmt.Sprintf(`{"apiVersion":%q,"kind":"KubeSchedulerConfiguration"}`, configv1.SchemeGroupVersion))
	}
	obj, kind, err := scheme.Codecs.UniversalDecoder().Decode(data, nil, nil)
	if err != nil {
		return nil, err
	}
	c, ok := obj.(*config.KubeSchedulerConfiguration)
	if !ok {
		return nil, fmt.Errorf("the kind is %s, not KubeSchedulerConfiguration", kind.Kind)
	}
	c.APIVersion = kind.GroupVersion().String()
	if err := validation.ValidateKubeSchedulerConfiguration(c); err != nil {
		return nil, err
	}
	return c, nil
}

// Scheduler is kube-scheduler. It implements world.Part.
type Scheduler struct {
	config    *config.KubeSchedulerConfiguration
	user      *rest.Config
	informers informers.SharedInformerFactory
	report    func(error)

	made    *schedulers // nil: Start has failed
	run     func()      // runs what was made, once
	running sync.WaitGroup
}

// Scheduler returns a scheduler that shares the informers of the controllers. The configuration is one of
// [ReadSchedulerConfig].
func (c *Controllers) Scheduler(configuration *config.KubeSchedulerConfiguration) *Scheduler {
	user := asProgram(c.config.User(schedulerUser), schedulerName, "scheduler")
	return &Scheduler{config: configuration, user: user, informers: c.informers, report: c.config.Report}
}

// Start implements world.Part. The scheduler starts with the current objects of the informers: if they had only one of
// three Nodes, it would bind all Pods to it, or none.
func (s *Scheduler) Start(ctx context.Context) (err error) {
	ctx = withName(ctx, schedulerName, s.report)
	if s.made, err = newScheduler(ctx, s.user, s.informers, s.config); err != nil {
		return err
	}
	s.run = sync.OnceFunc(func() {
		s.running.Go(func() {
			defer recoverPanic(ctx)
			s.made.run(ctx)
		})
	})
	s.made.start(ctx)
	s.informers.StartWithContext(ctx) // those that only the scheduler needs
	if err := s.informers.WaitForCacheSyncWithContext(ctx).AsError(); err != nil {
		return fmt.Errorf("waiting for the informers of the scheduler: %w", err)
	}
	if err := s.made.sync(ctx); err != nil {
		return fmt.Errorf("waiting for the scheduler: %w", err)
	}
	s.run()
	return nil
}

// Wait implements world.Part.
func (s *Scheduler) Wait() {
	if s.made == nil {
		return
	}
	s.run() // its queue ends only when it runs
	s.running.Wait()
	s.made.shutdown()
}

// schedulers is a scheduler with its informers and Events.
type schedulers struct {
	*scheduler.Scheduler
	own       informers.SharedInformerFactory // of its pods
	dynamic   dynamicinformer.DynamicSharedInformerFactory
	events    clientevents.EventBroadcaster
	construct context.CancelFunc
}

// newScheduler returns a scheduler. Its informers are those of the controllers, except that of pods, which leaves out
// finished pods.
func newScheduler(ctx context.Context, rest *rest.Config, shared informers.SharedInformerFactory, c *config.KubeSchedulerConfiguration) (*schedulers, error) {
	client, err := newClient(rest)
	if err != nil {
		return nil, err
	}
	dynamicClient, err := dynamic.NewForConfig(rest)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	s := &schedulers{
		own:     newInformers(client, "status.phase!=Succeeded,status.phase!=Failed"),
		dynamic: dynamicinformer.NewDynamicSharedInformerFactory(dynamicClient, 0),
		events:  clientevents.NewBroadcaster(&clientevents.EventSinkImpl{Interface: client.EventsV1()}), // not the adapter, which logs without a context
	}
	pods := s.own.Core().V1().Pods()
	constructing, done := context.WithCancel(ctx)
	s.construct = done
	s.Scheduler, err = scheduler.New(constructing, client, withPods{shared, pods}, s.dynamic, func(name string) clientevents.EventRecorderLogger {
		return s.events.NewRecorder(clientscheme.Scheme, name)
	},
		scheduler.WithComponentConfigVersion(c.APIVersion),
		scheduler.WithKubeConfig(rest),
		scheduler.WithProfiles(c.Profiles...),
		scheduler.WithPercentageOfNodesToScore(c.PercentageOfNodesToScore),
		scheduler.WithPodInitialBackoffSeconds(c.PodInitialBackoffSeconds),
		scheduler.WithPodMaxBackoffSeconds(c.PodMaxBackoffSeconds),
		scheduler.WithExtenders(c.Extenders...),
		scheduler.WithParallelism(c.Parallelism),
	)
	if err != nil {
		done()
		return nil, fmt.Errorf("making the scheduler: %w", err)
	}
	return s, nil
}

// start starts the scheduler's own informers.
func (s *schedulers) start(ctx context.Context) {
	s.own.StartWithContext(ctx)
	s.dynamic.Start(ctx.Done())
}

// sync waits until the scheduler has seen all objects. Then it ends the recorders of metrics that the scheduler's
// constructor has started, which would wake each second.
func (s *schedulers) sync(ctx context.Context) error {
	defer s.construct()
	s.own.WaitForCacheSync(ctx.Done())
	s.dynamic.WaitForCacheSync(ctx.Done())
	return s.WaitForHandlersSync(ctx)
}

// run schedules until ctx ends.
func (s *schedulers) run(ctx context.Context) {
	if err := s.events.StartRecordingToSinkWithContext(ctx); err != nil {
		klog.FromContext(ctx).Error(err, "Recording the Events of the scheduler")
	}
	defer s.events.Shutdown()
	s.Run(ctx)
}

// shutdown waits for the informers.
func (s *schedulers) shutdown() {
	s.construct()
	s.own.Shutdown()
	s.dynamic.Shutdown()
}

// withPods is a factory of informers with another informer of pods.
type withPods struct {
	informers.SharedInformerFactory
	pods corev1informers.TypedPodInformer
}

func (f withPods) Core() coreinformers.Interface {
	return coreWithPods{f.SharedInformerFactory.Core(), f.pods}
}

type coreWithPods struct {
	coreinformers.Interface
	pods corev1informers.TypedPodInformer
}

func (c coreWithPods) V1() corev1informers.Interface { return coreV1WithPods{c.Interface.V1(), c.pods} }

type coreV1WithPods struct {
	corev1informers.Interface
	pods corev1informers.TypedPodInformer
}

func (c coreV1WithPods) Pods() corev1informers.TypedPodInformer { return c.pods }
