package node

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// TestFilesOfVolumesBelongToWhoRunsThePod proves which permissions files have that a kubelet writes into volumes.
func TestFilesOfVolumesBelongToWhoRunsThePod(t *testing.T) {
	user := func(id int64) corev1.Container {
		return corev1.Container{Name: "c", SecurityContext: &corev1.SecurityContext{RunAsUser: &id}}
	}
	for _, test := range []struct {
		name        string
		spec        corev1.PodSpec
		token, file int32 // of a token, and of a file with 0400
	}{
		{"nobody is named", corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}, 0o644, 0o400},
		{"a user", corev1.PodSpec{Containers: []corev1.Container{user(1000)}}, 0o600, 0o400},
		{"two users", corev1.PodSpec{Containers: []corev1.Container{user(1000), user(1001)}}, 0o644, 0o400},
		{"a group", corev1.PodSpec{SecurityContext: &corev1.PodSecurityContext{FSGroup: ptr.To(int64(10000))}, Containers: []corev1.Container{{Name: "c"}}}, 0o640, 0o440},
		{"a user and a group", corev1.PodSpec{SecurityContext: &corev1.PodSecurityContext{FSGroup: ptr.To(int64(10000))}, Containers: []corev1.Container{user(1000)}}, 0o640, 0o440},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &pod{api: &corev1.Pod{Spec: test.spec}}
			content := payload{"token": {Mode: p.tokenMode(nil)}, "file": {Mode: 0o400}}
			p.share(content)
			if got := content["token"].Mode; got != test.token {
				t.Errorf("a token has %04o, want %04o", got, test.token)
			}
			if got := content["file"].Mode; got != test.file {
				t.Errorf("a file has %04o, want %04o", got, test.file)
			}
		})
	}
}
