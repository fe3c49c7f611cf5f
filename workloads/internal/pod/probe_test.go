package pod_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	"github.com/fakecluster/fakecluster/workloads/internal/cri"
	"github.com/fakecluster/fakecluster/workloads/internal/node"
	"github.com/fakecluster/fakecluster/workloads/internal/node/nodetest"
)

func probe(period, failures, successes, delay int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"x"}}},
		PeriodSeconds: period, FailureThreshold: failures, SuccessThreshold: successes, InitialDelaySeconds: delay,
	}
}

// Containers start two seconds after their pod, as slow says, or after their end.
func TestProbesRunAsInAKubelet(t *testing.T) {
	for _, test := range []struct {
		name      string
		behavior  func(*cri.Behavior)
		container func(*corev1.Container)
		deleted   time.Duration // zero: never
		want      []string      // what is shown of the pod, and when
		probes    []string      // the Events of probes
	}{
		{
			name:      "a period counts from the last sync of a pod that is not ready",
			behavior:  func(b *cri.Behavior) { b.ReadyDelay = 12500 * time.Millisecond },
			container: func(c *corev1.Container) { c.ReadinessProbe = probe(5, 3, 1, 0) },
			want:      []string{"0s Pending", "0s Pending Ready=False c=ContainerCreating", "2s Running Ready=False c=running", "17s Running Ready=True c=running"},
			probes:    []string{"Warning Unhealthy: Readiness probe failed: the behavior of the container is not ready (x4)"}, // at 2 s twice, for the first result; at 7 and 12 s
		},
		{
			name:      "a container that is ready is not ready before as many successes as the threshold says, of which two come at once",
			container: func(c *corev1.Container) { c.ReadinessProbe = probe(5, 1, 4, 0) },
			want:      []string{"0s Pending", "0s Pending Ready=False c=ContainerCreating", "2s Running Ready=False c=running", "12s Running Ready=True c=running"},
		},
		{
			name:      "the period of a startup probe begins with the pod",
			behavior:  func(b *cri.Behavior) { b.ReadyDelay = 5 * time.Second },
			container: func(c *corev1.Container) { c.StartupProbe = probe(4, 10, 1, 0) },
			want:      []string{"0s Pending", "0s Pending Ready=False c=ContainerCreating", "2s Running Ready=False c=running", "8s Running Ready=True c=running"},
			probes:    []string{"Warning Unhealthy: Startup probe failed: the behavior of the container is not started"}, // at 4 s
		},
		{
			name:      "and its initial delay with the container",
			behavior:  func(b *cri.Behavior) { b.ReadyDelay = 5 * time.Second },
			container: func(c *corev1.Container) { c.StartupProbe = probe(4, 10, 1, 3) },
			want:      []string{"0s Pending", "0s Pending Ready=False c=ContainerCreating", "2s Running Ready=False c=running", "8s Running Ready=True c=running"},
		},
		{
			name:     "a container that fails its startup probe starts again, and its period goes on",
			behavior: func(b *cri.Behavior) { b.ReadyDelay = time.Hour },
			container: func(c *corev1.Container) {
				c.StartupProbe = probe(4, 2, 1, 0)
			},
			// Probes at 4 and 8 s end it, at 12 and 16 s the next one, which waits then.
			want: []string{
				"0s Pending", "0s Pending Ready=False c=ContainerCreating", "2s Running Ready=False c=running", "9s Running Ready=False c=running/1",
				"17s Running Ready=False c=running/2", "24s Running Ready=False c=CrashLoopBackOff/2", "35s Running Ready=False c=running/3",
			},
			probes: []string{"Warning Unhealthy: Startup probe failed: the behavior of the container is not started (x8)"},
		},
		{
			name: "a container that restarts counts as started until the next period of its startup probe",
			behavior: func(b *cri.Behavior) {
				b.TerminationDelay, b.UnhealthyAfter = 500*time.Millisecond, 16500*time.Millisecond
			},
			container: func(c *corev1.Container) {
				c.StartupProbe, c.LivenessProbe = probe(5, 3, 1, 0), probe(2, 1, 1, 0)
			},
			want: []string{
				"0s Pending", "0s Pending Ready=False c=ContainerCreating", "2s Running Ready=False c=running", "5s Running Ready=True c=running",
				"21s Running Ready=True c=running/1", "25s Running Ready=False c=running/1", "30s Running Ready=True c=running/1",
				"39s Running Ready=True c=running/2", "40s Running Ready=False c=running/2",
			},
			probes: []string{"Warning Unhealthy: Liveness probe failed: the behavior of the container is unhealthy (x2)"},
		},
		{
			name:     "liveness is not probed while the pod ends, and readiness is",
			behavior: func(b *cri.Behavior) { b.TerminationDelay, b.UnhealthyAfter = 20*time.Second, 9500*time.Millisecond },
			container: func(c *corev1.Container) {
				c.LivenessProbe, c.ReadinessProbe = probe(2, 3, 1, 0), probe(2, 1, 1, 0)
			},
			deleted: 13 * time.Second,
			want: []string{
				"0s Pending", "0s Pending Ready=False c=ContainerCreating", "2s Running Ready=False c=running", "2s Running Ready=True c=running",
				"33s Succeeded Ready=False(PodCompleted) c=Completed(0)", "33s deleted",
			},
			probes: []string{"Warning Unhealthy: Liveness probe failed: the behavior of the container is unhealthy"}, // at 12 s
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				behavior := slow
				behavior.TerminationExitCode = new(int32(137))
				if test.deleted != 0 {
					behavior.TerminationExitCode = new(int32(0))
				}
				if test.behavior != nil {
					test.behavior(&behavior)
				}
				w := nodetest.New(t, node.Config{}, behavior)
				synctest.Wait()
				lines := w.Watch()
				w.Create("p", func(p *corev1.Pod) { test.container(&p.Spec.Containers[0]) })
				if test.deleted != 0 {
					time.Sleep(test.deleted)
					w.Delete("p")
				}
				time.Sleep(40*time.Second - test.deleted)
				if diff := cmp.Diff(test.want, lines("p")); diff != "" {
					t.Errorf("the pod (-want +got):\n%s", diff)
				}
				events := slices.DeleteFunc(w.Events("p"), func(e string) bool { return !strings.Contains(e, "Unhealthy") })
				if diff := cmp.Diff(test.probes, events, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("Events (-want +got):\n%s", diff)
				}
			})
		})
	}
}
