package workloads_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/explore"
	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/faults"
	"github.com/fakecluster/fakecluster/workloads"
)

// containers are the first containers of the Pods of a cluster that run, as their name, the time of their start and how often they have
// been restarted.
func (w world) containers() map[string]string {
	phases := map[string]string{}
	for _, p := range w.list("pods") {
		if started := field(&p, "status.containerStatuses"); strings.Contains(started, "running:") {
			phases[p.GetName()] = started[strings.Index(started, "restartCount:"):]
		}
	}
	return phases
}

// alive returns a world for another cluster, in which the same lives.
func alive(t *testing.T, c *fakecluster.Cluster, opts ...workloads.Option) world {
	t.Helper()
	return world{t, workloads.Run(t, c, opts...), c, kubernetes.NewForConfigOrDie(c.RESTConfig())}
}

// TestAForkLivesOnInTheMiddle proves that a fork goes on with a rollout and a Job, and that the containers that run are not restarted.
func TestAForkLivesOnInTheMiddle(t *testing.T) {
	living := []workloads.Option{workloads.Nodes(2), workloads.Behaviors(
		workloads.Behavior{Image: "nginx:2", ReadyDelay: 20 * time.Second},
		workloads.Behavior{Owner: "Job/long", RunTime: 30 * time.Second},
		workloads.Behavior{Image: "nginx"},
	)}
	inBubble(t, func(w world) {
		w.create(workload("apps/v1", "Deployment", "web", "replicas: 4") + "---\n" + job("long", ""))
		w.pass(10 * time.Second)
		w.patch("deployments.apps", "web", `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"nginx:2"}]}}}}`)
		w.pass(15 * time.Second)

		before := w.containers()
		fork := w.cluster.Fork(w.T)
		f := alive(w.T, fork, living...)
		f.pass(2 * time.Second)
		after := f.containers()
		for name, state := range before {
			if after[name] != "" && after[name] != state {
				w.Errorf("the container of %s has changed from %s to %s", name, state, after[name])
			}
		}
		for _, each := range []world{w, f} {
			each.pass(2 * time.Minute)
			if got := field(each.object("deployments.apps", "web"), "status.updatedReplicas") + field(each.object("deployments.apps", "web"), "status.availableReplicas"); got != "44" {
				w.Errorf("updated and available are %s", got)
			}
			if got := condition(each.object("jobs.batch", "long"), "Complete"); got != "True CompletionsReached" {
				w.Errorf("the Job is %q", got)
			}
			if got := field(each.object("jobs.batch", "long"), "status.succeeded"); got != "1" {
				w.Errorf("%s Pods of the Job have succeeded", got)
			}
		}
	}, living...)
}

// TestASnapshotLivesOn proves that a cluster from a snapshot goes on with the Pods that ran.
func TestASnapshotLivesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := alive(t, fakecluster.Start(t, fakecluster.InProcess()), workloads.Nodes(1))
		w.create(workload("apps/v1", "Deployment", "web", "replicas: 2"))
		w.pass(5 * time.Second)
		var content bytes.Buffer
		if err := w.cluster.Snapshot(&content); err != nil {
			t.Fatal(err)
		}
		again := alive(t, fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithSnapshot(&content)), workloads.Nodes(1))
		again.patch("deployments.apps", "web", `{"spec":{"replicas":3}}`)
		again.pass(5 * time.Second)
		if got := field(again.object("deployments.apps", "web"), "status.availableReplicas"); got != "3" {
			t.Errorf("%s replicas are available", got)
		}
		after := again.containers()
		for name, state := range w.containers() {
			if after[name] != state {
				t.Errorf("the container of %s has changed from %s to %s", name, state, after[name])
			}
		}
	})
}

