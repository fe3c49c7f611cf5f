// Package nodetest has a cluster with nodes for the tests of what lives on a node.
package nodetest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads/internal/cri"
	"github.com/fakecluster/fakecluster/workloads/internal/node"
)

// World is a cluster with nodes, and without controllers and a scheduler.
type World struct {
	*testing.T
	Cluster  *fakecluster.Cluster
	Admin    kubernetes.Interface
	Agent    *node.Agent
	Programs *cri.Programs
	Stop     func()
}

// New starts a cluster in the bubble of the test, with one node n1 unless the configuration says otherwise.
func New(t *testing.T, config node.Config, behaviors ...cri.Behavior) *World {
	t.Helper()
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithAPIServerFlags("--authorization-mode=Node,RBAC"))
	w := &World{T: t, Cluster: c}
	var err error
	if w.Admin, err = kubernetes.NewForConfig(c.RESTConfig()); err != nil {
		t.Fatal(err)
	}
	w.Start(config, behaviors...)
	t.Cleanup(func() { w.Stop() })
	return w
}

// Start starts an agent, and Stop ends it.
func (w *World) Start(config node.Config, behaviors ...cri.Behavior) {
	w.Helper()
	if config.Nodes == nil {
		config.Nodes = node.Nodes(1)
	}
	config.Client = func(user string, groups ...string) (kubernetes.Interface, error) {
		return kubernetes.NewForConfig(w.Cluster.ConfigFor(user, groups...))
	}
	config.Report = func(err error) { w.Error(err) }
	config.Informers = informers.NewSharedInformerFactory(w.Admin, 0)
	var err error
	config.Programs, err = cri.New(cri.Config{
		Behaviors: behaviors, Seed: config.Seed, Services: config.Informers.Core().V1().Services().Lister(), Report: config.Report,
	})
	if err != nil {
		w.Fatal(err)
	}
	w.Programs = config.Programs
	attachment, err := w.Cluster.Attach("nodes", func() {})
	if err != nil {
		w.Fatal(err)
	}
	config.Revision, config.Faulty = attachment.Revision, attachment.Faulty
	ctx, cancel := context.WithCancel(context.Background())
	agent, err := node.Start(ctx, config)
	if err != nil {
		cancel()
		w.Fatal(err)
	}
	attachment.BeforeReads(coordinationv1.Resource("leases"), func(r fakecluster.Read) { agent.BeforeRead(r.Watch) })
	config.Informers.Start(ctx.Done())
	w.Agent = agent
	w.Stop = func() {
		attachment.Detach()
		cancel()
		agent.Wait()
		config.Informers.Shutdown()
	}
}

// Create creates a pod on n1, with the one container c of the image web unless it says otherwise.
func (w *World) Create(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	w.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: corev1.PodSpec{
			NodeName: "n1", AutomountServiceAccountToken: new(bool),
			Containers: []corev1.Container{{Name: "c", Image: "web:1"}},
		},
	}
	for _, f := range change {
		f(pod)
	}
	created, err := w.Admin.CoreV1().Pods("default").Create(w.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return created
}

// Delete deletes a pod.
func (w *World) Delete(name string) {
	w.Helper()
	if err := w.Admin.CoreV1().Pods("default").Delete(w.Context(), name, metav1.DeleteOptions{}); err != nil {
		w.Fatal(err)
	}
}

// Pod returns a pod.
func (w *World) Pod(name string) *corev1.Pod {
	w.Helper()
	pod, err := w.Admin.CoreV1().Pods("default").Get(w.Context(), name, metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return pod
}

// Watch records the statuses of all pods from now on. The function that it returns gives the lines of one pod, each as
// "2s Running Ready=True c=running", with the restarts of a container behind it as "c=running/1".
func (w *World) Watch() func(name string) []string {
	w.Helper()
	watcher, err := w.Admin.CoreV1().Pods("").Watch(w.Context(), metav1.ListOptions{})
	if err != nil {
		w.Fatal(err)
	}
	began, lines := time.Now(), map[string][]string{}
	var done sync.WaitGroup
	var mu sync.Mutex
	done.Go(func() {
		for e := range watcher.ResultChan() {
			pod, ok := e.Object.(*corev1.Pod)
			if !ok {
				continue
			}
			line := Describe(pod)
			if e.Type == watch.Deleted {
				line = "deleted"
			}
			mu.Lock()
			if have := lines[pod.Name]; len(have) == 0 || !strings.HasSuffix(have[len(have)-1], " "+line) {
				lines[pod.Name] = append(have, fmt.Sprintf("%s %s", time.Since(began).Truncate(time.Second), line))
			}
			mu.Unlock()
		}
	})
	w.Cleanup(func() { watcher.Stop(); done.Wait() })
	return func(name string) []string {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		return lines[name]
	}
}

// Describe returns what the tests compare of a status.
func Describe(pod *corev1.Pod) string {
	s := &pod.Status
	parts := []string{string(s.Phase)}
	if s.Reason != "" {
		parts[0] += "(" + s.Reason + ")"
	}
	for _, c := range s.Conditions {
		if c.Type == corev1.PodReady {
			part := "Ready=" + string(c.Status)
			if c.Reason != "" && c.Reason != "ContainersNotReady" {
				part += "(" + c.Reason + ")"
			}
			parts = append(parts, part)
		}
	}
	for _, c := range append(append([]corev1.ContainerStatus(nil), s.InitContainerStatuses...), s.ContainerStatuses...) {
		part := c.Name + "="
		switch {
		case c.State.Running != nil:
			part += "running"
		case c.State.Terminated != nil:
			part += fmt.Sprintf("%s(%d)", c.State.Terminated.Reason, c.State.Terminated.ExitCode)
		case c.State.Waiting != nil:
			part += c.State.Waiting.Reason
		}
		if c.RestartCount > 0 {
			part += fmt.Sprintf("/%d", c.RestartCount)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " ")
}

// Events returns the events about an object, each as "Warning Reason: message", with "(x3)" behind it if it was
// counted.
func (w *World) Events(name string) []string {
	w.Helper()
	list, err := w.Admin.CoreV1().Events("").List(w.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + name})
	if err != nil {
		w.Fatal(err)
	}
	var lines []string
	for _, e := range list.Items {
		line := fmt.Sprintf("%s %s: %s", e.Type, e.Reason, e.Message)
		if e.Count > 1 {
			line += fmt.Sprintf(" (x%d)", e.Count)
		}
		lines = append(lines, line)
	}
	return lines
}
