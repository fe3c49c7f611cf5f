package pod_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/workloads/internal/cri"
	"github.com/fakecluster/fakecluster/workloads/internal/node"
	"github.com/fakecluster/fakecluster/workloads/internal/node/nodetest"
)

// sandboxID matches what differs from attempt to attempt.
var sandboxID = regexp.MustCompile(`sandbox "[0-9a-f]{64}"`)

func sysctls(names ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.SecurityContext = &corev1.PodSecurityContext{}
		for _, name := range names {
			p.Spec.SecurityContext.Sysctls = append(p.Spec.SecurityContext.Sysctls, corev1.Sysctl{Name: name, Value: "1"})
		}
	}
}

// TestAKubeletRefusesPods proves that pods do not run, or are not ready, which a kubelet refuses, in its words.
func TestAKubeletRefusesPods(t *testing.T) {
	probed := func(kind cri.ProbeKind, handler corev1.ProbeHandler) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Containers[0].Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: 80}}
			probe := &corev1.Probe{ProbeHandler: handler, PeriodSeconds: 10}
			switch c := &p.Spec.Containers[0]; kind {
			case cri.Readiness:
				c.ReadinessProbe = probe
			case cri.Liveness:
				c.LivenessProbe = probe
			default:
				c.StartupProbe = probe
			}
		}
	}
	http := corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromString("htpt")}}
	const typeCheck = `Warning FailedMount: MountVolume.SetUp failed for volume "v" : hostPath type check failed`
	for _, test := range []struct {
		name  string
		pod   func(*corev1.Pod)
		want  string // as describe says
		event string
	}{
		{"a sysctl that is not safe", sysctls("net.ipv4.tcp_syncookies", "kernel.msgmax"), "Failed(SysctlForbidden)",
			`Warning SysctlForbidden: forbidden sysctl: "kernel.msgmax" not allowlisted`},
		{"safe sysctls", sysctls("net.ipv4.tcp_syncookies", "kernel/shm_rmid_forced"), "Running Ready=True c=running", ""},
		{"a readiness probe of a port that does not exist", probed(cri.Readiness, http), "Running Ready=False c=running",
			`Warning Unhealthy: Readiness probe errored and resulted in unknown state: port "htpt" not found (x3)`},
		{"a startup probe of a port that does not exist", probed(cri.Startup, corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString("tcp")}}),
			"Running Ready=False c=running", `Warning Unhealthy: Startup probe errored and resulted in unknown state: port "tcp" not found`},
		{"a liveness probe of a port that does not exist is ignored", probed(cri.Liveness, http), "Running Ready=True c=running",
			`Warning Unhealthy: Liveness probe errored and resulted in unknown state: port "htpt" not found`},
		{"a Secret for images that are pulled without it", func(p *corev1.Pod) {
			p.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "none"}}
		}, "Running Ready=True c=running", ""},
		{"missing Secrets for an image that cannot be pulled", func(p *corev1.Pod) {
			p.Spec.Containers[0].Image = "private:1"
			p.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "none"}, {Name: "there"}, {Name: "no"}}
		}, "Pending Ready=False c=ErrImagePull",
			"Warning FailedToRetrieveImagePullSecret: Unable to retrieve some image pull secrets (none, no); attempting to pull the image may not succeed. (x2)"},
		{"a socket that is absent", nodetest.HostPath("/var/run/docker.sock", corev1.HostPathSocket), "Pending Ready=False c=ContainerCreating",
			typeCheck + `, /var/run/docker.sock is not a socket file, unable to determine its type: path "/var/run/docker.sock" does not exist (x5)`},
		{"a socket of each node", nodetest.HostPath("/var/run/containerd/containerd.sock", corev1.HostPathSocket), "Running Ready=True c=running", ""},
		{"a directory that is a socket", nodetest.HostPath("/run/containerd/containerd.sock", corev1.HostPathDirectory), "Pending Ready=False c=ContainerCreating",
			typeCheck + `: /run/containerd/containerd.sock is not a directory, it's a Socket (x5)`},
		{"a directory that is absent", nodetest.HostPath("/data", corev1.HostPathDirectory), "Pending Ready=False c=ContainerCreating",
			typeCheck + `, /data is not a directory, unable to determine its type: path "/data" does not exist (x5)`},
		{"directories of each node", func(p *corev1.Pod) {
			nodetest.HostPath("/var/lib/kubelet", corev1.HostPathDirectory)(p)
			for i, path := range []string{"/", "/lib/modules/6.12.0", "/sys/fs/cgroup", "/var/log/pods"} {
				p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: string(rune('a' + i)), VolumeSource: corev1.VolumeSource{
					HostPath: &corev1.HostPathVolumeSource{Path: path, Type: ptr.To(corev1.HostPathDirectory)},
				}})
				p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: string(rune('a' + i)), MountPath: path})
			}
		}, "Running Ready=True c=running", ""},
		{"a character device that is absent", nodetest.HostPath("/dev/nvidia0", corev1.HostPathCharDev), "Pending Ready=False c=ContainerCreating",
			typeCheck + `, /dev/nvidia0 is not a character device, unable to determine its type: path "/dev/nvidia0" does not exist (x5)`},
		{"a block device that is a character device", nodetest.HostPath("/dev/null", corev1.HostPathBlockDev), "Pending Ready=False c=ContainerCreating",
			typeCheck + `: /dev/null is not a block device, it's a CharDevice (x5)`},
		{"a file that lies in nothing", nodetest.HostPath("/data/file", corev1.HostPathFileOrCreate), "Pending Ready=False c=ContainerCreating",
			`Warning FailedMount: MountVolume.SetUp failed for volume "v" : open /data/file: no such file or directory (x5)`},
		{"a CSI driver that is not registered", nodetest.Volume(corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "secrets-store.csi.k8s.io"}}), "Pending Ready=False c=ContainerCreating",
			`Warning FailedMount: MountVolume.SetUp failed for volume "v" : kubernetes.io/csi: mounter.SetUpAt failed to get CSI client: driver name secrets-store.csi.k8s.io not found in the list of registered CSI drivers (x5)`},
		{"a claim that does not exist", nodetest.Claim("nope"), "Pending Ready=False c=ContainerCreating",
			`Warning FailedMount: Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[], failed to process volumes=[v]: error processing PVC default/nope: failed to fetch PVC from API server: persistentvolumeclaims "nope" not found (x2)`},
		{"a claim that is not bound", nodetest.Claim("unbound"), "Pending Ready=False c=ContainerCreating",
			`Warning FailedMount: Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[], failed to process volumes=[v]: error processing PVC default/unbound: PVC is not bound (x2)`},
		{"a claim that no container mounts", func(p *corev1.Pod) { nodetest.Claim("nope")(p); p.Spec.Containers[0].VolumeMounts = nil }, "Running Ready=True c=running", ""},
		{"a ConfigMap that does not exist and that no container mounts", func(p *corev1.Pod) {
			nodetest.Volume(corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "none"}}})(p)
			p.Spec.Containers[0].VolumeMounts = nil
		}, "Running Ready=True c=running", ""},
		{"huge pages without a request", nodetest.Volume(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumHugePages}}), "Pending Ready=False c=ContainerCreating",
			`Warning FailedMount: MountVolume.SetUp failed for volume "v" : medium HugePages: hugePages storage requested, but there is no resource request for huge pages (x5)`},
		{"a full name that is too long", func(p *corev1.Pod) {
			p.Spec.Subdomain, p.Spec.SetHostnameAsFQDN = strings.Repeat("s", 37), ptr.To(true)
		}, "Pending Ready=False c=ContainerCreating", "Warning FailedCreatePodSandBox: Failed to create pod sandbox: failed to construct FQDN from pod hostname and cluster domain, FQDN p." +
			strings.Repeat("s", 37) + ".default.svc.cluster.local is too long (64 characters is the max, 65 characters requested) (x2)"},
		{"a RuntimeClass whose handler the node does not have", nodetest.RuntimeClass("kata"), "Pending Ready=False c=ContainerCreating",
			`Warning FailedCreatePodSandBox: Failed to create pod sandbox: rpc error: code = Unknown desc = unable to get OCI runtime for sandbox "ID": no runtime for "kata" is configured`},
		{"a RuntimeClass whose handler each node has", nodetest.RuntimeClass("runc"), "Running Ready=True c=running", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := nodetest.New(t, node.Config{}, []cri.Behavior{{Image: "private", PullError: "pull access denied"}}...)
				w.PrepareRefusals()
				w.Create("p", test.pod)
				time.Sleep(12 * time.Second)
				if got := nodetest.Describe(w.Pod("p")); got != test.want {
					t.Errorf("got  %s\nwant %s", got, test.want)
				}
				var warnings []string
				for _, e := range w.Events("p") {
					if strings.HasPrefix(e, "Warning") {
						warnings = append(warnings, sandboxID.ReplaceAllString(e, `sandbox "ID"`))
					}
				}
				if test.event == "" && len(warnings) > 0 || test.event != "" && !slices.Contains(warnings, test.event) {
					t.Errorf("got  %s\nwant %s", strings.Join(warnings, "\n     "), test.event)
				}
			})
		})
	}
}

