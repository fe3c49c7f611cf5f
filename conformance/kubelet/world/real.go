package world

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"time"
	"unsafe"

	noopoteltrace "go.opentelemetry.io/otel/trace/noop"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	v1core "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/kubelet/config/v1beta1"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/kubelet"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	kubeletscheme "k8s.io/kubernetes/pkg/kubelet/apis/config/scheme"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/kubelet/config"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/kubelet/pluginmanager"
	"k8s.io/kubernetes/pkg/kubelet/pluginmanager/cache"
	kubeletutil "k8s.io/kubernetes/pkg/kubelet/util"
	"k8s.io/kubernetes/pkg/util/oom"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/configmap"
	"k8s.io/kubernetes/pkg/volume/csi"
	"k8s.io/kubernetes/pkg/volume/emptydir"
	"k8s.io/kubernetes/pkg/volume/hostpath"
	"k8s.io/kubernetes/pkg/volume/projected"
	"k8s.io/kubernetes/pkg/volume/util/hostutil"
	"k8s.io/kubernetes/pkg/volume/util/subpath"
	"k8s.io/mount-utils"

	"github.com/fakecluster/fakecluster/conformance/kubelet/cri"
	"github.com/fakecluster/fakecluster/fakecluster"
)

// real is the unmodified kubelet, over a container runtime in memory.
type real struct{ outside cri.Outside }

func (r real) start(ctx context.Context, c *fakecluster.Cluster, started func(namespace, pod, container string, n int)) error {
	wait.NeverStop = make(chan struct{}) // a channel of the process: in a bubble its own is waited for
	ctx = klog.NewContext(ctx, klog.Background())
	client, err := clientFor(c.RESTConfig())
	if err != nil {
		return err
	}
	if err := register(ctx, client.CoreV1().Nodes()); err != nil {
		return err
	}
	settings, err := configuration()
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "kubelet")
	if err != nil {
		return err
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	recorder := broadcaster.NewRecorder(legacyscheme.Scheme, corev1.EventSource{Component: "kubelet", Host: nodeName})
	broadcaster.StartRecordingToSink(&v1core.EventSinkImpl{Interface: client.CoreV1().Events("")})
	runtime := cri.New(r.outside)
	runtime.Started = started
	deps := &kubelet.Dependencies{
		KubeClient: client, HeartbeatClient: client, EventClient: client.CoreV1(),
		CAdvisorInterface: machine{},
		ContainerManager:  cm.NewStubContainerManager(),
		Mounter:           mount.NewFakeMounter(nil),
		HostUtil:          hostutil.NewHostUtil(),
		Subpather:         &subpath.FakeSubpath{},
		OOMAdjuster:       oom.NewFakeOOMAdjuster(),
		OSInterface:       kubecontainer.RealOS{},
		Recorder:          recorder,
		TracerProvider:    noopoteltrace.NewTracerProvider(),
		VolumePlugins: slices.Concat(configmap.ProbeVolumePlugins(), csi.ProbeVolumePlugins(), emptydir.ProbeVolumePlugins(),
			hostpath.ProbeVolumePlugins(volume.VolumeConfig{}), projected.ProbeVolumePlugins()),
		RemoteRuntimeService: runtime, RemoteImageService: cri.Images{Runtime: runtime},
		PodStartupLatencyTracker:  kubeletutil.NewPodStartupLatencyTracker(),
		NodeStartupLatencyTracker: kubeletutil.NewNodeStartupLatencyTracker(klog.FromContext(ctx)),
	}
	k, err := kubelet.NewMainKubelet(ctx, settings, deps, nil, nodeName, types.NodeName(nodeName),
		nil, "fakecluster://"+nodeName, "external", folder, folder, filepath.Join(folder, "logs"), "", "",
		false, nil, nil, "", false, false, metav1.Duration{}, 1, -1, nil, 50, false)
	if err != nil {
		return fmt.Errorf("a new kubelet: %w", err)
	}
	// A bubble does not wait for the log of the kernel and for folders.
	field(k, "oomWatcher").SetZero()
	field(k, "pluginManager").Set(reflect.ValueOf(noPlugins{}))
	k.BirthCry()
	k.StartGarbageCollection(ctx)
	go k.Run(ctx, deps.PodConfig.Updates())
	return nil
}

// field returns an unexported field of a kubelet. No option of upstream's replaces the two that read from the machine.
func field(k *kubelet.Kubelet, name string) reflect.Value {
	f := reflect.ValueOf(k).Elem().FieldByName(name)
	return reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem()
}

// noPlugins is a manager of the plugins of other processes. There are none, and the kubelet's own watches a folder.
type noPlugins struct{ pluginmanager.PluginManager }

// AddHandler implements pluginmanager.PluginManager.
func (noPlugins) AddHandler(string, cache.PluginHandler) {}

// Run implements pluginmanager.PluginManager.
func (noPlugins) Run(context.Context, config.SourcesReady, <-chan struct{}) {}

// register creates the Node object. The kubelet does not do it itself, because it would sleep with a mutex that others wait for.
func register(ctx context.Context, nodes v1core.NodeInterface) error {
	resources := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("8"), corev1.ResourceMemory: resource.MustParse("32Gi"), corev1.ResourcePods: resource.MustParse("500"),
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: nodeName, Labels: map[string]string{corev1.LabelOSStable: "linux", corev1.LabelHostname: nodeName}},
		Status: corev1.NodeStatus{Capacity: resources, Allocatable: resources,
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "172.18.0.2"}, {Type: corev1.NodeHostName, Address: nodeName}}},
	}
	_, err := nodes.Create(ctx, node, metav1.CreateOptions{})
	return err
}

// configuration returns the default configuration, without what needs a real machine, and without limits that many pods at once would meet.
func configuration() (*kubeletconfig.KubeletConfiguration, error) {
	scheme, _, err := kubeletscheme.NewSchemeAndCodecs()
	if err != nil {
		return nil, err
	}
	defaults := &v1beta1.KubeletConfiguration{}
	scheme.Default(defaults)
	config := &kubeletconfig.KubeletConfiguration{}
	if err := scheme.Convert(defaults, config, nil); err != nil {
		return nil, err
	}
	config.ClusterDNS, config.ClusterDomain = []string{"10.0.0.10"}, "cluster.local"
	config.MaxPods = 500
	config.SerializeImagePulls = false
	config.RegistryPullQPS = 0
	config.CgroupsPerQOS = false
	config.EnforceNodeAllocatable = nil
	config.EvictionHard = nil
	config.LocalStorageCapacityIsolation = false
	config.EnableControllerAttachDetach = false
	config.MakeIPTablesUtilChains = false
	config.ResolverConfig = ""
	config.ImageGCHighThresholdPercent = 100
	config.ImageMaximumGCAge = metav1.Duration{}
	config.VolumeStatsAggPeriod = metav1.Duration{Duration: -time.Second}
	config.SyncFrequency = metav1.Duration{Duration: time.Minute}
	return config, nil
}
