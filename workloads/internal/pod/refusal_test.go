package pod_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/workloads/internal/node"
	"github.com/fakecluster/fakecluster/workloads/internal/node/nodetest"
)

// TestAKubeletRefusesContainers proves that containers do not start which a kubelet refuses, in its words.
func TestAKubeletRefusesContainers(t *testing.T) {
	image := func(name string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.Containers[0].Image = name }
	}
	invalid := func(name, why string) string {
		return "InvalidImageName: Failed to apply default image tag \"" + name + "\": couldn't parse image name \"" + name + "\": " + why
	}
	for _, test := range []struct {
		name  string
		pod   func(*corev1.Pod)
		want  string // the reason and the message
		event string
	}{
		{"an image in upper case", image("Example.com/Foo/Bar:v1"), invalid("Example.com/Foo/Bar:v1", "invalid reference format: repository name (Foo/Bar) must be lowercase"), "InspectFailed"},
		{"an image with an empty tag", image("myrepo/app:"), invalid("myrepo/app:", "invalid reference format"), "InspectFailed"},
		{"a variable that nobody has replaced", image("${IMAGE}"), invalid("${IMAGE}", "invalid reference format: repository name (library/${IMAGE}) must be lowercase"), "InspectFailed"},
		{"a tag alone", image(":v1"), invalid(":v1", "invalid reference format"), "InspectFailed"},
		{"root that may not be root", func(p *corev1.Pod) {
			p.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To(int64(0))}
		}, "CreateContainerConfigError: container's runAsUser breaks non-root policy (pod: \"p_default(UID)\", container: c)", "Failed"},
		{"an image whose user is root", func(p *corev1.Pod) {
			p.Spec.Containers[0].Image = "docker.io/library/busybox:1.37"
			p.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true)}
		}, "CreateContainerConfigError: container has runAsNonRoot and image will run as root (pod: \"p_default(UID)\", container: c)", "Failed"},
		{"an image whose user has a name", func(p *corev1.Pod) {
			p.Spec.Containers[0].Image = "curlimages/curl:8.16.0"
			p.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true)}
		}, "CreateContainerConfigError: container has runAsNonRoot and image has non-numeric user (curl_user), cannot verify user is non-root (pod: \"p_default(UID)\", container: c)", "Failed"},
		{"a subPath of a variable that is not set", func(p *corev1.Pod) {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
			p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "v", MountPath: "/v", SubPathExpr: "$(NOPE)"})
		}, "CreateContainerConfigError: missing value for NOPE", "Failed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := nodetest.New(t, node.Config{})
				w.Create("p", test.pod)
				time.Sleep(5 * time.Second)
				p, err := w.Admin.CoreV1().Pods("default").Get(t.Context(), "p", metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				state := p.Status.ContainerStatuses[0].State.Waiting
				if state == nil {
					t.Fatalf("the container is %+v", p.Status.ContainerStatuses[0].State)
				}
				if got, want := state.Reason+": "+state.Message, strings.ReplaceAll(test.want, "UID", string(p.UID)); got != want {
					t.Errorf("got  %s\nwant %s", got, want)
				}
				if events := w.Events("p"); !slices.ContainsFunc(events, func(e string) bool { return strings.Contains(e, "Warning "+test.event+":") }) {
					t.Errorf("no Event %s: %q", test.event, events)
				}
			})
		})
	}
}
