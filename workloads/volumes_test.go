package workloads_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fakecluster/fakecluster/workloads"
)

// growing is a class, and a claim of it that a Pod uses.
func growing(provisioner string) string {
	return `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: growing}
provisioner: ` + provisioner + `
allowVolumeExpansion: true
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {storageClassName: growing, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
` + pod("web", "containers: [{name: c, image: web, volumeMounts: [{name: v, mountPath: /v}]}]\nvolumes: [{name: v, persistentVolumeClaim: {claimName: data}}]")
}

// TestClaimsGrow proves that a volume of the built-in provisioner grows with its claim, also if it stands for that of somebody else.
func TestClaimsGrow(t *testing.T) {
	for _, provisioner := range []string{"fakecluster.io/volume", "rancher.io/local-path", "ebs.csi.aws.com"} {
		inBubble(t, func(w world) {
			w.create(growing(provisioner))
			w.patch("persistentvolumeclaims", "data", `{"spec": {"resources": {"requests": {"storage": "2Gi"}}}}`)
			w.pass(0)
			claim := w.object("persistentvolumeclaims", "data")
			w.check("the capacity of the claim", field(claim, "status.capacity.storage"), "2Gi")
			w.check("its condition Resizing", condition(claim, "Resizing"), "")
			w.check("its resizer", claim.GetAnnotations()["volume.kubernetes.io/storage-resizer"], "fakecluster.io/volume")
			volume := w.object("persistentvolumes", field(claim, "spec.volumeName"))
			w.check("the capacity of the volume", field(volume, "spec.capacity.storage"), "2Gi")
			w.check("its provisioner", volume.GetAnnotations()["pv.kubernetes.io/provisioned-by"], provisioner)
			if want := "VolumeResizeSuccessful: ExpandVolume succeeded for volume default/data"; !slices.Contains(w.events("data"), want) {
				w.Errorf("there is no Event %q in\n%s", want, strings.Join(w.events("data"), "\n"))
			}
		}, workloads.Nodes(1), workloads.Provisioners("ebs.csi.aws.com"))
	}
}

// TestVolumesOfOthersDoNotGrow proves that a claim of a provisioner that does not run stays Pending, and that a volume of it waits for its resizer.
func TestVolumesOfOthersDoNotGrow(t *testing.T) {
	inBubble(t, func(w world) {
		w.create(growing("x.example.com"))
		w.check("the claim", field(w.object("persistentvolumeclaims", "data"), "status.phase"), "Pending")
		w.create(`
apiVersion: v1
kind: PersistentVolume
metadata: {name: static}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: growing
  csi: {driver: x.example.com, volumeHandle: h1}
`)
		w.pass(15 * time.Second) // the binder looks again
		w.patch("persistentvolumeclaims", "data", `{"spec": {"resources": {"requests": {"storage": "2Gi"}}}}`)
		w.pass(0)
		claim := w.object("persistentvolumeclaims", "data")
		w.check("the claim", field(claim, "status.phase")+" "+field(claim, "status.capacity.storage"), "Bound 1Gi")
		var got []string
		for _, event := range w.events("data") {
			if strings.Contains(event, "Expand") {
				got = append(got, event)
			}
		}
		if diff := cmp.Diff([]string{"ExternalExpanding: waiting for an external controller to expand this PVC"}, got); diff != "" {
			w.Errorf("Events (-want +got):\n%s", diff)
		}
	}, workloads.Nodes(1))
}
