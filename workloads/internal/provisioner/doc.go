// Package provisioner provisions the volumes of a living cluster: a default StorageClass, and PersistentVolumes for the
// claims that use it, as an external provisioner does.
//
// Kubernetes' volume binder annotates a claim with the provisioner that must act, and, if the volume binding mode is
// WaitForFirstConsumer, with the node that the scheduler has chosen. The provisioner then creates a volume for the
// claim, and the binder binds the two. A released volume whose reclaim policy is Delete is deleted.
//
// One goroutine follows claims and volumes by shared informers. It waits for changes, and for the next retry of a claim.
package provisioner
