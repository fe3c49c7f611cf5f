package volumes

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"
)

// checkHugePages returns an error if a kubelet cannot mount an emptyDir of huge pages. Their size comes from the
// requests of the pod.
func checkHugePages(pod *corev1.Pod, source *corev1.EmptyDirVolumeSource) error {
	if source == nil || !v1helper.IsHugePageMedium(source.Medium) {
		return nil
	}
	var wanted, found *resource.Quantity
	if source.Medium != corev1.StorageMediumHugePages {
		size, err := v1helper.HugePageSizeFromMedium(source.Medium)
		if err != nil {
			return err
		}
		wanted = &size
	}
	for _, requests := range requestsOf(pod) {
		for name := range requests {
			if !v1helper.IsHugePageResourceName(name) {
				continue
			}
			size, err := v1helper.HugePageSizeFromResourceName(name)
			switch {
			case err != nil:
				return err
			case wanted != nil && wanted.Cmp(size) != 0:
			case found != nil && found.Cmp(size) != 0:
				return fmt.Errorf("medium: %s can't be used if container requests multiple huge page sizes", source.Medium)
			default:
				found = &size
			}
		}
	}
	if found == nil {
		return fmt.Errorf("medium %s: hugePages storage requested, but there is no resource request for huge pages", source.Medium)
	}
	return nil
}

// requestsOf returns the requests of the pod itself and of its containers.
func requestsOf(pod *corev1.Pod) (requests []corev1.ResourceList) {
	if pod.Spec.Resources != nil {
		requests = append(requests, pod.Spec.Resources.Requests)
	}
	for _, containers := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range containers {
			requests = append(requests, containers[i].Resources.Requests)
		}
	}
	return requests
}
