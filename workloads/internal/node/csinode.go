package node

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// migratedPlugins are the volume plugins that were migrated to CSI drivers.
const migratedPlugins = "kubernetes.io/aws-ebs,kubernetes.io/azure-disk,kubernetes.io/azure-file,kubernetes.io/cinder,kubernetes.io/gce-pd," +
	"kubernetes.io/portworx-volume,kubernetes.io/vsphere-volume"

// ensureCSINode creates the CSINode of the node. If that fails, the next heartbeat tries again.
func (r *registration) ensureCSINode(ctx context.Context, owner *corev1.Node) {
	err := r.createCSINode(ctx, owner)
	if err != nil {
		r.logger.V(2).Info("The CSINode is not created yet", "err", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lacksCSINode = err != nil
}

func (r *registration) needsCSINode() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lacksCSINode && !r.stopped
}

// createCSINode creates the CSINode of the node, without drivers. It replaces that of an earlier Node with the name, and
// keeps drivers that others have added.
func (r *registration) createCSINode(ctx context.Context, owner *corev1.Node) error {
	object := &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{
			Name: r.spec.Name, Annotations: map[string]string{corev1.MigratedPluginsAnnotationKey: migratedPlugins},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: r.spec.Name, UID: owner.UID}},
		},
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{}},
	}
	client := r.client.StorageV1().CSINodes()
	_, err := client.Create(ctx, object, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	present, err := client.Get(ctx, r.spec.Name, metav1.GetOptions{})
	if err != nil || ownedBy(present, owner) {
		return err
	}
	if err := client.Delete(ctx, r.spec.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	_, err = client.Create(ctx, object, metav1.CreateOptions{})
	return err
}

// ownedBy reports whether a CSINode belongs to a Node. One without an owner, which another client has created, does.
func ownedBy(object *storagev1.CSINode, owner *corev1.Node) bool {
	owners := object.OwnerReferences
	return len(owners) == 0 || slices.ContainsFunc(owners, func(o metav1.OwnerReference) bool { return o.Kind == "Node" && o.UID == owner.UID })
}
