package node

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	resourcehelper "k8s.io/component-helpers/resource"
	v1qos "k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"
	"k8s.io/kubernetes/pkg/features"
)

// podResources returns status.resources and status.allocatedResources of a pod: what its containers and the pod itself ask for together. A kubelet
// reads those of a pod that runs back from the cgroup of the pod, where CPU requests are rounded. Both are nil while the feature is off.
func podResources(pod *corev1.Pod, runs bool) (*corev1.ResourceRequirements, corev1.ResourceList) {
	if !utilfeature.DefaultFeatureGate.Enabled(features.InPlacePodLevelResourcesVerticalScaling) {
		return nil, nil
	}
	options := resourcehelper.PodResourcesOptions{SkipPodLevelResources: !utilfeature.DefaultFeatureGate.Enabled(features.PodLevelResources)}
	requests, limits := resourcehelper.PodRequests(pod, options), resourcehelper.PodLimits(pod, options)
	has := pod.Spec.Resources.DeepCopy()
	if has == nil {
		has = &corev1.ResourceRequirements{}
	}
	own := has.Requests.Cpu().MilliValue()
	has.Requests, has.Limits = requests.DeepCopy(), limits
	if runs {
		asked := requests.Cpu().MilliValue()
		if v1qos.GetPodQOS(pod) == corev1.PodQOSBestEffort {
			asked = 0
		}
		delete(has.Requests, corev1.ResourceCPU)
		switch readBack := milliCPUOf(sharesOf(podWeight(shares(asked)))); {
		case own > 0 && asked == own:
			has.Requests[corev1.ResourceCPU] = *pod.Spec.Resources.Requests.Cpu()
		case readBack > 2: // the least that a cgroup can have
			has.Requests[corev1.ResourceCPU] = *resource.NewMilliQuantity(readBack, resource.DecimalSI)
		}
	}
	return has, requests
}

// podWeight returns the weight of cgroup v2 that a kubelet makes of the shares of a pod, and sharesOf the shares that it reads back. Containers
// have the weights of runc.
func podWeight(shares uint64) uint64 { return 1 + (shares-2)*9_999/262_142 }

func sharesOf(weight uint64) uint64 { return (weight-1)*262_142/9_999 + 2 }

func milliCPUOf(shares uint64) int64 { return int64((shares*1000 + 1023) / 1024) }
