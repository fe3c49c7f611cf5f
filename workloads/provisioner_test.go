package workloads_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads/internal/provisioner"
)

// startProvisioner starts a cluster with a provisioner, and without the controllers that mark claims and bind volumes.
func startProvisioner(t *testing.T, classes ...*storagev1.StorageClass) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(fakecluster.Start(t, fakecluster.InProcess()).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	for _, class := range classes {
		if _, err := client.StorageV1().StorageClasses().Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	shared := informers.NewSharedInformerFactory(client, 0)
	p, err := provisioner.Start(ctx, provisioner.Config{Client: client, Informers: shared})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	shared.Start(ctx.Done())
	t.Cleanup(func() { cancel(); p.Wait(); shared.Shutdown() })
	return client
}

func class(name string, mode storagev1.VolumeBindingMode, parameters map[string]string) *storagev1.StorageClass {
	return &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner.Name, VolumeBindingMode: &mode, Parameters: parameters,
	}
}

func TestClaimsGetVolumes(t *testing.T) {
	const owner = "volume.kubernetes.io/storage-provisioner"
	immediate, waits := storagev1.VolumeBindingImmediate, storagev1.VolumeBindingWaitForFirstConsumer
	for _, test := range []struct {
		name        string
		class       *storagev1.StorageClass
		annotations map[string]string
		volume      string // its claim, size and node
		events      []string
	}{
		{
			name: "a claim gets a volume at once", class: class("fast", immediate, nil),
			annotations: map[string]string{owner: provisioner.Name},
			volume:      "default/data 1Gi Delete",
			events: []string{
				`Normal Provisioning: External provisioner is provisioning volume for claim "default/data"`,
				"Normal ProvisioningSucceeded: Successfully provisioned volume pvc-UID",
			},
		},
		{
			name: "a claim that waits for its first consumer gets none before", class: class("late", waits, nil),
			annotations: map[string]string{owner: provisioner.Name},
		},
		{
			name: "and one on the node of the consumer", class: class("late", waits, nil),
			annotations: map[string]string{owner: provisioner.Name, "volume.kubernetes.io/selected-node": "n1"},
			volume:      "default/data 1Gi Delete n1",
			events: []string{
				`Normal Provisioning: External provisioner is provisioning volume for claim "default/data"`,
				"Normal ProvisioningSucceeded: Successfully provisioned volume pvc-UID",
			},
		},
		{
			name: "a claim of another provisioner gets none", class: class("fast", immediate, nil),
			annotations: map[string]string{owner: "csi.acme.com"},
		},
		{
			name: "a class fails on request", class: class("broken", immediate, map[string]string{"fail": "the disks are full"}),
			annotations: map[string]string{owner: provisioner.Name},
			events: []string{
				`Normal Provisioning: External provisioner is provisioning volume for claim "default/data"`,
				`Warning ProvisioningFailed: failed to provision volume with StorageClass "broken": the disks are full`,
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := startProvisioner(t, test.class)
				claim, err := client.CoreV1().PersistentVolumeClaims("default").Create(t.Context(), &corev1.PersistentVolumeClaim{
					ObjectMeta: metav1.ObjectMeta{Name: "data", Annotations: test.annotations},
					Spec: corev1.PersistentVolumeClaimSpec{
						StorageClassName: ptr.To(test.class.Name), AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
						Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
					},
				}, metav1.CreateOptions{})
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
				volumes, err := client.CoreV1().PersistentVolumes().List(t.Context(), metav1.ListOptions{})
				if err != nil {
					t.Fatal(err)
				}
				got := ""
				for _, v := range volumes.Items {
					size := v.Spec.Capacity[corev1.ResourceStorage]
					got = fmt.Sprintf("%s/%s %s %s", v.Spec.ClaimRef.Namespace, v.Spec.ClaimRef.Name, size.String(), v.Spec.PersistentVolumeReclaimPolicy)
					if a := v.Spec.NodeAffinity; a != nil {
						got += " " + a.Required.NodeSelectorTerms[0].MatchExpressions[0].Values[0]
					}
				}
				if got != test.volume {
					t.Errorf("the volume is %q, want %q", got, test.volume)
				}
				events, err := client.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{})
				if err != nil {
					t.Fatal(err)
				}
				var lines []string
				for _, e := range events.Items {
					lines = append(lines, e.Type+" "+e.Reason+": "+strings.ReplaceAll(e.Message, string(claim.UID), "UID"))
				}
				if diff := cmp.Diff(test.events, lines); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestReleasedVolumesAreDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := startProvisioner(t)
		for name, path := range map[string]string{"ours": "/var/local-path-provisioner/ours", "other": "/data"} {
			v, err := client.CoreV1().PersistentVolumes().Create(t.Context(), &corev1.PersistentVolume{
				ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"pv.kubernetes.io/provisioned-by": "csi.acme.com"}},
				Spec: corev1.PersistentVolumeSpec{
					Capacity:    corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
					AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
					PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path}},
				},
			}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			v.Status.Phase = corev1.VolumeReleased
			if _, err := client.CoreV1().PersistentVolumes().UpdateStatus(t.Context(), v, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		volumes, err := client.CoreV1().PersistentVolumes().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range volumes.Items {
			if v.Name == "ours" && v.DeletionTimestamp == nil || v.Name == "other" && v.DeletionTimestamp != nil {
				t.Errorf("volume %s: deleted at %v", v.Name, v.DeletionTimestamp)
			}
		}
	})
}

func TestThereIsADefaultClass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := startProvisioner(t)
		c, err := client.StorageV1().StorageClasses().Get(t.Context(), "standard", metav1.GetOptions{})
		if err != nil || c.Annotations["storageclass.kubernetes.io/is-default-class"] != "true" || *c.VolumeBindingMode != storagev1.VolumeBindingWaitForFirstConsumer {
			t.Errorf("the class is %+v, %v", c, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		own := class("own", storagev1.VolumeBindingImmediate, nil)
		own.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
		classes, err := startProvisioner(t, own).StorageV1().StorageClasses().List(t.Context(), metav1.ListOptions{})
		if err != nil || len(classes.Items) != 1 {
			t.Errorf("with another default class, the classes are %+v, %v", classes, err)
		}
	})
}
