package controller

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWhichPodsKeepAClaim(t *testing.T) {
	const name = "data"
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
	now, none := metav1.Now(), int64(0)
	running := []corev1.ContainerStatus{{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	for _, c := range []struct {
		rule          string
		pod           func(*corev1.Pod)
		holds, refers bool
	}{
		{"one that no node has refers to it", func(*corev1.Pod) {}, false, true},
		{"one on a node holds it", func(p *corev1.Pod) { p.Spec.NodeName = "n" }, true, true},
		{"one with another claim does neither", func(p *corev1.Pod) {
			p.Spec.NodeName = "n"
			p.Spec.Volumes[0].PersistentVolumeClaim.ClaimName = "other"
		}, false, false},
		{"one that has ended holds it until it is deleted", func(p *corev1.Pod) {
			p.Spec.NodeName, p.Status.Phase = "n", corev1.PodSucceeded
		}, true, false},
		{"one that is being deleted refers to it while a container runs", func(p *corev1.Pod) {
			p.Spec.NodeName, p.DeletionTimestamp, p.Status.ContainerStatuses = "n", &now, running
		}, true, true},
		{"one that is being deleted and has no containers any more does not", func(p *corev1.Pod) {
			p.Spec.NodeName, p.DeletionTimestamp = "n", &now
		}, true, false},
		{"one that only finalizers keep holds the claim of somebody else", func(p *corev1.Pod) {
			p.Spec.NodeName, p.DeletionTimestamp, p.DeletionGracePeriodSeconds = "n", &now, &none
		}, true, false},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
		}}}}}
		c.pod(pod)
		if got := holds(pod, claim); got != c.holds {
			t.Errorf("%s: it holds the claim: %t", c.rule, got)
		}
		if got := refers(pod, claim); got != c.refers {
			t.Errorf("%s: it refers to the claim: %t", c.rule, got)
		}
	}

	// The claim that is made for an ephemeral volume.
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "u"}, Spec: corev1.PodSpec{NodeName: "n", Volumes: []corev1.Volume{{Name: "v",
		VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}}}}}
	own := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "p-v", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(pod, corev1.SchemeGroupVersion.WithKind("Pod"))}}}
	if !holds(pod, own) {
		t.Error("a pod on a node does not hold the claim that was made for it")
	}
	if holds(pod, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "p-v"}}) {
		t.Error("a pod holds a claim of the name that was not made for it")
	}
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &now, &none
	if holds(pod, own) {
		t.Error("a pod that only finalizers keep holds the claim that was made for it")
	}
}