// TestFaultsStrikeControllers proves that a fault selects a controller by its user agent and its user, and that the controller tries again.
func TestFaultsStrikeControllers(t *testing.T) {
	inBubble(t, func(w world) {
		fault := w.cluster.Inject(faults.Fault{Verb: "create", Resource: "pods", UserAgent: "kube-controller-manager/", User: "system:serviceaccount:kube-system:replicaset-controller", Times: 2, Effect: faults.Unavailable()})
		w.create(workload("apps/v1", "Deployment", "web", "replicas: 1"))
		w.pass(time.Minute)
		if n := fault.Fired(); n != 2 {
			w.Errorf("the fault has struck %d times; the agents are %v", n, w.agents())
		}
		if got := field(w.object("deployments.apps", "web"), "status.availableReplicas"); got != "1" {
			w.Errorf("%s replicas are available", got)
		}
	}, workloads.Nodes(1))
}

// agents are the user agents of all requests.
func (w world) agents() map[string]bool {
	seen := map[string]bool{}
	for _, r := range w.cluster.Requests() {
		seen[r.UserAgent] = true
	}
	return seen
}

// TestHoldKeepsEventsOfControllers proves that a test decides when controllers see a change.
func TestHoldKeepsEventsOfControllers(t *testing.T) {
	inBubble(t, func(w world) {
		hold := w.cluster.Hold()
		w.post(workload("apps/v1", "Deployment", "web", "replicas: 1"))
		w.pass(time.Minute)
		if n := len(w.list("replicasets.apps")); n != 0 {
			w.Errorf("there are %d ReplicaSets although nobody has seen the Deployment", n)
		}
		hold.DeliverKind("deployments.apps")
		w.pass(time.Second)
		if n, pods := len(w.list("replicasets.apps")), len(w.list("pods")); n != 1 || pods != 0 {
			w.Errorf("there are %d ReplicaSets and %d Pods, want 1 and 0", n, pods)
		}
		hold.Release()
		w.pass(10 * time.Second)
		if got := field(w.object("deployments.apps", "web"), "status.availableReplicas"); got != "1" {
			w.Errorf("%s replicas are available", got)
		}
	}, workloads.Nodes(1))
}

// TestTheHistoryNamesControllers proves that the history of an object says which controller has changed it.
func TestTheHistoryNamesControllers(t *testing.T) {
	inBubble(t, func(w world) {
		w.create(workload("apps/v1", "Deployment", "web", "replicas: 1"))
		w.pass(10 * time.Second)
		history, err := w.cluster.History(fakecluster.Named("v1", "Pod", "default", w.list("pods")[0].GetName()))
		if err != nil {
			w.Fatal(err)
		}
		text := history.String()
		for _, want := range []string{"replicaset-controller", "kube-scheduler", "kubelet patch status", `status.phase: "Pending" → "Running"`} {
			if !strings.Contains(text, want) {
				w.Errorf("the history lacks %q:\n%s", want, text)
			}
		}
	}, workloads.Nodes(1))
}

// TestExploreInALivingCluster proves that an operator is explored in a cluster in which its Deployment becomes available, and that the
// requests of controllers are not points at which something goes wrong.
func TestExploreInALivingCluster(t *testing.T) {
	explore.Run(t, func(t testing.TB, c *explore.Cluster) {
		workloads.Run(t, c.Cluster, workloads.Nodes(1))
		c.Control("operator", c.RESTConfig(), func(ctx context.Context, config *rest.Config) error {
			maps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default")
			for ctx.Err() == nil {
				if _, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "made"}}, metav1.CreateOptions{}); err == nil || strings.Contains(err.Error(), "already exists") {
					break
				}
				select {
				case <-ctx.Done():
				case <-time.After(time.Second):
				}
			}
			<-ctx.Done()
			return nil
		})
		client := kubernetes.NewForConfigOrDie(c.RESTConfig())
		createPod(t, c.Cluster, "a", "containers: [{name: c, image: i}]")
		c.Wait(time.Minute)
		pod, err := client.CoreV1().Pods("default").Get(t.Context(), "a", metav1.GetOptions{})
		if err != nil || pod.Status.Phase != corev1.PodRunning {
			t.Errorf("the Pod is %s; %v", pod.Status.Phase, err)
		}
	}, explore.Runs(4))
}

