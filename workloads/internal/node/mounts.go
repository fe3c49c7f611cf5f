package node

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	crierrors "k8s.io/cri-api/pkg/errors"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/kubelet/util"
	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/workloads/internal/cgroup"
	"github.com/fakecluster/fakecluster/workloads/internal/files"
)

// root returns the files that a container sees: its own, and the volumes that it mounts.
func (p *pod) root(spec *corev1.Container, env environment, group *cgroup.Group) (*files.Root, error) {
	var mounts []files.Mount
	for i := range spec.VolumeMounts {
		m := &spec.VolumeMounts[i]
		tree := p.volumes[m.Name]
		if tree == nil {
			return nil, fmt.Errorf("cannot find volume %q to mount into container %q", m.Name, spec.Name)
		}
		below, err := subPath(m, env)
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
			// A part of a volume stays as it is when the container starts.
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
	tree, kernel := group.Mounts()
	p.trees = append(p.trees, tree)
	own := p.node.agent.config.Programs.FilesOf(spec.Image)
	root, err := files.NewRoot(own, append(mounts, kernel...))
	if err != nil {
		return nil, err
	}
	kernelName, _ := p.kernelName() // the sandbox has it
	for name, text := range map[string]string{
		"/etc/hosts": p.hosts(), "/etc/hostname": kernelName + "\n", "/etc/resolv.conf": resolvConf(p.sandbox.dns), spec.TerminationMessagePath: "",
	} {
		if name == "" || slices.ContainsFunc(spec.VolumeMounts, func(m corev1.VolumeMount) bool { return path.Clean(m.MountPath) == name }) {
			continue
		}
		if err := root.WriteFile(name, []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	if err := p.measure(spec, own); err != nil {
		return nil, err
	}
	root.RunAs(identityOf(p.api, spec))
	if spec.SecurityContext != nil && spec.SecurityContext.ReadOnlyRootFilesystem != nil && *spec.SecurityContext.ReadOnlyRootFilesystem {
		root.Protect()
	}
	return root, nil
}

// isImage reports whether a volume is an image.
func (p *pod) isImage(volume string) bool {
	return slices.ContainsFunc(p.api.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == volume && v.Image != nil })
}

// hostPathOf returns the part of the files of the node that a volume shows; empty: it is of another type.
func (p *pod) hostPathOf(volume string) string {
	for _, v := range p.api.Spec.Volumes {
		if v.Name == volume && v.HostPath != nil {
			return inTree(v.HostPath.Path)
		}
	}
	if bound := p.bound[volume]; showsNode(bound) {
		return inTree(bound.Spec.HostPath.Path)
	}
	return ""
}

// subPath returns the part of a volume that is mounted.
func subPath(m *corev1.VolumeMount, env environment) (string, error) {
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

// snapshot mounts files that do not change: a folder of a volume, or one file.
func (p *pod) snapshot(m files.Mount, content map[string]files.File) (files.Mount, error) {
	m.Tree, m.SubPath = p.newTree(), ""
	if file, ok := content["."]; ok {
		m.SubPath = path.Base(m.Path)
		return m, m.Tree.Write(m.SubPath, file)
	}
	return m, m.Tree.Replace(content)
}

// makePart makes the folder that a container mounts of a volume, unless there is something. It and those that it lies in have the mode of the volume,
// which is at the top.
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

// hostname returns the name that the containers of the pod have as a host.
func (p *pod) hostname() string {
	name := p.api.Name
	if p.api.Spec.Hostname != "" {
		name = p.api.Spec.Hostname
	}
	if p.api.Spec.HostnameOverride != nil {
		name = *p.api.Spec.HostnameOverride
	} else if p.api.Spec.HostNetwork {
		name = p.node.name
	}
	if len(name) > 63 {
		name = strings.TrimRight(name[:63], "-.")
	}
	return name
}

// domain returns what follows the hostname of the pod in its full name, if it has one.
func (p *pod) domain() string {
	if p.api.Spec.Subdomain == "" || p.api.Spec.HostnameOverride != nil {
		return ""
	}
	return fmt.Sprintf("%s.%s.svc.%s", p.api.Spec.Subdomain, p.api.Namespace, clusterDomain)
}

// kernelName returns the name that the kernel has for the containers of the pod: with setHostnameAsFQDN the full name, which may be too long.
func (p *pod) kernelName() (string, error) {
	if kubecontainer.IsHostNetworkPod(p.api) {
		return p.hostname(), nil
	}
	name, err := util.GetNodenameForKernel(p.hostname(), p.domain(), p.api.Spec.SetHostnameAsFQDN)
	if err != nil {
		return p.hostname(), err
	}
	return name, nil
}

// hosts returns /etc/hosts, which is that of the node in its network.
func (p *pod) hosts() string {
	var b bytes.Buffer
	if kubecontainer.IsHostNetworkPod(p.api) {
		b.WriteString("# Kubernetes-managed hosts file (host network).\n")
		own, _ := fs.ReadFile(p.node.files(), hostsFile) // a pod may have removed it
		b.Write(own)
	} else {
		b.WriteString("# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n" +
			"fe00::0\tip6-localnet\nfe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n")
		name := p.hostname()
		if domain := p.domain(); domain != "" {
			name = fmt.Sprintf("%s.%s\t%s", name, domain, name)
		}
		for _, ip := range p.ips {
			fmt.Fprintf(&b, "%s\t%s\n", ip, name)
		}
	}
	if len(p.api.Spec.HostAliases) > 0 {
		b.WriteString("\n# Entries added by HostAliases.\n")
		for _, alias := range p.api.Spec.HostAliases {
			fmt.Fprintf(&b, "%s\t%s\n", alias.IP, strings.Join(alias.Hostnames, "\t"))
		}
	}
	return b.String()
}

// trustAnchors returns the certificates of a ClusterTrustBundle, or of all bundles of a signer, each once.
func (p *pod) trustAnchors(ctx context.Context, s *corev1.ClusterTrustBundleProjection) ([]byte, error) {
	bundles := p.node.client.CertificatesV1().ClusterTrustBundles()
	optional := ptr.Deref(s.Optional, false)
	var found []certificatesv1.ClusterTrustBundle
	switch {
	case s.Name != nil:
		bundle, err := bundles.Get(ctx, *s.Name, metav1.GetOptions{})
		if err = plain(err, "clustertrustbundle.certificates.k8s.io", *s.Name); isMissing(err) && optional {
			return []byte{}, nil
		} else if err != nil {
			return nil, fmt.Errorf("while getting ClusterTrustBundle: %w", err)
		}
		found = append(found, *bundle)
	case s.SignerName != nil:
		selector, err := metav1.LabelSelectorAsSelector(s.LabelSelector)
		if err != nil {
			return nil, fmt.Errorf("while parsing label selector: %w", err)
		}
		if s.LabelSelector == nil {
			break // it selects nothing
		}
		list, err := bundles.List(ctx, metav1.ListOptions{LabelSelector: selector.String(), FieldSelector: "spec.signerName=" + *s.SignerName})
		if err != nil {
			return nil, fmt.Errorf("while listing ClusterTrustBundles matching label selector %v: %w", s.LabelSelector, err)
		}
		found = list.Items
	default:
		return nil, fmt.Errorf("ClusterTrustBundle projection requires either name or signerName to be set")
	}
	if len(found) == 0 && !optional {
		return nil, fmt.Errorf("combination of signerName and labelSelector matched zero ClusterTrustBundles")
	}
	anchors := sets.Set[string]{}
	for i := range found {
		for block, rest := pem.Decode([]byte(found[i].Spec.TrustBundle)); block != nil; block, rest = pem.Decode(rest) {
			anchors.Insert(string(block.Bytes))
		}
	}
	content := []byte{}
	for _, anchor := range sets.List(anchors) {
		content = append(content, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte(anchor)})...)
	}
	return content, nil
}

// sources returns what the files of the pod's volumes come from, as "configmap/name", "secret/name" and "trustbundle".
func sources(pod *corev1.Pod) []string {
	found := sets.Set[string]{}
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.ConfigMap != nil {
			found.Insert("configmap/" + v.ConfigMap.Name)
		}
		if v.Secret != nil {
			found.Insert("secret/" + v.Secret.SecretName)
		}
		if v.Projected == nil {
			continue
		}
		for _, s := range v.Projected.Sources {
			switch {
			case s.ConfigMap != nil:
				found.Insert("configmap/" + s.ConfigMap.Name)
			case s.Secret != nil:
				found.Insert("secret/" + s.Secret.Name)
			case s.ClusterTrustBundle != nil:
				found.Insert("trustbundle")
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}
