package nodetest

import (
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fakecluster/fakecluster/workloads/internal/node"
)

// Node returns a Node.
func (w *World) Node(name string) *corev1.Node {
	w.Helper()
	object, err := w.Admin.CoreV1().Nodes().Get(w.Context(), name, metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return object
}

// Lease returns the Lease of a node.
func (w *World) Lease(name string) *coordinationv1.Lease {
	w.Helper()
	lease, err := w.Admin.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(w.Context(), name, metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return lease
}

// Handle returns what the agent lets tests do with a node.
func (w *World) Handle(name string) *node.Node {
	w.Helper()
	n, err := w.Agent.Node(name)
	if err != nil {
		w.Fatal(err)
	}
	return n
}

// Volume has the container of a pod mount a volume with the name v.
func Volume(source corev1.VolumeSource) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "v", VolumeSource: source})
		p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "v", MountPath: "/v"})
	}
}

// HostPath mounts a path of the node.
func HostPath(path string, kind corev1.HostPathType) func(*corev1.Pod) {
	return Volume(corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path, Type: &kind}})
}

// Requests has the first container of a pod request CPUs and memory.
func Requests(cpu, memory string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse(memory)}
	}
}

// Claim mounts a claim.
func Claim(name string) func(*corev1.Pod) {
	return Volume(corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}})
}

// RuntimeClass sets the RuntimeClass of a pod.
func RuntimeClass(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.RuntimeClassName = &name }
}

// PrepareRefusals creates what the pods of the tests of refusals refer to.
func (w *World) PrepareRefusals() {
	w.Helper()
	ctx := w.Context()
	for _, handler := range []string{"kata", "runc"} {
		if _, err := w.Admin.NodeV1().RuntimeClasses().Create(ctx, &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: handler}, Handler: handler}, metav1.CreateOptions{}); err != nil {
			w.Fatal(err)
		}
	}
	if _, err := w.Admin.CoreV1().Secrets("default").Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "there"}}, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
	w.CreateClaim("unbound")
}

// CreateClaim creates a claim for the volume of its name.
func (w *World) CreateClaim(name string) {
	w.Helper()
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, VolumeName: name,
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}
	if _, err := w.Admin.CoreV1().PersistentVolumeClaims("default").Create(w.Context(), claim, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
}

// CreateVolume creates a PersistentVolume, and a claim of its name that is bound to it.
func (w *World) CreateVolume(name string, source corev1.PersistentVolumeSource) {
	w.Helper()
	w.CreateClaim(name)
	claims := w.Admin.CoreV1().PersistentVolumeClaims("default")
	claim, err := claims.Get(w.Context(), name, metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
		Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}, AccessModes: claim.Spec.AccessModes, PersistentVolumeSource: source,
		ClaimRef: &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: "default", Name: name, UID: claim.UID},
	}}
	if _, err := w.Admin.CoreV1().PersistentVolumes().Create(w.Context(), volume, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
	claim.Status.Phase = corev1.ClaimBound
	if _, err := claims.UpdateStatus(w.Context(), claim, metav1.UpdateOptions{}); err != nil {
		w.Fatal(err)
	}
}

// RegisterDriver adds a CSI driver to the CSINode of n1.
func (w *World) RegisterDriver(driver string) {
	w.Helper()
	patch := fmt.Appendf(nil, `{"spec": {"drivers": [{"name": %q, "nodeID": "n1"}]}}`, driver)
	if _, err := w.Admin.StorageV1().CSINodes().Patch(w.Context(), "n1", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		w.Fatal(err)
	}
}
