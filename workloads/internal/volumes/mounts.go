package volumes

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	crierrors "k8s.io/cri-api/pkg/errors"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"

	"github.com/fakecluster/fakecluster/workloads/internal/files"
)

// Mounts returns the mounts of a container. It creates missing subPaths. env has the variables of the container.
func (p *Pod) Mounts(spec *corev1.Container, env map[string]string) ([]files.Mount, error) {
	var mounts []files.Mount
	for i := range spec.VolumeMounts {
		m := &spec.VolumeMounts[i]
		tree := p.volumes[m.Name]
		if tree == nil {
			return nil, fmt.Errorf("cannot find volume %q to mount into container %q", m.Name, spec.Name)
		}
		below, err := SubPath(m, env)
		if err != nil {
			return nil, err
		}
		top := p.hostPathOf(m.Name)
		if top != "" {
			if top, err = tree.Follow(top); err != nil {
				return nil, err
			}
		}
		below = path.Join(top, below)
		content, fromAPI := p.payloads[m.Name]
		image := p.isImage(m.Name)
		mount := files.Mount{Path: m.MountPath, Tree: tree, SubPath: below, ReadOnly: m.ReadOnly || fromAPI || image}
		if fromAPI && below != "" {
			// A subPath does not change after the start of the container.
			if mount, err = p.snapshot(mount, p.filesOf(content, path.Clean(below))); err != nil {
				return nil, err
			}
		} else if image && below != "" {
			if _, err := fs.Stat(tree, path.Clean(below)); err != nil {
				return nil, fmt.Errorf("%w: the image of volume %q has no %s", crierrors.ErrImageVolumeMountFailed, m.Name, below)
			}
		} else if below != "" {
			if err := makePart(tree, top, below); err != nil {
				return nil, fmt.Errorf("failed to create subPath directory for volumeMount %q of container %q", m.Name, spec.Name)
			}
		}
		mounts = append(mounts, mount)
	}
	return mounts, nil
}

// isImage reports whether a volume is an image.
func (p *Pod) isImage(volume string) bool {
	return slices.ContainsFunc(p.api.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == volume && v.Image != nil })
}

// hostPathOf returns the path in the files of the node that a volume shows; empty: it is of another type.
func (p *Pod) hostPathOf(volume string) string {
	for _, v := range p.api.Spec.Volumes {
		if v.Name == volume && v.HostPath != nil {
			return InTree(v.HostPath.Path)
		}
	}
	if bound := p.bound[volume]; showsNode(bound) {
		return InTree(bound.Spec.HostPath.Path)
	}
	return ""
}

// SubPath returns the mounted subPath of a volume.
func SubPath(m *corev1.VolumeMount, env map[string]string) (string, error) {
	below := m.SubPath
	if m.SubPathExpr != "" {
		var variables []kubecontainer.EnvVar
		for name, value := range env {
			variables = append(variables, kubecontainer.EnvVar{Name: name, Value: value})
		}
		var err error
		if below, err = kubecontainer.ExpandContainerVolumeMounts(*m, variables); err != nil {
			return "", err
		}
	}
	switch {
	case path.IsAbs(below):
		return "", fmt.Errorf("error SubPath `%s` must not be an absolute path", below)
	case slices.Contains(strings.Split(below, "/"), ".."):
		return "", fmt.Errorf("unable to provision SubPath `%s`: must not contain '..'", below)
	}
	return below, nil
}

// snapshot mounts files that do not change: a folder or a file of a volume.
func (p *Pod) snapshot(m files.Mount, content map[string]files.File) (files.Mount, error) {
	m.Tree, m.SubPath = p.newTree(), ""
	if file, ok := content["."]; ok {
		m.SubPath = path.Base(m.Path)
		return m, m.Tree.Write(m.SubPath, file)
	}
	return m, m.Tree.Replace(content)
}

// makePart creates the folder of a subPath, unless it exists. It and its parents have the mode of the volume, whose path
// is top.
func makePart(tree *files.Tree, top, below string) error {
	top, below = path.Clean(top), path.Clean(below)
	if _, err := fs.Stat(tree, below); err == nil {
		return nil
	}
	volume, err := fs.Stat(tree, top)
	if err != nil {
		return err
	}
	var missing []string
	for name := below; name != "." && name != top; name = path.Dir(name) {
		if _, err := fs.Stat(tree, name); err != nil {
			missing = append(missing, name)
		}
	}
	if err := tree.Mkdir(below); err != nil {
		return err
	}
	for _, name := range missing {
		if err := tree.Chmod(name, volume.Mode()); err != nil {
			return err
		}
	}
	return nil
}