// TestTheDeadlineOfARejectedPod proves that a pod which its node has not taken shows its deadline when that is over, as under a kubelet.
func TestTheDeadlineOfARejectedPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := nodetest.New(t, node.Config{})
		w.Create("p", func(p *corev1.Pod) {
			p.Spec.NodeSelector = map[string]string{"disk": "ssd"}
			p.Spec.ActiveDeadlineSeconds = ptr.To(int64(10))
		})
		time.Sleep(5 * time.Second)
		if got, want := nodetest.Describe(w.Pod("p")), "Failed(NodeAffinity)"; got != want {
			t.Errorf("at first: got %s, want %s", got, want)
		}
		time.Sleep(10 * time.Second)
		if got, want := nodetest.Describe(w.Pod("p")), "Failed(DeadlineExceeded) Ready=False(PodFailed) c=ContainerStatusUnknown(137)"; got != want {
			t.Errorf("after its deadline: got %s, want %s", got, want)
		}
		want := []string{"Normal DeadlineExceeded: Pod was active on the node longer than the specified deadline"}
		if got := w.Events("p")[1:]; !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	})
}

// TestARefusedPodRunsWhenTheCauseIsGone proves that the node tries again what it has refused: a claim, a CSI driver and the files of the node.
func TestARefusedPodRunsWhenTheCauseIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := nodetest.New(t, node.Config{})
		w.Create("claim", nodetest.Claim("c"))
		w.Create("driver", nodetest.Volume(corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "csi.example.com"}}))
		w.Create("directory", nodetest.HostPath("/data/x", corev1.HostPathDirectory))
		time.Sleep(time.Minute)
		for _, name := range []string{"claim", "driver", "directory"} {
			if got, want := nodetest.Describe(w.Pod(name)), "Pending Ready=False c=ContainerCreating"; got != want {
				t.Errorf("%s: got %s, want %s", name, got, want)
			}
		}
		w.CreateVolume("c", corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/data/c"}})
		w.RegisterDriver("csi.example.com")
		w.Create("creator", nodetest.HostPath("/data/x", corev1.HostPathDirectoryOrCreate))
		time.Sleep(3 * time.Minute)
		for _, name := range []string{"claim", "driver", "directory", "creator"} {
			if got, want := nodetest.Describe(w.Pod(name)), "Running Ready=True c=running"; got != want {
				t.Errorf("%s: got %s, want %s", name, got, want)
			}
		}
	})
}

// TestANodeHasTheRuntimeHandlersOfItsStatus proves that a node with a handler runs the pods of its RuntimeClass.
func TestANodeHasTheRuntimeHandlersOfItsStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := node.Nodes(1)
		nodes[0].Status.RuntimeHandlers = []corev1.NodeRuntimeHandler{{Name: "kata"}}
		w := nodetest.New(t, node.Config{Nodes: nodes})
		w.PrepareRefusals()
		w.Create("p", nodetest.RuntimeClass("kata"))
		time.Sleep(5 * time.Second)
		if got, want := nodetest.Describe(w.Pod("p")), "Running Ready=True c=running"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}
