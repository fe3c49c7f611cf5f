package pod

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/workloads/internal/files"
)

// TestWhoContainersRunAs proves that the user of a known image holds if the pod names none.
func TestWhoContainersRunAs(t *testing.T) {
	for _, test := range []struct {
		image   string
		context *corev1.SecurityContext
		want    files.Owner
	}{
		{"busybox", nil, files.Owner{}},
		{"docker.io/curlimages/curl:8.16.0", nil, files.Owner{User: 100, Group: 101}},
		{"registry.k8s.io/e2e-test-images/nonroot:1.5", nil, files.Owner{User: 1234}},
		{"gcr.io/distroless/static:nonroot", nil, files.Owner{User: 65532, Group: 65532}},
		{"gcr.io/distroless/static:debug-nonroot", nil, files.Owner{User: 65532, Group: 65532}},
		{"gcr.io/distroless/static:latest", nil, files.Owner{}},
		{"curlimages/curl", &corev1.SecurityContext{RunAsUser: ptr.To(int64(7))}, files.Owner{User: 7}},
		{"curlimages/curl", &corev1.SecurityContext{RunAsGroup: ptr.To(int64(8))}, files.Owner{User: 100, Group: 8}},
		{"not an image", nil, files.Owner{}},
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: test.image, SecurityContext: test.context}}}}
		if got := identityOf(pod, &pod.Spec.Containers[0]).Owner; got != test.want {
			t.Errorf("%s with %v runs as %v, want %v", test.image, test.context, got, test.want)
		}
		want := &corev1.LinuxContainerUser{UID: test.want.User, GID: test.want.Group, SupplementalGroups: []int64{test.want.Group}}
		if got := linuxUser(pod, &pod.Spec.Containers[0]).Linux; !reflect.DeepEqual(got, want) {
			t.Errorf("%s with %v has the status %v, want %v", test.image, test.context, got, want)
		}
	}
}
