package kubeadm

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fakecluster/fakecluster/internal/release"
)

// The versions of images that kubeadm chooses for the release.
const (
	etcdVersion    = "3.7.0-0"
	coreDNSVersion = "v1.14.6"
)

const (
	certificates = "/etc/kubernetes/pki"
	serverPort   = "6443"
)

// image returns an image of the release.
func image(name string) string { return "registry.k8s.io/" + name + ":" + release.Info().GitVersion }

// component is a program of the control plane.
type component struct {
	name, image string
	args        map[string]string
	annotations map[string]string
	cpu, memory string
	port        int32
	host        string // of the probes
	scheme      corev1.URIScheme
	// The paths of the probes; empty: there is no such probe.
	liveness, readiness, startup string
	volumes                      []volume
}

// volume is a path of the node.
type volume struct {
	name, path string
	file       bool
	writable   bool
}

// authorities are the folders with certificates of authorities on a node of kind.
var authorities = []volume{
	{name: "ca-certs", path: "/etc/ssl/certs"},
	{name: "etc-ca-certificates", path: "/etc/ca-certificates"},
	{name: "usr-local-share-ca-certificates", path: "/usr/local/share/ca-certificates"},
	{name: "usr-share-ca-certificates", path: "/usr/share/ca-certificates"},
}

// StaticPods returns the static pods of a node of the control plane, as in the manifest files of its kubelet. The node
// must have an address. services is the range of the addresses of Services.
func StaticPods(node *corev1.Node, services string) []*corev1.Pod {
	ip := ""
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			ip = a.Address
		}
	}
	var pods []*corev1.Pod
	for _, c := range []component{etcd(node.Name, ip), apiServer(ip, services), controllerManager(services), scheduler()} {
		pods = append(pods, c.pod())
	}
	return pods
}

func etcd(node, ip string) component {
	client, peer := "https://"+ip+":2379", "https://"+ip+":2380"
	folder := certificates + "/etcd"
	return component{
		name: "etcd", image: "registry.k8s.io/etcd:" + etcdVersion,
		annotations: map[string]string{"kubeadm.kubernetes.io/etcd.advertise-client-urls": client},
		cpu:         "100m", memory: "100Mi", port: 2381, host: "127.0.0.1", scheme: corev1.URISchemeHTTP,
		liveness: "/livez", readiness: "/readyz", startup: "/readyz",
		args: map[string]string{
			"name": node, "data-dir": "/var/lib/etcd", "snapshot-count": "10000", "feature-gates": "InitialCorruptCheck=true", "watch-progress-notify-interval": "5s",
			"listen-client-urls": "https://127.0.0.1:2379," + client, "advertise-client-urls": client,
			"listen-peer-urls": peer, "initial-advertise-peer-urls": peer, "initial-cluster": node + "=" + peer, "listen-metrics-urls": "http://127.0.0.1:2381",
			"cert-file": folder + "/server.crt", "key-file": folder + "/server.key", "trusted-ca-file": folder + "/ca.crt", "client-cert-auth": "true",
			"peer-cert-file": folder + "/peer.crt", "peer-key-file": folder + "/peer.key", "peer-trusted-ca-file": folder + "/ca.crt", "peer-client-cert-auth": "true",
		},
		volumes: []volume{{name: "etcd-data", path: "/var/lib/etcd", writable: true}, {name: "etcd-certs", path: folder, writable: true}},
	}
}

func apiServer(ip, services string) component {
	return component{
		name: "kube-apiserver", image: image("kube-apiserver"),
		annotations: map[string]string{"kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint": ip + ":" + serverPort},
		cpu:         "250m", port: 6443, host: ip, scheme: corev1.URISchemeHTTPS,
		liveness: "/livez", readiness: "/readyz", startup: "/livez",
		args: map[string]string{
			"advertise-address": ip, "secure-port": serverPort, "allow-privileged": "true", "authorization-mode": "Node,RBAC", "enable-admission-plugins": "NodeRestriction",
			"enable-bootstrap-token-auth": "true", "service-cluster-ip-range": services, "kubelet-preferred-address-types": "InternalIP,ExternalIP,Hostname",
			"client-ca-file": certificates + "/ca.crt", "tls-cert-file": certificates + "/apiserver.crt", "tls-private-key-file": certificates + "/apiserver.key",
			"kubelet-client-certificate": certificates + "/apiserver-kubelet-client.crt", "kubelet-client-key": certificates + "/apiserver-kubelet-client.key",
			"proxy-client-cert-file": certificates + "/front-proxy-client.crt", "proxy-client-key-file": certificates + "/front-proxy-client.key",
			"etcd-servers": "https://127.0.0.1:2379", "etcd-cafile": certificates + "/etcd/ca.crt",
			"etcd-certfile": certificates + "/apiserver-etcd-client.crt", "etcd-keyfile": certificates + "/apiserver-etcd-client.key",
			"requestheader-allowed-names": "front-proxy-client", "requestheader-client-ca-file": certificates + "/front-proxy-ca.crt",
			"requestheader-extra-headers-prefix": "X-Remote-Extra-", "requestheader-group-headers": "X-Remote-Group", "requestheader-username-headers": "X-Remote-User",
			"service-account-issuer": "https://kubernetes.default.svc.cluster.local", "service-account-key-file": certificates + "/sa.pub",
			"service-account-signing-key-file": certificates + "/sa.key",
		},
		volumes: sorted(append([]volume{{name: "k8s-certs", path: certificates}}, authorities...)),
	}
}

