package pod_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/workloads/internal/cri"
	"github.com/fakecluster/fakecluster/workloads/internal/node"
	"github.com/fakecluster/fakecluster/workloads/internal/node/nodetest"
)

// slow makes the time of each stage visible in whole seconds.
var slow = cri.Behavior{PullDelay: time.Second, StartDelay: time.Second}

func behave(f func(b *cri.Behavior)) []cri.Behavior {
	b := slow
	f(&b)
	return []cri.Behavior{b}
}

func always(name string) corev1.Container {
	return corev1.Container{Name: name, Image: name + ":1", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)}
}

func TestPodsRunAsOnAKubelet(t *testing.T) {
	for _, test := range []struct {
		name      string
		behaviors []cri.Behavior
		pod       func(*corev1.Pod)
		after     time.Duration // until the pod is deleted, if deleted is set
		deleted   bool
		until     time.Duration
	}{
		{
			name:      "a container starts, becomes ready and runs until the pod is deleted",
			behaviors: []cri.Behavior{slow},
			after:     time.Hour, deleted: true, until: time.Second,
		},
		{
			name:      "a container that exits restarts at once, and then after 10, 20 and 40 seconds",
			behaviors: behave(func(b *cri.Behavior) { b.ExitCode, b.RunTime = ptr.To(int32(3)), time.Second }),
			until:     90 * time.Second,
		},
		{
			name:      "a pod that does not restart fails with its container",
			behaviors: behave(func(b *cri.Behavior) { b.OOMKilled, b.RunTime, b.Message = true, 5*time.Second, "no memory" }),
			pod:       func(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyNever },
			until:     time.Minute,
		},
		{
			name:      "a pod that restarts on failure completes",
			behaviors: behave(func(b *cri.Behavior) { b.ExitCode, b.Failures = ptr.To(int32(1)), 1 }),
			pod:       func(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyOnFailure },
			until:     time.Minute,
		},
		{
			name:      "an image that cannot be pulled is pulled again with back-off",
			behaviors: behave(func(b *cri.Behavior) { b.PullError = "not found" }),
			until:     40 * time.Second,
		},
		{
			name:      "an image that cannot be pulled after an init container is not in back-off at once",
			behaviors: []cri.Behavior{{Container: "c", PullError: "not found", PullDelay: time.Second}, {Container: "i1", PullDelay: time.Second, StartDelay: time.Second, RunTime: 5 * time.Second}},
			pod:       func(p *corev1.Pod) { p.Spec.InitContainers = []corev1.Container{{Name: "i1", Image: "i1:1"}} },
			until:     17 * time.Second,
		},
		{
			name:      "readiness waits for the probe",
			behaviors: behave(func(b *cri.Behavior) { b.ReadyDelay = 12 * time.Second }),
			pod: func(p *corev1.Pod) {
				p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{PeriodSeconds: 5, ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"x"}}}}
			},
			until: time.Minute,
		},
		{
			name:      "a container that fails its liveness probe is restarted",
			behaviors: behave(func(b *cri.Behavior) { b.UnhealthyAfter, b.Failures = 10*time.Second, 1 }),
			pod: func(p *corev1.Pod) {
				p.Spec.Containers[0].LivenessProbe = &corev1.Probe{PeriodSeconds: 5, FailureThreshold: 2, ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"x"}}}}
			},
			until: time.Minute,
		},
		{
			name:      "a container that ignores SIGTERM is killed after the grace period",
			behaviors: behave(func(b *cri.Behavior) { b.TerminationDelay = time.Minute }),
			pod:       func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = ptr.To(int64(5)) },
			after:     10 * time.Second, deleted: true, until: time.Minute,
		},
		{
			name:      "init containers run one after the other before the others",
			behaviors: []cri.Behavior{{Container: "c", PullDelay: time.Second, StartDelay: time.Second}, slow},
			pod: func(p *corev1.Pod) {
				p.Spec.InitContainers = []corev1.Container{{Name: "i1", Image: "i1:1"}, {Name: "i2", Image: "i2:1"}}
			},
			until: time.Minute,
		},
		{
			name:      "an init container that fails fails a pod that does not restart",
			behaviors: []cri.Behavior{{Container: "i1", PullDelay: time.Second, StartDelay: time.Second, ExitCode: ptr.To(int32(2))}},
			pod: func(p *corev1.Pod) {
				p.Spec.RestartPolicy = corev1.RestartPolicyNever
				p.Spec.InitContainers = []corev1.Container{{Name: "i1", Image: "i1:1"}}
			},
			until: time.Minute,
		},
		{
			name:      "sidecars start in order before the others, and end after them in reverse order",
			behaviors: behave(func(b *cri.Behavior) { b.TerminationDelay = 2 * time.Second }),
			pod: func(p *corev1.Pod) {
				p.Spec.InitContainers = []corev1.Container{always("s1"), always("s2")}
			},
			after: 20 * time.Second, deleted: true, until: time.Minute,
		},
		{
			name:      "a preStop hook sleeps on when its container has ended, and its sidecar waits for that",
			behaviors: []cri.Behavior{{Container: "c", RunTime: 21 * time.Second}, {TerminationDelay: time.Second}},
			pod: func(p *corev1.Pod) {
				p.Spec.InitContainers = []corev1.Container{always("s1")}
				p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 5}}}
			},
			after: 20 * time.Second, deleted: true, until: time.Minute,
		},
		{
			name:      "readiness is probed until the ends of containers are shown",
			behaviors: []cri.Behavior{{Container: "s1", TerminationDelay: 10 * time.Second}, {TerminationDelay: time.Second}},
			pod: func(p *corev1.Pod) {
				p.Spec.InitContainers = []corev1.Container{always("s1")}
				p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{
					ProbeHandler:  corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"ready"}}},
					PeriodSeconds: 2, FailureThreshold: 2,
				}
			},
			after: 20 * time.Second, deleted: true, until: time.Minute,
		},
		{
			name:      "a pod past its deadline is not probed while it ends",
			behaviors: []cri.Behavior{{Container: "s1", TerminationDelay: 10 * time.Second}, {TerminationDelay: time.Second}},
			pod: func(p *corev1.Pod) {
				p.Spec.ActiveDeadlineSeconds = ptr.To(int64(20))
				p.Spec.InitContainers = []corev1.Container{always("s1")}
				p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{
					ProbeHandler:  corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"ready"}}},
					PeriodSeconds: 2, FailureThreshold: 2,
				}
			},
			until: time.Minute,
		},
		{
			name:      "a sidecar that has succeeded is not shown as waiting",
			behaviors: []cri.Behavior{{Container: "s1", RunTime: 2 * time.Second}, {}},
			pod:       func(p *corev1.Pod) { p.Spec.InitContainers = []corev1.Container{always("s1")} },
			until:     20 * time.Second,
		},
		{
			name:      "a pod completes although its sidecar runs forever",
			behaviors: []cri.Behavior{{Container: "c", RunTime: 10 * time.Second, PullDelay: time.Second, StartDelay: time.Second}, slow},
			pod: func(p *corev1.Pod) {
				p.Spec.RestartPolicy = corev1.RestartPolicyNever
				p.Spec.InitContainers = []corev1.Container{always("s1")}
			},
			until: time.Minute,
		},
		{
			name:      "a pod fails after its deadline",
			behaviors: []cri.Behavior{slow},
			pod:       func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = ptr.To(int64(30)) },
			until:     time.Minute,
		},
		{
			name:      "a pod fails at its deadline while a back-off is in force",
			behaviors: behave(func(b *cri.Behavior) { b.ExitCode, b.RunTime = ptr.To(int32(3)), time.Second }),
			pod:       func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = ptr.To(int64(25)) },
			until:     time.Minute,
		},
		{
			name:      "a pod that passes its deadline while it ends fails because of it",
			behaviors: behave(func(b *cri.Behavior) { b.TerminationDelay = 10 * time.Second }),
			pod:       func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = ptr.To(int64(30)) },
			after:     25 * time.Second, deleted: true, until: 30 * time.Second,
		},
		{
			name:      "a container that cannot be started has ended, and starts again with back-off",
			behaviors: behave(func(b *cri.Behavior) { b.StartError = "no such file or directory" }),
			until:     20 * time.Second,
		},
		{
			name:      "a container that cannot be started fails a pod that does not restart",
			behaviors: behave(func(b *cri.Behavior) { b.StartError = "no such file or directory" }),
			pod:       func(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyNever },
			until:     20 * time.Second,
		},
		{
			name:      "containers of a deleted pod that have not started are lost",
			behaviors: behave(func(b *cri.Behavior) { b.PullError = "not found" }),
			after:     5 * time.Second, deleted: true, until: time.Second,
		},
		{
			name:      "a deleted pod has lost its first init container, but not what follows",
			behaviors: behave(func(b *cri.Behavior) { b.PullError = "not found" }),
			pod: func(p *corev1.Pod) {
				p.Spec.InitContainers = []corev1.Container{{Name: "i1", Image: "i1:1"}, {Name: "i2", Image: "i2:1"}}
			},
			after: 5 * time.Second, deleted: true, until: time.Second,
		},
		{
			name:      "a deletion waits for a postStart hook",
			behaviors: []cri.Behavior{slow},
			pod: func(p *corev1.Pod) {
				p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 10}}}
			},
			after: 5 * time.Second, deleted: true, until: 20 * time.Second,
		},
		{
			name:  "commands give exit codes and run times",
			until: time.Minute,
			pod: func(p *corev1.Pod) {
				p.Spec.RestartPolicy = corev1.RestartPolicyNever
				p.Spec.Containers = []corev1.Container{
					{Name: "a", Image: "busybox:1", Command: []string{"sh", "-c", "sleep 5; exit 7"}},
					{Name: "b", Image: "busybox:1", Command: []string{"sleep", "10"}},
					{Name: "c", Image: "busybox:1", Args: []string{"false"}},
				}
			},
		},
		{
			name:  "a node takes no pod that does not fit",
			until: time.Second,
			pod: func(p *corev1.Pod) {
				p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("9")}
			},
		},
		{
			name:  "a node takes no pod whose node selector it does not match",
			until: time.Second,
			pod:   func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} },
		},
		{
			name:      "an image that is there is not pulled",
			behaviors: []cri.Behavior{slow},
			until:     time.Minute,
			pod: func(p *corev1.Pod) {
				p.Spec.Containers = []corev1.Container{{Name: "a", Image: "web:1"}, {Name: "b", Image: "web:1"}}
			},
		},
		{
			name:      "a container is not created without the ConfigMap of its environment",
			behaviors: []cri.Behavior{slow},
			until:     15 * time.Second,
			pod: func(p *corev1.Pod) {
				p.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}}
			},
		},
		{
			name:      "a pod waits for the Secret of its volume",
			behaviors: []cri.Behavior{slow},
			until:     5 * time.Second,
			pod:       nodetest.Volume(corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "keys"}}),
		},
		{
			name:      "readiness gates are left to their owners",
			behaviors: []cri.Behavior{slow},
			until:     10 * time.Second,
			pod: func(p *corev1.Pod) {
				p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "acme.com/gate"}}
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := nodetest.New(t, node.Config{}, test.behaviors...)
				synctest.Wait()
				lines := w.Watch()
				var change []func(*corev1.Pod)
				if test.pod != nil {
					change = append(change, test.pod)
				}
				uid := string(w.Create("p", change...).UID)
				if test.deleted {
					time.Sleep(test.after)
					w.Delete("p")
				}
				time.Sleep(test.until)
				got := append(lines("p"), w.Events("p")...)
				nodetest.Golden(t, strings.ReplaceAll(strings.Join(got, "\n"), uid, "UID")+"\n")
			})
		})
	}
}

