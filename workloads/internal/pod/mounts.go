package pod

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/kubelet/util"

	"github.com/fakecluster/fakecluster/workloads/internal/cgroup"
	"github.com/fakecluster/fakecluster/workloads/internal/files"
	"github.com/fakecluster/fakecluster/workloads/internal/volumes"
)

// root returns the files of a container: its own, and its mounted volumes.
func (p *Pod) root(spec *corev1.Container, env environment, group *cgroup.Group) (*files.Root, error) {
	mounts, err := p.volumes.Mounts(spec, env)
	if err != nil {
		return nil, err
	}
	tree, kernel := group.Mounts()
	p.volumes.AddTree(tree)
	own := p.node.config.Programs.FilesOf(spec.Image)
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
	if err := p.volumes.Measure(spec, own); err != nil {
		return nil, err
	}
	root.RunAs(identityOf(p.api, spec))
	if spec.SecurityContext != nil && spec.SecurityContext.ReadOnlyRootFilesystem != nil && *spec.SecurityContext.ReadOnlyRootFilesystem {
		root.Protect()
	}
	return root, nil
}

// hostname returns the hostname of the pod's containers.
func (p *Pod) hostname() string {
	name := p.api.Name
	if p.api.Spec.Hostname != "" {
		name = p.api.Spec.Hostname
	}
	if p.api.Spec.HostnameOverride != nil {
		name = *p.api.Spec.HostnameOverride
	} else if p.api.Spec.HostNetwork {
		name = p.node.config.Spec.Name
	}
	if len(name) > 63 {
		name = strings.TrimRight(name[:63], "-.")
	}
	return name
}

// domain returns the part after the hostname in the pod's full name; "" if it has none.
func (p *Pod) domain() string {
	if p.api.Spec.Subdomain == "" || p.api.Spec.HostnameOverride != nil {
		return ""
	}
	return fmt.Sprintf("%s.%s.svc.%s", p.api.Spec.Subdomain, p.api.Namespace, clusterDomain)
}

// kernelName returns the hostname of the kernel for the pod's containers. With setHostnameAsFQDN it is the full name,
// which may be too long.
func (p *Pod) kernelName() (string, error) {
	if kubecontainer.IsHostNetworkPod(p.api) {
		return p.hostname(), nil
	}
	name, err := util.GetNodenameForKernel(p.hostname(), p.domain(), p.api.Spec.SetHostnameAsFQDN)
	if err != nil {
		return p.hostname(), err
	}
	return name, nil
}

// hosts returns the content of /etc/hosts, which in the host network is that of the node.
func (p *Pod) hosts() string {
	var b bytes.Buffer
	if kubecontainer.IsHostNetworkPod(p.api) {
		b.WriteString("# Kubernetes-managed hosts file (host network).\n")
		own, _ := fs.ReadFile(p.node.config.Volumes.Files(), volumes.HostsFile) // a pod may have removed it
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
