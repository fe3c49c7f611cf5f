package pod

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// statuses are statuses of one pod, in the order in which it may have them.
func statuses() []corev1.PodStatus {
	timeOf := func(seconds int64) metav1.Time { return metav1.NewTime(time.Unix(1_700_000_000+seconds, 0)) }
	condition := func(kind corev1.PodConditionType, status corev1.ConditionStatus, generation, seconds int64) corev1.PodCondition {
		return corev1.PodCondition{Type: kind, Status: status, ObservedGeneration: generation, LastTransitionTime: timeOf(seconds)}
	}
	pending := corev1.PodStatus{
		Phase: corev1.PodPending, QOSClass: corev1.PodQOSBurstable,
		Conditions: []corev1.PodCondition{condition(corev1.PodScheduled, corev1.ConditionTrue, 1, 0)},
	}
	starting := *pending.DeepCopy()
	start := timeOf(1)
	starting.StartTime = &start
	starting.Conditions = append(starting.Conditions, condition(corev1.PodReadyToStartContainers, corev1.ConditionTrue, 1, 1),
		condition("example.com/gate", corev1.ConditionFalse, 0, 1))
	running := *starting.DeepCopy()
	running.Phase, running.PodIP, running.PodIPs, running.HostIPs = corev1.PodRunning, "10.0.0.1", []corev1.PodIP{{IP: "10.0.0.1"}}, []corev1.HostIP{{IP: "10.1.0.1"}}
	running.Conditions = append(running.Conditions[1:], condition(corev1.PodReady, corev1.ConditionTrue, 1, 2))
	running.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "c", Ready: true, Started: new(true), Image: "i", ContainerID: "containerd://1",
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: timeOf(2)}},
		Resources: &corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: apiresource.MustParse("0.5"), corev1.ResourceMemory: apiresource.MustParse("1000Mi"),
		}},
	}, {Name: "d"}}
	failed := *running.DeepCopy()
	failed.Phase, failed.Reason, failed.Message = corev1.PodFailed, "Evicted", "a < b & \u2028"
	failed.ContainerStatuses[0].Ready, failed.ContainerStatuses[0].State = false, corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, StartedAt: timeOf(2), FinishedAt: timeOf(3)},
	}
	failed.ContainerStatuses = failed.ContainerStatuses[:1]
	return []corev1.PodStatus{{}, pending, starting, running, failed}
}

// TestStatusPatchIsThatOfAKubelet compares patches with those that a kubelet makes of the JSON of whole pods.
func TestStatusPatchIsThatOfAKubelet(t *testing.T) {
	for _, old := range statuses() {
		for _, status := range statuses() {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "u"}, Status: old}
			got, err := statusPatch(pod, status)
			if err != nil {
				t.Fatal(err)
			}
			want := kubeletPatch(t, old, status)
			if want == `{"metadata":{"uid":"u"}}` {
				want = ""
			}
			if diff := cmp.Diff(want, string(got)); diff != "" {
				t.Errorf("from %s to %s (-want +got):\n%s", old.Phase, status.Phase, diff)
			}
		}
	}
}

// kubeletPatch is a patch as preparePatchBytesForPodStatus of the kubelet makes it.
func kubeletPatch(t *testing.T, old, status corev1.PodStatus) string {
	before, err := json.Marshal(corev1.Pod{Status: old})
	if err != nil {
		t.Fatal(err)
	}
	after, err := json.Marshal(corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u"}, Status: status})
	if err != nil {
		t.Fatal(err)
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(before, after, corev1.Pod{})
	if err != nil {
		t.Fatal(err)
	}
	return string(patch)
}

// TestStatusesInProtobufAreEqual: statuses with one encoding are equal, and of equal ones those that are read from
// the server have one.
func TestStatusesInProtobufAreEqual(t *testing.T) {
	for i, a := range statuses() {
		for j, b := range statuses() {
			text, err := b.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			var read corev1.PodStatus
			if err := read.Unmarshal(text); err != nil {
				t.Fatal(err)
			}
			if got := sameInProtobuf(&a, &read); got != (i == j) || got != apiequality.Semantic.DeepEqual(a, read) {
				t.Errorf("%s and %s: %v", a.Phase, b.Phase, got)
			}
		}
	}
}
