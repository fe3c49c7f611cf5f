package node_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/workloads/internal/node"
	"github.com/fakecluster/fakecluster/workloads/internal/node/nodetest"
)

// TestPersistentVolumesThatCannotBeMounted compares the Events with those of a kubelet and of kube-controller-manager.
func TestPersistentVolumesThatCannotBeMounted(t *testing.T) {
	csi := corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "csi.example.com", VolumeHandle: "h1"}}
	host := func(path string, kind corev1.HostPathType) corev1.PersistentVolumeSource {
		return corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path, Type: &kind}}
	}
	const typeCheck = `Warning FailedMount: MountVolume.SetUp failed for volume "pv" : hostPath type check failed`
	for _, test := range []struct {
		name   string
		source corev1.PersistentVolumeSource
		skips  bool // the driver does not attach
		after  time.Duration
		want   []string
	}{
		{"a driver that is not registered attaches nothing", csi, false, 119 * time.Second, nil},
		{"that is an Event after two minutes, and again after two more", csi, false, 4*time.Minute + 20*time.Second,
			[]string{`Warning FailedAttachVolume: AttachVolume.Attach failed for volume "pv" : timed out waiting for external-attacher of csi.example.com CSI driver to attach volume h1 (x2)`}},
		{"a driver that does not attach is missing on the node", csi, true, 5 * time.Second,
			[]string{`Warning FailedMount: MountVolume.MountDevice failed for volume "pv" : kubernetes.io/csi: attacher.MountDevice failed to create newCsiDriverClient: ` +
				`driver name csi.example.com not found in the list of registered CSI drivers (x4)`}},
		{"a file of the node that is absent", host("/data/file", corev1.HostPathFile), false, 5 * time.Second,
			[]string{typeCheck + `, /data/file is not a file, unable to determine its type: path "/data/file" does not exist (x4)`}},
		{"a directory that is absent", host("/data", corev1.HostPathDirectory), false, 5 * time.Second,
			[]string{typeCheck + `, /data is not a directory, unable to determine its type: path "/data" does not exist (x4)`}},
		{"a socket that is absent", host("/run/docker.sock", corev1.HostPathSocket), false, 5 * time.Second,
			[]string{typeCheck + `, /run/docker.sock is not a socket file, unable to determine its type: path "/run/docker.sock" does not exist (x4)`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := nodetest.New(t, node.Config{Attaches: true})
				time.Sleep(time.Second)
				if test.skips {
					driver := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "csi.example.com"}, Spec: storagev1.CSIDriverSpec{AttachRequired: ptr.To(false)}}
					if _, err := w.Admin.StorageV1().CSIDrivers().Create(t.Context(), driver, metav1.CreateOptions{}); err != nil {
						t.Fatal(err)
					}
				}
				w.CreateVolume("pv", test.source)
				w.Create("p", nodetest.Claim("pv"))
				time.Sleep(test.after)
				if got, want := nodetest.Describe(w.Pod("p")), "Pending Ready=False c=ContainerCreating"; got != want {
					t.Errorf("the pod is %s, want %s", got, want)
				}
				var warnings []string
				for _, e := range w.Events("p") {
					if strings.HasPrefix(e, "Warning") {
						warnings = append(warnings, e)
					}
				}
				if !slices.Equal(warnings, test.want) {
					t.Errorf("got  %s\nwant %s", strings.Join(warnings, "\n     "), strings.Join(test.want, "\n     "))
				}
				if test.source.CSI == nil {
					return
				}
				w.RegisterDriver("csi.example.com")
				time.Sleep(15 * time.Second)
				if got, want := nodetest.Describe(w.Pod("p")), "Running Ready=True c=running"; got != want {
					t.Errorf("with the driver the pod is %s, want %s", got, want)
				}
			})
		})
	}
}
