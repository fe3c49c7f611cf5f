package node

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/workloads/internal/files"
)

// hostsFile is a file of each node.
const hostsFile = "etc/hosts"

// files returns the files of the node, which volumes of the type hostPath show.
func (n *node) files() *files.Tree {
	tree := n.agent.volumes.of("host/" + n.name)
	if _, err := fs.Stat(tree, hostsFile); err != nil && !n.hasFiles {
		if err := tree.Write(hostsFile, files.File{Data: []byte(n.hosts()), Mode: 0o644}); err != nil {
			n.agent.config.Report(fmt.Errorf("the files of node %s: %w", n.name, err))
		}
	}
	n.hasFiles = true
	return tree
}

// hosts returns /etc/hosts of the node as it is at first, as of a node of kind.
func (n *node) hosts() string {
	return "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\nfe00::\tip6-localnet\nff00::\tip6-mcastprefix\n" +
		"ff02::1\tip6-allnodes\nff02::2\tip6-allrouters\n" + n.ip + "\t" + n.name + "\n"
}

// inTree returns the name of an absolute path in a tree.
func inTree(at string) string {
	if at = strings.Trim(path.Clean("/"+at), "/"); at == "" {
		return "."
	}
	return at
}

// hostPath returns the files of the node, in which there is what the volume shows. A directory of the type Directory need not exist: a node
// does not have those of a machine.
func (n *node) hostPath(v *corev1.HostPathVolumeSource) (*files.Tree, error) {
	tree, at := n.files(), inTree(v.Path)
	wanted := ptr.Deref(v.Type, corev1.HostPathUnset)
	isFile := wanted == corev1.HostPathFile || wanted == corev1.HostPathFileOrCreate
	info, err := fs.Stat(tree, at)
	switch {
	case err != nil && wanted == corev1.HostPathFileOrCreate:
		return tree, tree.Write(at, files.File{Mode: 0o644})
	case err != nil && isFile:
		return nil, fmt.Errorf("hostPath type check failed, %s is not a file, unable to determine its type: path %q does not exist", v.Path, v.Path)
	case err != nil:
		return tree, tree.Mkdir(at)
	case isFile && info.IsDir():
		return nil, fmt.Errorf("hostPath type check failed: %s is not a file, it's a Directory", v.Path)
	case !info.IsDir() && (wanted == corev1.HostPathDirectory || wanted == corev1.HostPathDirectoryOrCreate):
		return nil, fmt.Errorf("hostPath type check failed: %s is not a directory, it's a File", v.Path)
	}
	return tree, nil
}
