package volumes

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/workloads/internal/files"
)

// HostsFile is a file of each node.
const HostsFile = "etc/hosts"

// Files returns the files of the node, which volumes of the type hostPath show.
func (n *Node) Files() *files.Tree {
	tree := n.config.Store.tree("host/" + n.config.Spec.Name)
	if _, err := fs.Stat(tree, HostsFile); err != nil && !n.hasFiles {
		if err := tree.Write(HostsFile, files.File{Data: []byte(n.hosts()), Mode: 0o644}); err != nil {
			n.config.Report(fmt.Errorf("the files of node %s: %w", n.config.Spec.Name, err))
		}
		if err := errors.Join(tree.Mkdir("tmp"), tree.Chmod("tmp", 0o777|fs.ModeSticky)); err != nil {
			n.config.Report(fmt.Errorf("the folder /tmp of node %s: %w", n.config.Spec.Name, err))
		}
	}
	n.hasFiles = true
	return tree
}

// hosts returns the initial /etc/hosts of the node, as on a node of kind.
func (n *Node) hosts() string {
	return "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\nfe00::\tip6-localnet\nff00::\tip6-mcastprefix\n" +
		"ff02::1\tip6-allnodes\nff02::2\tip6-allrouters\n" + n.config.IP + "\t" + n.config.Spec.Name + "\n"
}

// InTree returns the name in a tree of an absolute path.
func InTree(name string) string {
	if name = strings.Trim(path.Clean("/"+name), "/"); name == "" {
		return "."
	}
	return name
}

// hostPath returns the files of the node, in which the path of the volume exists: it existed before, each machine has
// it, or hostPath creates it by the type of the volume.
func (n *Node) hostPath(v *corev1.HostPathVolumeSource) (*files.Tree, error) {
	tree, name := n.Files(), InTree(v.Path)
	if followed, err := tree.Follow(name); err == nil {
		name = followed
	}
	wanted := ptr.Deref(v.Type, corev1.HostPathUnset)
	found, exists := hostPathType(tree, name)
	if !exists {
		switch wanted {
		case corev1.HostPathUnset, corev1.HostPathDirectoryOrCreate:
			return tree, tree.Mkdir(name)
		case corev1.HostPathFileOrCreate:
			if _, exists := hostPathType(tree, path.Dir(name)); !exists {
				return nil, fmt.Errorf("open %s: no such file or directory", v.Path)
			}
			return tree, tree.Write(name, files.File{Mode: 0o644})
		}
		return nil, fmt.Errorf("hostPath type check failed, %s is not a %s, unable to determine its type: path %q does not exist",
			v.Path, hostPathNames[wanted], v.Path)
	}
	if want, ok := map[corev1.HostPathType]corev1.HostPathType{
		corev1.HostPathDirectoryOrCreate: corev1.HostPathDirectory, corev1.HostPathFileOrCreate: corev1.HostPathFile,
	}[wanted]; ok {
		wanted = want
	}
	if wanted != corev1.HostPathUnset && wanted != found {
		return nil, fmt.Errorf("hostPath type check failed: %s is not a %s, it's a %s", v.Path, hostPathNames[wanted], found)
	}
	if _, err := fs.Stat(tree, name); err == nil {
		return tree, nil
	}
	if found == corev1.HostPathDirectory {
		return tree, tree.Mkdir(name)
	}
	return tree, tree.Write(name, files.File{Mode: 0o644}) // a tree in memory has neither sockets nor devices
}

// hostPathNames are a kubelet's names of the types of hostPath volumes.
var hostPathNames = map[corev1.HostPathType]string{
	corev1.HostPathDirectory: "directory", corev1.HostPathFile: "file", corev1.HostPathSocket: "socket file",
	corev1.HostPathCharDev: "character device", corev1.HostPathBlockDev: "block device",
}

// hostPathType returns the type of a path of a node, and whether it exists.
func hostPathType(tree *files.Tree, name string) (corev1.HostPathType, bool) {
	machine, known := onMachine(name)
	if known && machine != corev1.HostPathDirectory {
		return machine, true // in the tree it is an empty file
	}
	info, err := fs.Stat(tree, name)
	if err != nil {
		return machine, known
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		return corev1.HostPathDirectory, true
	case mode&fs.ModeSocket != 0:
		return corev1.HostPathSocket, true
	case mode&fs.ModeCharDevice != 0:
		return corev1.HostPathCharDev, true
	case mode&fs.ModeDevice != 0:
		return corev1.HostPathBlockDev, true
	}
	return corev1.HostPathFile, true
}
