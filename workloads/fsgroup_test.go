package workloads_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fakecluster/fakecluster/workloads"
)

// TestAnFSGroupGetsTheVolumesThatAKubeletGivesIt proves of which claims the fsGroup of a Pod may write the files, and what becomes of files that are there: a
// first Pod, of root, has written one.
func TestAnFSGroupGetsTheVolumesThatAKubeletGivesIt(t *testing.T) {
	const class = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: other}
provisioner: ebs.csi.aws.com
---
`
	claim := func(class, mode, volume string) string {
		return "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\n" +
			"spec: {" + class + volume + "accessModes: [" + mode + "], resources: {requests: {storage: 1Gi}}}\n---\n"
	}
	static := func(source string) string {
		return "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: pv}\nspec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], " + source + "}\n---\n" +
			claim(`storageClassName: "", `, "ReadWriteOnce", "volumeName: pv, ")
	}
	const driver = "apiVersion: storage.k8s.io/v1\nkind: CSIDriver\nmetadata: {name: x}\nspec: {attachRequired: false, fsGroupPolicy: "
	const csi = "csi: {driver: x, volumeHandle: h, fsType: "
	const local = "local: {path: /mnt}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: Exists}]}]}}"
	const group, root = "2777 0:2000\n664 0:2000\n644 1000:2000\n", "777 0:0\n644 0:0\n644 1000:0\n"
	for _, test := range []struct{ name, objects, context, want string }{
		{"a class in place of a driver", class + claim("storageClassName: other, ", "ReadWriteOnce", ""), "", group},
		{"many nodes write it", class + claim("storageClassName: other, ", "ReadWriteMany", ""), "", root},
		{"the class of a kind cluster has volumes of the type hostPath", claim("", "ReadWriteOnce", ""), "", root},
		{"a local volume", static(local), "", group},
		{"a volume of NFS", static("nfs: {server: nfs, path: /}"), "", root},
		{"a driver, and a file system", static(csi + "ext4}"), "", group},
		{"a driver, and no file system", static(csi + `""}`), "", root},
		{"a driver that gives files to the group", driver + "File}\n---\n" + static(csi+`""}`), "", group},
		{"a driver that never does", driver + "None}\n---\n" + static(csi+"ext4}"), "", root},
		{"a policy for the root", static(local), ", fsGroupChangePolicy: OnRootMismatch", group},
	} {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(w world) {
				w.pass(time.Second)
				drivers := []byte(`{"spec": {"drivers": [{"name": "x", "nodeID": "n1"}]}}`)
				if _, err := w.client.StorageV1().CSINodes().Patch(w.Context(), "n1", types.MergePatchType, drivers, metav1.PatchOptions{}); err != nil {
					w.Fatal(err)
				}
				w.post(strings.TrimSuffix(test.objects, "---\n"))
				const spec = "containers: [{name: app, image: busybox, command: [sleep, 1d], volumeMounts: [{name: data, mountPath: /data}]}]\n" +
					"volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]\n"
				w.createPod("web", spec)
				w.pass(5 * time.Minute) // a claim that is bound only by the resync of its controller is mounted late
				equal(t, "the first Pod has written", w.exec(nil, "touch", "/data/old"), "")
				w.delete("pods", "web")
				w.pass(time.Minute)
				w.createPod("web", spec+"securityContext: {fsGroup: 2000, runAsUser: 1000"+test.context+"}\n")
				w.pass(5 * time.Minute)
				equal(t, "the second Pod has written", w.exec(nil, "touch", "/data/new"), "")
				equal(t, "the files", w.exec(nil, "stat", "-c", "%a %u:%g", "/data", "/data/old", "/data/new"), test.want)
			}, workloads.Nodes(1), workloads.Provisioners("ebs.csi.aws.com"))
		})
	}
}
