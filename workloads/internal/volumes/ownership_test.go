package volumes

import (
	"fmt"
	"io/fs"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/workloads/internal/files"
)

// TestFilesOfVolumesBelongToWhoRunsThePod proves which permissions files have that a kubelet writes into volumes.
func TestFilesOfVolumesBelongToWhoRunsThePod(t *testing.T) {
	user := func(id int64) corev1.Container {
		return corev1.Container{Name: "c", SecurityContext: &corev1.SecurityContext{RunAsUser: &id}}
	}
	for _, test := range []struct {
		name        string
		spec        corev1.PodSpec
		token, file string // whom a token, and a file with 0400, belong to, and their modes
	}{
		{"nobody is named", corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}, "0:0 0644", "0:0 0400"},
		{"a user", corev1.PodSpec{Containers: []corev1.Container{user(1000)}}, "1000:0 0600", "0:0 0400"},
		{"two users", corev1.PodSpec{Containers: []corev1.Container{user(1000), user(1001)}}, "0:0 0644", "0:0 0400"},
		{"a group", corev1.PodSpec{SecurityContext: &corev1.PodSecurityContext{FSGroup: ptr.To(int64(10000))}, Containers: []corev1.Container{{Name: "c"}}},
			"0:10000 0640", "0:10000 0440"},
		{"a user and a group", corev1.PodSpec{SecurityContext: &corev1.PodSecurityContext{FSGroup: ptr.To(int64(10000))}, Containers: []corev1.Container{user(1000)}},
			"1000:10000 0640", "0:10000 0440"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &Pod{api: &corev1.Pod{Spec: test.spec}}
			content := payload{"token": p.credential(nil, nil), "file": {Mode: 0o400}}
			p.share(content)
			volume := p.newVolume()
			if err := volume.Replace(p.filesOf(content, "")); err != nil {
				t.Fatal(err)
			}
			for name, want := range map[string]string{"token": test.token, "file": test.file} {
				info, err := fs.Stat(volume, name)
				if err != nil {
					t.Fatal(err)
				}
				owner, _ := files.OwnerOf(info)
				if got := fmt.Sprintf("%d:%d %04o", owner.User, owner.Group, info.Mode()); got != want {
					t.Errorf("a %s has %s, want %s", name, got, want)
				}
			}
		})
	}
}

// TestPartsOfVolumes proves whom volumes and the folders that subPath makes belong to, and their modes.
func TestPartsOfVolumes(t *testing.T) {
	for _, test := range []struct {
		group  *int64
		medium corev1.StorageMedium
		want   string // of the volume, and of a folder that a subPath makes in it
	}{
		{nil, "", "0:0 drwxrwxrwx"},
		{nil, corev1.StorageMediumMemory, "0:0 dtrwxrwxrwx"},
		{ptr.To(int64(123)), "", "0:123 dgrwxrwxrwx"},
		{ptr.To(int64(123)), corev1.StorageMediumMemory, "0:123 dgtrwxrwxrwx"},
	} {
		t.Run(test.want, func(t *testing.T) {
			p := &Pod{api: &corev1.Pod{Spec: corev1.PodSpec{SecurityContext: &corev1.PodSecurityContext{FSGroup: test.group}}}}
			volume := p.newVolume()
			if test.medium == corev1.StorageMediumMemory {
				volume.Stick()
			}
			if err := makePart(volume, "", "a/b"); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{".", "a", "a/b"} {
				info, err := fs.Stat(volume, name)
				if err != nil {
					t.Fatal(err)
				}
				owner, _ := files.OwnerOf(info)
				if got := fmt.Sprintf("%d:%d %v", owner.User, owner.Group, info.Mode()); got != test.want {
					t.Errorf("%s has %s, want %s", name, got, test.want)
				}
			}
		})
	}
}
