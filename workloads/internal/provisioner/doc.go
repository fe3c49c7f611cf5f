// Package provisioner makes the volumes of a living cluster: a default StorageClass, and PersistentVolumes for the claims
// that use it, as an external provisioner does.
//
// Kubernetes' volume binder marks a claim with the provisioner that has to act, and, if the volume binding mode is
// WaitForFirstConsumer, with the node that the scheduler has chosen. The provisioner then creates a volume for the
// claim, and the binder binds the two. A released volume whose reclaim policy is Delete is deleted.
//
// One goroutine follows claims and volumes by shared informers. It waits for changes, and for a claim that it has to try again.
package provisioner
