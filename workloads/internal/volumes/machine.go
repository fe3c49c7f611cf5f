package volumes

import (
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// machineFiles are files of a node of kind that manifests mount with a type. Directories are in machineFolders.
var machineFiles = map[corev1.HostPathType][]string{
	corev1.HostPathFile: {
		"etc/containerd/config.toml", "etc/group", "etc/hostname", "etc/localtime", "etc/machine-id", "etc/os-release", "etc/passwd",
		"etc/resolv.conf", "etc/ssl/certs/ca-certificates.crt", "usr/lib/os-release", "var/lib/kubelet/config.yaml",
	},
	corev1.HostPathSocket: {
		"run/containerd/containerd.sock", "var/lib/kubelet/device-plugins/kubelet.sock", "var/lib/kubelet/pod-resources/kubelet.sock",
	},
	corev1.HostPathCharDev: {"dev/full", "dev/fuse", "dev/null", "dev/random", "dev/tty", "dev/urandom", "dev/zero"},
}

// machineFolders are directories of a node. Their parents exist as well.
var machineFolders = []string{
	"boot", "dev/shm", "etc/cni/net.d", "etc/containerd", "etc/kubernetes/manifests", "etc/ssl/certs", "etc/systemd/system", "home", "lib64", "media",
	"mnt", "opt/cni/bin", "root", "run/containerd", "run/lock", "run/systemd/system", "run/udev", "srv", "tmp", "usr/bin", "usr/local/bin", "usr/local/share/ca-certificates",
	"usr/sbin", "usr/share/ca-certificates", "var/cache", "var/lib/cni", "var/lib/containerd", "var/lib/kubelet/device-plugins", "var/lib/kubelet/pki",
	"var/lib/kubelet/plugins", "var/lib/kubelet/plugins_registry", "var/lib/kubelet/pod-resources", "var/lib/kubelet/pods", "var/local-path-provisioner",
	"var/log/containers", "var/log/pods", "var/tmp",
}

// kernelFolders are directories of the kernel with unknown content: every path below them counts as a directory.
var kernelFolders = []string{"proc", "sys", "usr/lib/modules", "usr/src"}

// machineLinks are symbolic links of a node.
var machineLinks = [][2]string{{"var/run", "run"}, {"var/lock", "run/lock"}, {"lib", "usr/lib"}, {"bin", "usr/bin"}, {"sbin", "usr/sbin"}}

// machineTypes has the types of machineFiles and machineFolders, by path.
var machineTypes = func() map[string]corev1.HostPathType {
	types := map[string]corev1.HostPathType{".": corev1.HostPathDirectory}
	add := func(name string, kind corev1.HostPathType) {
		for types[name] = kind; name != "."; {
			name = path.Dir(name)
			types[name] = corev1.HostPathDirectory
		}
	}
	for kind, names := range machineFiles {
		for _, name := range names {
			add(name, kind)
		}
	}
	for _, name := range append(machineFolders, kernelFolders...) {
		add(name, corev1.HostPathDirectory)
	}
	return types
}()

// onMachine returns the type of a path on a new node, and whether it exists.
func onMachine(name string) (corev1.HostPathType, bool) {
	for _, link := range machineLinks {
		if rest, ok := strings.CutPrefix(name+"/", link[0]+"/"); ok {
			name = strings.TrimSuffix(link[1]+"/"+rest, "/")
			break
		}
	}
	if kind, ok := machineTypes[name]; ok {
		return kind, true
	}
	for _, folder := range kernelFolders {
		if strings.HasPrefix(name, folder+"/") {
			return corev1.HostPathDirectory, true
		}
	}
	return "", false
}