// A kubelet gives them a second, and waits at least two before it sends SIGKILL.
func TestContainersOfAPodThatIsDeletedByForceHaveTwoSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := nodetest.New(t, node.Config{}, behave(func(b *cri.Behavior) { b.TerminationDelay = 10 * time.Second })...)
		w.Create("p")
		time.Sleep(10 * time.Second)
		if err := w.Admin.CoreV1().Pods("default").Delete(t.Context(), "p", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
			t.Fatal(err)
		}
		for _, want := range []struct {
			after time.Duration
			there bool
		}{{1500 * time.Millisecond, true}, {time.Second, false}} {
			time.Sleep(want.after)
			synctest.Wait()
			if there := w.Agent.Kubelets()[0].Pod("default", "p") != nil; there != want.there {
				t.Errorf("%v later the node has the pod: %t, want %t", want.after, there, want.there)
			}
		}
	})
}

// A kubelet writes the conditions of a pod that has to end once; until its containers have ended, probes change only the readiness.
func TestAPodThatIsDeletedBeforeItsSidecarHasStartedStaysUninitialized(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := nodetest.New(t, node.Config{}, behave(func(b *cri.Behavior) { b.ReadyDelay, b.TerminationDelay = 10*time.Second, 20*time.Second })...)
		w.Create("p", func(p *corev1.Pod) {
			sidecar := always("s")
			sidecar.StartupProbe = probe(4, 10, 1, 0)
			p.Spec.InitContainers = []corev1.Container{sidecar}
		})
		time.Sleep(5 * time.Second)
		w.Delete("p")
		time.Sleep(13 * time.Second)
		pod := w.Pod("p")
		if got := nodetest.Describe(pod); got != "Pending Ready=False s=running c=PodInitializing" || !*pod.Status.InitContainerStatuses[0].Started {
			t.Errorf("the pod is %q and its sidecar %+v", got, pod.Status.InitContainerStatuses[0])
		}
		_, c := podutil.GetPodCondition(&pod.Status, corev1.PodInitialized)
		if want := "containers with incomplete status: [s]"; c == nil || c.Status != corev1.ConditionFalse || c.Message != want {
			t.Errorf("got the condition %+v, want False with the message %q", c, want)
		}
	})
}

