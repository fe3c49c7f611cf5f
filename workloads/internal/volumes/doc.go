// Package volumes mounts the volumes of pods, as the volume manager of a kubelet does: it checks claims, waits for attachments, writes the files that
// come from the API, and keeps them up to date. Files are trees in memory (package files).
//
// A [Node] has what the pods of a node share: its own files, which volumes of the type hostPath show, and the sources of volumes. A [Pod] has the
// volumes of one pod: what is mounted, its tokens and certificates, and how much of the disk it uses. A [Store] has the volumes that outlive pods.
//
// Only a pod into which something looks has contents: one that runs code, or whose containers a client has looked into. For others, a mount checks
// that everything exists.
//
// Nothing here starts a container or writes the status of a pod. The pod asks: [Pod.Mount] until it is true, [Pod.Mounts] for each container, and
// [Pod.Next] for the time at which to ask again.
package volumes
