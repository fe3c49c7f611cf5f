package controller

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/ephemeral"
)

var (
	claims  = kind{"", "persistentvolumeclaims"}
	volumes = kind{"", "persistentvolumes"}
)

// The finalizers of protected objects.
const (
	claimFinalizer  = "kubernetes.io/pvc-protection"
	volumeFinalizer = "kubernetes.io/pv-protection"
)

// claimProtection lets a PersistentVolumeClaim that is being deleted go when no Pod uses it. It
// also says in the condition Unused of a claim that is bound whether any Pod refers to it.
func claimProtection() *controller {
	return &controller{
		identity: ServiceAccount("pvc-protection-controller"),
		follows: []followed{
			{kind: claims, begins: true, concerns: changed},
			{kind: pods, concerns: func(s *step, c change) error {
				pod, err := is[*corev1.Pod](c)
				if err == nil && pod == nil {
					pod, err = was[*corev1.Pod](c)
				}
				if err != nil {
					return err
				}
				for i := range pod.Spec.Volumes {
					switch v := &pod.Spec.Volumes[i]; {
					case v.PersistentVolumeClaim != nil:
						s.enqueue(key{namespace: pod.Namespace, name: v.PersistentVolumeClaim.ClaimName})
					case v.Ephemeral != nil:
						s.enqueue(key{namespace: pod.Namespace, name: ephemeral.VolumeClaimName(pod, v)})
					}
				}
				return nil
			}},
		},
		sync: syncClaim,
	}
}

func syncClaim(s *step, k key) error {
	claim, err := find[*corev1.PersistentVolumeClaim](s, claims, k.namespace, k.name)
	if err != nil || claim == nil {
		return err
	}
	leaves := claim.DeletionTimestamp != nil && slices.Contains(claim.Finalizers, claimFinalizer)
	tells := claim.DeletionTimestamp == nil && claim.Status.Phase == corev1.ClaimBound
	if leaves || tells {
		users, err := all[*corev1.Pod](s, pods, claim.Namespace, nil)
		if err != nil {
			return err
		}
		if leaves {
			if slices.ContainsFunc(users, func(pod *corev1.Pod) bool { return holds(pod, claim) }) {
				return nil
			}
			freed := claim.DeepCopy()
			freed.Finalizers = without(freed.Finalizers, claimFinalizer)
			return s.update(claims, freed, "")
		}
		used := slices.ContainsFunc(users, func(pod *corev1.Pod) bool { return refers(pod, claim) })
		if told := reportUnused(s, claim, used); told != nil {
			if err := s.update(claims, told, "status"); err != nil {
				return err
			}
			if claim, err = find[*corev1.PersistentVolumeClaim](s, claims, k.namespace, k.name); err != nil || claim == nil {
				return err
			}
		}
	}
	if claim.DeletionTimestamp == nil && !slices.Contains(claim.Finalizers, claimFinalizer) {
		protected := claim.DeepCopy()
		protected.Finalizers = append(protected.Finalizers, claimFinalizer)
		return s.update(claims, protected, "")
	}
	return nil
}

// reportUnused returns the claim with a condition Unused that reports whether Pods use it, or nil if
// it has that already.
func reportUnused(s *step, claim *corev1.PersistentVolumeClaim, used bool) *corev1.PersistentVolumeClaim {
	c := corev1.PersistentVolumeClaimCondition{Type: corev1.PersistentVolumeClaimUnused, LastTransitionTime: metav1.NewTime(s.now()),
		Status: corev1.ConditionTrue, Reason: "NoPodsUsingPVC", Message: "No pods are currently referencing this PVC"}
	if used {
		c.Status, c.Reason, c.Message = corev1.ConditionFalse, "PodUsingPVC", "A pod is currently referencing this PVC"
	}
	i := slices.IndexFunc(claim.Status.Conditions, func(was corev1.PersistentVolumeClaimCondition) bool { return was.Type == c.Type })
	if i >= 0 {
		is := claim.Status.Conditions[i].Status
		if used && is != corev1.ConditionTrue || !used && is == corev1.ConditionTrue {
			return nil
		}
	}
	told := claim.DeepCopy()
	if i >= 0 {
		told.Status.Conditions[i] = c
	} else {
		told.Status.Conditions = append(told.Status.Conditions, c)
	}
	return told
}

// holds reports whether a Pod keeps a claim from being deleted. Only one that is on a Node does:
// no kubelet starts a Pod whose claim is being deleted.
func holds(pod *corev1.Pod, claim *corev1.PersistentVolumeClaim) bool {
	if pod.Spec.NodeName == "" {
		return false
	}
	// A Pod that is only kept by finalizers does not hold a claim that was made for it:
	// otherwise the two could wait for each other.
	shutDown := pod.DeletionTimestamp != nil && pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds == 0
	return names(pod, claim, !shutDown)
}

// refers reports whether a Pod that has not ended refers to a claim, whether or not it is on
// a Node.
func refers(pod *corev1.Pod, claim *corev1.PersistentVolumeClaim) bool {
	ended := pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded ||
		pod.DeletionTimestamp != nil && !runs(pod.Status.InitContainerStatuses) && !runs(pod.Status.ContainerStatuses) && !runs(pod.Status.EphemeralContainerStatuses)
	return !ended && names(pod, claim, true)
}

func runs(containers []corev1.ContainerStatus) bool {
	return slices.ContainsFunc(containers, func(c corev1.ContainerStatus) bool { return c.State.Terminated == nil && c.State.Waiting == nil })
}

// names reports whether a volume of a Pod is the claim: by its name or, with own, as the claim
// that is made for the Pod.
func names(pod *corev1.Pod, claim *corev1.PersistentVolumeClaim, own bool) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim.Name ||
			own && v.Ephemeral != nil && ephemeral.VolumeClaimName(pod, &v) == claim.Name && ephemeral.VolumeIsForPod(pod, claim) == nil
	})
}

// without returns a list of finalizers without one of them.
func without(finalizers []string, one string) []string {
	return slices.DeleteFunc(finalizers, func(f string) bool { return f == one })
}

// volumeProtection lets a PersistentVolume that is being deleted go when it is not bound.
func volumeProtection() *controller {
	return &controller{
		identity: ServiceAccount("pv-protection-controller"),
		follows:  []followed{{kind: volumes, begins: true, concerns: changed}},
		sync: func(s *step, k key) error {
			volume, err := find[*corev1.PersistentVolume](s, volumes, "", k.name)
			if err != nil || volume == nil {
				return err
			}
			has := slices.Contains(volume.Finalizers, volumeFinalizer)
			changed := volume.DeepCopy()
			switch {
			case volume.DeletionTimestamp != nil && has && volume.Status.Phase != corev1.VolumeBound:
				changed.Finalizers = without(changed.Finalizers, volumeFinalizer)
			case volume.DeletionTimestamp == nil && !has:
				changed.Finalizers = append(changed.Finalizers, volumeFinalizer)
			default:
				return nil
			}
			return s.update(volumes, changed, "")
		},
	}
}
