package volumes

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestVolumesOfHugePages proves that the size of the pages of a volume is one that the pod requests.
func TestVolumesOfHugePages(t *testing.T) {
	const none = ": hugePages storage requested, but there is no resource request for huge pages"
	for _, test := range []struct {
		medium   corev1.StorageMedium
		requests []corev1.ResourceName // one for each container
		want     string
	}{
		{"", nil, ""},
		{"Memory", nil, ""},
		{"HugePages", nil, "medium HugePages" + none},
		{"HugePages", []corev1.ResourceName{"cpu"}, "medium HugePages" + none},
		{"HugePages", []corev1.ResourceName{"cpu", "hugepages-2Mi"}, ""},
		{"HugePages", []corev1.ResourceName{"hugepages-2Mi", "hugepages-2Mi"}, ""},
		{"HugePages", []corev1.ResourceName{"hugepages-2Mi", "hugepages-1Gi"}, "medium: HugePages can't be used if container requests multiple huge page sizes"},
		{"HugePages-1Gi", []corev1.ResourceName{"hugepages-2Mi"}, "medium HugePages-1Gi" + none},
		{"HugePages-1Gi", []corev1.ResourceName{"hugepages-2Mi", "hugepages-1Gi"}, ""},
	} {
		pod := &corev1.Pod{}
		for _, name := range test.requests {
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{name: resource.MustParse("1Gi")},
			}})
		}
		got := ""
		if err := checkHugePages(pod, &corev1.EmptyDirVolumeSource{Medium: test.medium}); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%q with %v: got %q, want %q", test.medium, test.requests, got, test.want)
		}
	}
}
