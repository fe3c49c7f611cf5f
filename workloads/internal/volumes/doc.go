// Package volumes mounts the volumes of pods, as the volume manager of a kubelet does: it checks claims, waits for
// attachments, and writes and updates the files that come from the API. Files are trees in memory (package files).
//
// A [Node] has the state that the pods of a node share: its own files, which volumes of the type hostPath show, and the
// sources of volumes. A [Pod] has the volumes of one pod, its tokens and certificates, and its use of disk space. A
// [Store] has the volumes that outlive pods.
//
// Volumes have contents only if something may read them: the pod runs code, or a client has looked into its containers.
// For other pods, a mount only checks that everything exists.
//
// This package neither starts containers nor writes statuses. The caller calls [Pod.Mount] until it returns true,
// [Pod.Mounts] for each container, and [Pod.Next] for the time of the next call.
package volumes