// TestSettleWaitsForALivingCluster proves that Settle returns when a Deployment is available and a Job is complete, although nodes
// renew their Leases, and that it does not wait for a back-off.
func TestSettleWaitsForALivingCluster(t *testing.T) {
	check := func(t *testing.T, c *fakecluster.Cluster) {
		w := alive(t, c, workloads.Nodes(2), workloads.Behaviors(workloads.Behavior{Name: "broken", ExitCode: new(int32(1))}))
		w.post(workload("apps/v1", "Deployment", "web", "replicas: 2") + "---\n" + job("once", "") + "---\n" + pod("broken", ""))
		if err := c.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := field(w.object("deployments.apps", "web"), "status.availableReplicas"); got != "2" {
			t.Errorf("%s replicas are available", got)
		}
		if got := condition(w.object("jobs.batch", "once"), "Complete"); got != "True CompletionsReached" {
			t.Errorf("the Job is %q", got)
		}
		if got := field(w.object("pods", "broken"), "status.containerStatuses"); !strings.Contains(got, "restartCount: 1") {
			t.Errorf("the container that crashes is not in its first back-off: %s", got)
		}
	}
	t.Run("in a bubble", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := fakecluster.Start(t, fakecluster.InProcess())
			check(t, c)
			began := time.Now()
			if err := c.Settle(t.Context()); err != nil || time.Since(began) > 30*time.Second {
				t.Errorf("%v after %s", err, time.Since(began))
			}
		})
	})
	t.Run("in real time", func(t *testing.T) { check(t, fakecluster.Start(t)) })
}

// TestSettleAndReadyDelay proves that Settle waits for a ReadyDelay of less than two seconds, that it returns before a longer one has
// passed, so that a test can look at Pods that are not ready, and that WaitFor waits for it.
func TestSettleAndReadyDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess())
		w := alive(t, c, workloads.Nodes(2), workloads.Behaviors(
			workloads.Behavior{Owner: "Deployment/quick", ReadyDelay: time.Second},
			workloads.Behavior{Owner: "Deployment/slow", ReadyDelay: time.Minute},
		))
		w.post(workload("apps/v1", "Deployment", "quick", "replicas: 2") + "---\n" + workload("apps/v1", "Deployment", "slow", "replicas: 2"))
		posted := time.Now()
		if err := c.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := condition(w.object("deployments.apps", "quick"), "Available"); got != "True MinimumReplicasAvailable" {
			t.Errorf("the Deployment with a short delay is %q", got)
		}
		if got := condition(w.object("deployments.apps", "slow"), "Available"); got != "False MinimumReplicasUnavailable" {
			t.Errorf("the Deployment with a long delay is %q, %s after it was created", got, time.Since(posted))
		}
		c.WaitFor(t, w.object("deployments.apps", "slow"), fakecluster.HasCondition("Available"))
		if took := time.Since(posted); took < time.Minute || took > time.Minute+10*time.Second {
			t.Errorf("WaitFor returned %s after the Deployment was created", took)
		}
	})
}

// TestHeartbeatsDoNotCount proves that a cluster settles between the heartbeats of nodes, also if they came all the time.
func TestHeartbeatsDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess())
		alive(t, c, workloads.Nodes(1))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			leases := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoordinationV1().Leases("kube-node-lease")
			for ctx.Err() == nil {
				_, _ = leases.Patch(ctx, "n1", types.MergePatchType, []byte(`{"metadata":{"annotations":{"at":"`+time.Now().String()+`"}}}`), metav1.PatchOptions{})
				select {
				case <-ctx.Done():
				case <-time.After(100 * time.Millisecond):
				}
			}
		}()
		if err := c.Settle(t.Context()); err != nil {
			t.Error(err)
		}
		cancel()
		<-done
	})
}
