package workloads_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fakecluster/fakecluster/workloads"
)

// TestFindingsExplainWhatIsNotAvailable proves that the log of a failed test has one sentence for each reason why something does
// not become available.
func TestFindingsExplainWhatIsNotAvailable(t *testing.T) {
	broken := workloads.Behaviors(
		workloads.Behavior{Owner: "Deployment/crashes", ExitCode: new(int32(1))},
		workloads.Behavior{Owner: "StatefulSet/unpulled", PullError: "not found"},
		workloads.Behavior{Owner: "DaemonSet/unready", NeverReady: true},
		workloads.Behavior{Owner: "Job/fails", ExitCode: new(int32(3)), Message: "no disk"},
		workloads.Behavior{Name: "greedy", OOMKilled: true, RunTime: time.Second},
	)
	inBubble(t, func(w world) {
		w.create(workload("apps/v1", "Deployment", "well", "replicas: 1") +
			"---\n" + workload("apps/v1", "Deployment", "crashes", "replicas: 3") +
			"---\n" + workload("apps/v1", "StatefulSet", "unpulled", "serviceName: x") +
			"---\n" + workload("apps/v1", "DaemonSet", "unready", "") +
			"---\n" + job("fails", "  backoffLimit: 1") +
			"---\n" + pod("greedy", "") +
			"---\n" + pod("big", "nodeSelector: {disk: large}") + `---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: broken}
provisioner: fakecluster.io/volume
parameters: {fail: no space is left}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {storageClassName: broken, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`)
		w.pass(80 * time.Second) // between two pulls
		var got []string
		for _, s := range w.cluster.Findings().Sections {
			if s.Title == "not available:" {
				for _, line := range s.Lines {
					got = append(got, withoutSuffixes(line))
				}
			}
		}
		want := []string{
			"DaemonSet default/unready is not available: pod unready-x on n1 is not ready: ContainersNotReady: containers with unready status: [c] (and 1 more pod)",
			"Deployment default/crashes is not available: pod crashes-x on n1 is in CrashLoopBackOff: exit code 1 (and 2 more pods)",
			"Job default/fails has failed: BackoffLimitExceeded: Job has reached the specified backoff limit: pod fails-x on n1 has failed: exit code 3: no disk (and 1 more pod)",
			"PersistentVolumeClaim default/data is Pending: ProvisioningFailed: failed to provision volume with StorageClass \"broken\": no space is left",
			"Pod default/big is not scheduled: Unschedulable: 0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector. preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.",
			"Pod default/greedy on n1 is in CrashLoopBackOff: OOMKilled",
			"StatefulSet default/unpulled is not available: pod unpulled-x on n1 is waiting: ImagePullBackOff: Back-off pulling image \"nginx\": ErrImagePull: not found",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			w.Errorf("findings (-want +got):\n%s", diff)
		}
	}, broken, workloads.Nodes(2))
}

// withoutSuffixes replaces the generated part of the name of a pod by x, and its node by n1.
func withoutSuffixes(line string) string {
	words := strings.Split(line, " ")
	for i := 1; i < len(words); i++ {
		if words[i-1] == "pod" && strings.Contains(words[i], "-") {
			name, _, _ := strings.Cut(words[i], "-")
			words[i] = name + "-x"
		}
	}
	return strings.ReplaceAll(strings.Join(words, " "), " on n2 ", " on n1 ")
}