func controllerManager(services string) component {
	config := "/etc/kubernetes/controller-manager.conf"
	return component{
		name: "kube-controller-manager", image: image("kube-controller-manager"),
		cpu: "200m", port: 10257, host: "127.0.0.1", scheme: corev1.URISchemeHTTPS,
		liveness: "/healthz", startup: "/healthz",
		args: map[string]string{
			"allocate-node-cidrs": "true", "authentication-kubeconfig": config, "authorization-kubeconfig": config, "bind-address": "127.0.0.1",
			"client-ca-file": certificates + "/ca.crt", "cluster-cidr": podRange, "cluster-name": clusterName, "cluster-signing-cert-file": certificates + "/ca.crt",
			"cluster-signing-key-file": certificates + "/ca.key", "controllers": "*,bootstrapsigner,tokencleaner", "kubeconfig": config, "leader-elect": "true",
			"requestheader-client-ca-file": certificates + "/front-proxy-ca.crt", "root-ca-file": certificates + "/ca.crt",
			"service-account-private-key-file": certificates + "/sa.key", "service-cluster-ip-range": services, "use-service-account-credentials": "true",
		},
		volumes: sorted(append([]volume{{name: "k8s-certs", path: certificates}, {name: "kubeconfig", path: config, file: true}}, authorities...)),
	}
}

func scheduler() component {
	config := "/etc/kubernetes/scheduler.conf"
	return component{
		name: "kube-scheduler", image: image("kube-scheduler"),
		cpu: "100m", port: 10259, host: "127.0.0.1", scheme: corev1.URISchemeHTTPS,
		liveness: "/livez", readiness: "/readyz", startup: "/livez",
		args: map[string]string{
			"authentication-kubeconfig": config, "authorization-kubeconfig": config, "bind-address": "127.0.0.1", "kubeconfig": config, "leader-elect": "true",
		},
		volumes: []volume{{name: "kubeconfig", path: config, file: true}},
	}
}

func sorted(volumes []volume) []volume {
	slices.SortFunc(volumes, func(a, b volume) int { return strings.Compare(a.name, b.name) })
	return volumes
}

// pod returns the static pod of a component.
func (c component) pod() *corev1.Pod {
	command := []string{c.name}
	for _, name := range slices.Sorted(maps.Keys(c.args)) {
		command = append(command, "--"+name+"="+c.args[name])
	}
	requests := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(c.cpu)}
	if c.memory != "" {
		requests[corev1.ResourceMemory] = resource.MustParse(c.memory)
	}
	container := corev1.Container{
		Name: c.name, Image: c.image, ImagePullPolicy: corev1.PullIfNotPresent, Command: command,
		Resources: corev1.ResourceRequirements{Requests: requests},
		Ports:     []corev1.ContainerPort{{Name: probePort, ContainerPort: c.port, Protocol: corev1.ProtocolTCP}},
		// The periods and thresholds of kubeadm. A start may take four minutes.
		LivenessProbe: c.probe(c.liveness, 10, 10, 8), ReadinessProbe: c.probe(c.readiness, 0, 1, 3), StartupProbe: c.probe(c.startup, 10, 10, 24),
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceSystem, Name: c.name, Annotations: c.annotations,
			Labels: map[string]string{"component": c.name, "tier": "control-plane"},
		},
		Spec: corev1.PodSpec{
			PriorityClassName: "system-node-critical", Priority: new(int32(2000001000)), HostNetwork: true,
			SecurityContext: &corev1.PodSecurityContext{SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
		},
	}
	for _, v := range c.volumes {
		kind := corev1.HostPathDirectoryOrCreate
		if v.file {
			kind = corev1.HostPathFileOrCreate
		}
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: v.name, MountPath: v.path, ReadOnly: !v.writable})
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: v.name, VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: v.path, Type: &kind}}})
	}
	slices.SortFunc(pod.Spec.Volumes, func(a, b corev1.Volume) int { return strings.Compare(a.Name, b.Name) })
	pod.Spec.Containers = []corev1.Container{container}
	return pod
}

// probePort is the name of the port of probes.
const probePort = "probe-port"

// probe returns a probe of a component; nil without a path.
func (c component) probe(path string, initialDelay, period, failures int32) *corev1.Probe {
	if path == "" {
		return nil
	}
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Host: c.host, Path: path, Port: intstr.FromString(probePort), Scheme: c.scheme,
		}},
		InitialDelaySeconds: initialDelay, PeriodSeconds: period, TimeoutSeconds: 15, FailureThreshold: failures,
	}
}
