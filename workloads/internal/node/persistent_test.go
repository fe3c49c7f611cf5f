package node_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/faults"
	"github.com/fakecluster/fakecluster/workloads/internal/node"
)

// createVolume creates a PersistentVolume, and a claim of its name that is bound to it.
func (w *world) createVolume(name string, source corev1.PersistentVolumeSource) {
	w.Helper()
	w.createClaim(name)
	claims := w.admin.CoreV1().PersistentVolumeClaims("default")
	claim, err := claims.Get(w.Context(), name, metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
		Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}, AccessModes: claim.Spec.AccessModes, PersistentVolumeSource: source,
		ClaimRef: &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: "default", Name: name, UID: claim.UID},
	}}
	if _, err := w.admin.CoreV1().PersistentVolumes().Create(w.Context(), volume, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
	claim.Status.Phase = corev1.ClaimBound
	if _, err := claims.UpdateStatus(w.Context(), claim, metav1.UpdateOptions{}); err != nil {
		w.Fatal(err)
	}
}

// register adds a CSI driver to the CSINode of n1.
func (w *world) register(driver string) {
	w.Helper()
	patch := fmt.Appendf(nil, `{"spec": {"drivers": [{"name": %q, "nodeID": "n1"}]}}`, driver)
	if _, err := w.admin.StorageV1().CSINodes().Patch(w.Context(), "n1", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		w.Fatal(err)
	}
}

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
				w := newWorld(t, node.Config{Attaches: true})
				time.Sleep(time.Second)
				if test.skips {
					driver := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "csi.example.com"}, Spec: storagev1.CSIDriverSpec{AttachRequired: ptr.To(false)}}
					if _, err := w.admin.StorageV1().CSIDrivers().Create(t.Context(), driver, metav1.CreateOptions{}); err != nil {
						t.Fatal(err)
					}
				}
				w.createVolume("pv", test.source)
				w.create("p", claim("pv"))
				time.Sleep(test.after)
				if got, want := describe(w.pod("p")), "Pending Ready=False c=ContainerCreating"; got != want {
					t.Errorf("the pod is %s, want %s", got, want)
				}
				var warnings []string
				for _, e := range w.events("p") {
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
				w.register("csi.example.com")
				time.Sleep(15 * time.Second)
				if got, want := describe(w.pod("p")), "Running Ready=True c=running"; got != want {
					t.Errorf("with the driver the pod is %s, want %s", got, want)
				}
			})
		})
	}
}

// TestNodesHaveACSINode compares the CSINode with that of a kubelet.
func TestNodesHaveACSINode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, node.Config{})
		time.Sleep(time.Second)
		get := func() *storagev1.CSINode {
			t.Helper()
			object, err := w.admin.StorageV1().CSINodes().Get(t.Context(), "n1", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			return object
		}
		got := get()
		owner := fmt.Sprint(got.OwnerReferences)
		if want := fmt.Sprint([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "n1", UID: w.node("n1").UID}}); owner != want {
			t.Errorf("its owner is %s, want %s", owner, want)
		}
		if len(got.Spec.Drivers) > 0 {
			t.Errorf("its drivers are %v", got.Spec.Drivers)
		}
		plugins := "kubernetes.io/aws-ebs,kubernetes.io/azure-disk,kubernetes.io/azure-file,kubernetes.io/cinder,kubernetes.io/gce-pd,kubernetes.io/portworx-volume,kubernetes.io/vsphere-volume"
		if got := got.Annotations["storage.alpha.kubernetes.io/migrated-plugins"]; got != plugins {
			t.Errorf("the plugins that have migrated are %s", got)
		}

		// Another agent leaves it, and replaces one of an earlier Node.
		w.register("csi.example.com")
		w.stop()
		w.start(node.Config{})
		time.Sleep(time.Second)
		if again := get(); again.UID != got.UID || len(again.Spec.Drivers) != 1 {
			t.Errorf("afterwards it is %v", again)
		}
		w.stop()
		patch := []byte(`{"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "x"}]}}`)
		if _, err := w.admin.StorageV1().CSINodes().Patch(t.Context(), "n1", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		fault := w.cluster.Inject(faults.Fault{Verb: "create", Resource: "csinodes.storage.k8s.io", Times: 2, Effect: faults.Unavailable()})
		w.start(node.Config{})
		time.Sleep(time.Minute)
		if again := get(); again.UID == got.UID || fmt.Sprint(again.OwnerReferences) != owner || len(again.Spec.Drivers) > 0 {
			t.Errorf("in the place of that of an earlier Node is %v", again)
		}
		if fault.Fired() != 2 {
			t.Errorf("%d faults have fired", fault.Fired())
		}
	})
}
