//go:build unix

package benchmarks

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads"
)

// BenchmarkWorkloads measures living clusters in bubbles: how long it takes until all controllers and the scheduler have
// synced, then until all Pods of Deployments are available, and how long idle virtual time takes. Each figure is given in
// real time (ms) and in processor time (cpu-ms).
func BenchmarkWorkloads(b *testing.B) {
	for _, c := range []struct {
		name                         string
		nodes, deployments, replicas int
	}{
		{"1x3-on-3", 3, 1, 3},
		{"100x10-on-20", 20, 100, 10},
		{"1000x10-on-100", 100, 1000, 10},
	} {
		b.Run("rollout/"+c.name, func(b *testing.B) {
			var start, rollout stopwatch
			var heap uint64
			for b.Loop() {
				inBubble(b, func(t *testing.T) {
					var l living
					start.measure(func() { l = startLiving(t, c.nodes) })
					rollout.measure(func() { l.rollOut(c.deployments, int32(c.replicas)) })
					heap = heapInUse()
				})
			}
			start.report(b, "start")
			rollout.report(b, "rollout")
			b.ReportMetric(float64(heap>>20), "MiB")
		})
	}
	for _, c := range []struct {
		name string
		time time.Duration
		cron bool
	}{
		{"hour", time.Hour, false},
		{"day", 24 * time.Hour, false},
		{"day-with-hourly-cronjob", 24 * time.Hour, true},
	} {
		b.Run("idle/"+c.name, func(b *testing.B) {
			var idle stopwatch
			requests := 0
			for b.Loop() {
				inBubble(b, func(t *testing.T) {
					l := startLiving(t, 3)
					l.rollOut(2, 10)
					if c.cron {
						_, err := l.client.BatchV1().CronJobs("default").Create(t.Context(), hourly(), metav1.CreateOptions{})
						check(t, err)
					}
					time.Sleep(time.Minute)
					before := l.cluster.Requests()
					idle.measure(func() { time.Sleep(c.time) })
					sent := l.cluster.Requests()
					requests = int(sent[len(sent)-1].Number - before[len(before)-1].Number)
				})
			}
			idle.report(b, "idle")
			b.ReportMetric(float64(requests), "requests")
		})
	}
}

// living is a living cluster.
type living struct {
	*testing.T
	cluster *fakecluster.Cluster
	client  kubernetes.Interface
}

// startLiving returns when all controllers and the scheduler have synced.
func startLiving(t *testing.T, nodes int) living {
	c := fakecluster.Start(t, fakecluster.InProcess())
	workloads.Run(t, c, workloads.Nodes(nodes))
	return living{t, c, kubernetes.NewForConfigOrDie(c.RESTConfig())}
}

// rollOut creates Deployments, and returns when all of their Pods are available.
func (l living) rollOut(deployments int, replicas int32) {
	client := l.client.AppsV1().Deployments("default")
	for i := range deployments {
		_, err := client.Create(l.Context(), deployment(fmt.Sprintf("web-%d", i), replicas), metav1.CreateOptions{})
		check(l, err)
	}
	ctx, cancel := context.WithTimeout(l.Context(), time.Hour)
	defer cancel()
	watched, err := client.Watch(ctx, metav1.ListOptions{})
	check(l, err)
	defer watched.Stop()
	for available := map[string]bool{}; len(available) < deployments; {
		e, ok := <-watched.ResultChan()
		if !ok {
			l.Fatalf("after an hour, %d of %d Deployments are available", len(available), deployments)
		}
		if d, ok := e.Object.(*appsv1.Deployment); ok && d.Status.AvailableReplicas == replicas {
			available[d.Name] = true
		}
	}
}

func deployment(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "registry.example/web:1"}}},
			},
		},
	}
}

func hourly() *batchv1.CronJob {
	pod := corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "task", Image: "registry.example/task:1"}}}
	return &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Name: "hourly"},
		Spec: batchv1.CronJobSpec{Schedule: "0 * * * *", JobTemplate: batchv1.JobTemplateSpec{
			Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: pod}},
		}},
	}
}

// inBubble runs a part of a benchmark in a bubble: package synctest has no bubbles for benchmarks.
func inBubble(b *testing.B, part func(t *testing.T)) {
	b.Helper()
	asTest(b, func(t *testing.T) { synctest.Test(t, part) })
}

// asTest runs a part of a benchmark as a test.
func asTest(b *testing.B, part func(t *testing.T)) {
	b.Helper()
	skip := flag.Lookup("test.skip").Value.String()
	matches := func(pattern, _ string) (bool, error) { return pattern != skip, nil }
	if !testing.RunTests(matches, []testing.InternalTest{{Name: b.Name(), F: part}}) {
		b.FailNow()
	}
}

// stopwatch adds up the time of parts that run in a bubble, whose own clock is virtual.
type stopwatch struct {
	real, processor time.Duration
	parts           int
}

func (s *stopwatch) measure(part func()) {
	start, used := realTime(), processorTime()
	part()
	s.real, s.processor, s.parts = s.real+realTime()-start, s.processor+processorTime()-used, s.parts+1
}

func (s *stopwatch) report(b *testing.B, name string) {
	b.ReportMetric(float64(s.real.Microseconds())/1000/float64(s.parts), name+"-ms")
	b.ReportMetric(float64(s.processor.Microseconds())/1000/float64(s.parts), name+"-cpu-ms")
}

func realTime() time.Duration {
	var now syscall.Timeval
	if err := syscall.Gettimeofday(&now); err != nil {
		panic(err)
	}
	return time.Duration(now.Nano())
}

// processorTime returns the processor time of the process.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestWorkloadsDoWhatIsMeasured proves that the Pods of a rollout run, and that an idle hour sends next to nothing.
func TestWorkloadsDoWhatIsMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := startLiving(t, 3)
		l.rollOut(2, 10)
		pods, err := l.client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{FieldSelector: "status.phase=Running"})
		if err != nil || len(pods.Items) != 20 {
			t.Errorf("%d Pods run, %v", len(pods.Items), err)
		}
		time.Sleep(time.Minute)
		before := len(l.cluster.Requests())
		time.Sleep(time.Hour)
		// Each Node writes its status, and then its Lease.
		if got := len(l.cluster.Requests()) - before; got > 6 {
			t.Errorf("an idle hour has %d requests, want at most 6", got)
		}
	})
}