// While a kubelet starts a container, it writes what probes find, and only later that another container has ended meanwhile.
func TestProbesDoNotShowThatAnotherContainerHasEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := nodetest.New(t, node.Config{}, []cri.Behavior{
			{Container: "a", RunTime: 20 * time.Second},
			{Container: "b", RunTime: 15 * time.Second},
			{Container: "c", ReadyDelay: 22 * time.Second},
		}...)
		w.Create("p", func(p *corev1.Pod) {
			hook := &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 10}}}
			p.Spec.Containers = []corev1.Container{{Name: "a", Image: "a:1"}, {Name: "c", Image: "c:1", ReadinessProbe: probe(1, 1, 1, 0)}, {Name: "b", Image: "b:1", Lifecycle: hook}}
		})
		time.Sleep(24 * time.Second) // the second start of b has begun, and its hook sleeps
		pod := w.Pod("p")
		if got := nodetest.Describe(pod); got != "Running Ready=False a=running b=Completed(0) c=running" || !pod.Status.ContainerStatuses[2].Ready {
			t.Errorf("the pod is %q, c %+v", got, pod.Status.ContainerStatuses[2])
		}
		if a := pod.Status.ContainerStatuses[0]; !*a.Started || !a.Ready {
			t.Errorf("a has ended, which is not to be seen yet: started %t, ready %t", *a.Started, a.Ready)
		}
	})
}

// TestAnAgentTakesOverAPodWhoseStatusWasWrittenByHand proves that such a status needs no more than what a test usually writes.
func TestAnAgentTakesOverAPodWhoseStatusWasWrittenByHand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := nodetest.New(t, node.Config{})
		w.Stop()
		pod := w.Create("web")
		pod.Status.Phase = corev1.PodRunning
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "c", Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
		}}
		if _, err := w.Admin.CoreV1().Pods("default").UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		w.Start(node.Config{})
		time.Sleep(5 * time.Second)
		if got, want := nodetest.Describe(w.Pod("web")), "Running Ready=True c=running"; got != want {
			t.Errorf("the pod is %q, want %q", got, want)
		}
	})
}
