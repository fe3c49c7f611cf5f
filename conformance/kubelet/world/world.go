// Package world runs pods on a node of a cluster, under a kubelet or under the node agent, and records what a client sees of them.
package world

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	clientrest "k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/conformance/kubelet/cri"
	"github.com/fakecluster/fakecluster/conformance/kubelet/random"
	"github.com/fakecluster/fakecluster/fakecluster"
)

const nodeName = "n1"

// Record is what a client sees of a pod.
type Record struct {
	Versions []Version
	Events   []Event
}

// Version is a version of the pod, and when it was written, since the creation of the pod.
type Version struct {
	At   time.Duration
	Gone bool `json:",omitempty"`
	Pod  *corev1.Pod
}

// Event is a version of an Event of the pod.
type Event struct {
	At    time.Duration
	Event *corev1.Event
}

// agent runs the pods of a node.
type agent interface {
	// start starts the agent. It calls started when a container has started, with the number of its starts before.
	start(ctx context.Context, c *fakecluster.Cluster, started func(namespace, pod, container string, n int)) error
}

// Names of the agents.
const (
	Kubelet = "kubelet"
	Agent   = "agent"
)

// Run runs the scenarios at once, in a bubble, and returns the record of each. What has to run outside of the bubble goes to outside. The process has to end afterwards, because a kubelet leaves
// goroutines behind.
func Run(ctx context.Context, name string, outside cri.Outside, offset, lasts time.Duration, scenarios []random.Scenario) ([]Record, error) {
	agents := map[string]agent{Kubelet: real{outside}, Agent: ours{}}
	a := agents[name]
	if a == nil {
		return nil, fmt.Errorf("there is no agent %q: %s and %s are", name, Kubelet, Agent)
	}
	c, err := fakecluster.New(fakecluster.InProcess(), fakecluster.WithWatchHistory(1_000_000, 1<<30))
	if err != nil {
		return nil, err
	}
	config := c.RESTConfig()
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	w := &world{client: client, scenarios: scenarios, started: time.Now(), records: make([]Record, len(scenarios)), index: map[string]int{}}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if _, err := client.CoreV1().ServiceAccounts("default").Create(ctx, account, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, err
	}
	if err := createFixtures(ctx, client); err != nil {
		return nil, err
	}
	if err := w.watch(ctx); err != nil {
		return nil, err
	}
	if err := a.start(ctx, c, w.containerStarted); err != nil {
		return nil, err
	}
	time.Sleep(settle + offset)
	if err := w.create(ctx); err != nil {
		return nil, err
	}
	time.Sleep(lasts)
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.records, w.err
}

// createFixtures creates the objects that all pods may name.
func createFixtures(ctx context.Context, client kubernetes.Interface) error {
	for _, class := range random.RuntimeClasses() {
		if _, err := client.NodeV1().RuntimeClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	for _, claim := range random.Claims() {
		if _, err := client.CoreV1().PersistentVolumeClaims("default").Create(ctx, claim, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// settle is how long the agents have for their start. A kubelet delays the first probes of pods that it finds when it starts by up to their
// period.
const settle = 2 * time.Minute

// world is a cluster with the pods.
type world struct {
	client    kubernetes.Interface
	scenarios []random.Scenario
	started   time.Time

	mu      sync.Mutex
	index   map[string]int // by name of the pod
	records []Record
	err     error
}

// watch records the pods and their Events.
func (w *world) watch(ctx context.Context) error {
	pods, err := w.client.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	events, err := w.client.CoreV1().Events("").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	go w.record(pods, func(r *Record, moment time.Duration, e watch.Event) {
		if pod, ok := e.Object.(*corev1.Pod); ok {
			r.Versions = append(r.Versions, Version{At: moment, Gone: e.Type == watch.Deleted, Pod: pod})
		}
	})
	go w.record(events, func(r *Record, moment time.Duration, e watch.Event) {
		if event, ok := e.Object.(*corev1.Event); ok {
			r.Events = append(r.Events, Event{At: moment, Event: event})
		}
	})
	return nil
}

func (w *world) record(from watch.Interface, add func(*Record, time.Duration, watch.Event)) {
	for e := range from.ResultChan() {
		var name string
		switch object := e.Object.(type) {
		case *corev1.Pod:
			name = object.Name
		case *corev1.Event:
			name = object.InvolvedObject.Name
		}
		w.mu.Lock()
		if i, ok := w.index[name]; ok {
			add(&w.records[i], time.Since(w.started), e)
		}
		w.mu.Unlock()
	}
	w.fail(fmt.Errorf("a watch has ended"))
}

func (w *world) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
}

// create creates the pods.
func (w *world) create(ctx context.Context) error {
	w.mu.Lock()
	w.started = time.Now()
	for i, s := range w.scenarios {
		w.index[s.Pod.Name] = i
	}
	w.mu.Unlock()
	for _, s := range w.scenarios {
		for _, a := range s.Actions {
			if a.First() {
				if err := w.do(s, a); err != nil {
					return fmt.Errorf("%+v before pod %s: %w", a, s.Pod.Name, err)
				}
			}
		}
		pod := s.Pod.DeepCopy()
		pod.Spec.NodeName = nodeName
		if _, err := w.client.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create pod %s: %w", pod.Name, err)
		}
		w.schedule(s, func(a random.Action) bool { return a.Container == "" && !a.First() })
	}
	return nil
}

// containerStarted schedules the actions of a start of a container.
func (w *world) containerStarted(_, pod, container string, n int) {
	w.mu.Lock()
	i, ok := w.index[pod]
	w.mu.Unlock()
	if ok {
		w.schedule(w.scenarios[i], func(a random.Action) bool { return a.Container == container && a.Start == n })
	}
}

// schedule has actions of a scenario done when they are due, from now on.
func (w *world) schedule(s random.Scenario, selected func(random.Action) bool) {
	for _, a := range s.Actions {
		if selected(a) {
			time.AfterFunc(a.After, func() {
				if err := w.do(s, a); err != nil && !apierrors.IsNotFound(err) {
					w.fail(fmt.Errorf("%+v of pod %s: %w", a, s.Pod.Name, err))
				}
			})
		}
	}
}

func (w *world) do(s random.Scenario, a random.Action) error {
	ctx := context.Background()
	if a.ConfigMap != "" {
		return w.configure(ctx, a)
	}
	return w.client.CoreV1().Pods("default").Delete(ctx, s.Pod.Name, metav1.DeleteOptions{GracePeriodSeconds: a.Grace})
}

// configure sets or deletes a ConfigMap.
func (w *world) configure(ctx context.Context, a random.Action) error {
	maps := w.client.CoreV1().ConfigMaps("default")
	if a.Delete {
		return maps.Delete(ctx, a.ConfigMap, metav1.DeleteOptions{})
	}
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: a.ConfigMap}, Data: map[string]string{"key": a.Value}}
	_, err := maps.Update(ctx, object, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = maps.Create(ctx, object, metav1.CreateOptions{})
	}
	return err
}

// clientFor returns a client for an agent, without a limit of requests.
func clientFor(config *clientrest.Config) (*kubernetes.Clientset, error) {
	config.QPS = -1
	return kubernetes.NewForConfig(config)
}
