package node_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fakecluster/fakecluster/faults"
	"github.com/fakecluster/fakecluster/workloads/internal/node"
	"github.com/fakecluster/fakecluster/workloads/internal/node/nodetest"
)

// TestNodesHaveACSINode compares the CSINode with that of a kubelet.
func TestNodesHaveACSINode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := nodetest.New(t, node.Config{})
		time.Sleep(time.Second)
		get := func() *storagev1.CSINode {
			t.Helper()
			object, err := w.Admin.StorageV1().CSINodes().Get(t.Context(), "n1", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			return object
		}
		got := get()
		owner := fmt.Sprint(got.OwnerReferences)
		if want := fmt.Sprint([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "n1", UID: w.Node("n1").UID}}); owner != want {
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
		w.RegisterDriver("csi.example.com")
		w.Stop()
		w.Start(node.Config{})
		time.Sleep(time.Second)
		if again := get(); again.UID != got.UID || len(again.Spec.Drivers) != 1 {
			t.Errorf("afterwards it is %v", again)
		}
		w.Stop()
		patch := []byte(`{"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "x"}]}}`)
		if _, err := w.Admin.StorageV1().CSINodes().Patch(t.Context(), "n1", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		fault := w.Cluster.Inject(faults.Fault{Verb: "create", Resource: "csinodes.storage.k8s.io", Times: 2, Effect: faults.Unavailable()})
		w.Start(node.Config{})
		time.Sleep(time.Minute)
		if again := get(); again.UID == got.UID || fmt.Sprint(again.OwnerReferences) != owner || len(again.Spec.Drivers) > 0 {
			t.Errorf("in the place of that of an earlier Node is %v", again)
		}
		if fault.Fired() != 2 {
			t.Errorf("%d faults have fired", fault.Fired())
		}
	})
}
