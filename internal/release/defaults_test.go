package release

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/version"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
)

// These tables have the gates whose default differs between the versions that a process can have.

// followed are those that fakecluster's own code follows, and where.
var followed = map[string]string{
	"AllowUnsafeMalformedObjectDeletion":      "internal/resource/corrupt.go",
	"ClusterTrustBundle":                      "internal/builtin/access.go",
	"ComponentFlagz":                          "rest/zpages.go",
	"ComponentStatusz":                        "rest/zpages.go",
	"ConstrainedImpersonation":                "rest/impersonate.go",
	"DeclarativeValidationBeta":               "internal/crd/custom.go",
	"ExcludeAdmissionWebhookVirtualResources": "internal/admission/chain.go",
	"KubeletEnsureSecretPulledImages":         "workloads/internal/pod/image.go",
	"MutatingAdmissionPolicy":                 "internal/server/admission.go",
	"PodCertificateRequest":                   "internal/builtin/access.go",
	"StorageVersionMigrator":                  "internal/builtin/extension.go",
	"UnknownVersionInteroperabilityProxy":     "rest/health.go",
	"WatchCacheInitializationPostStartHook":   "rest/health.go",
	"WatchListCompression":                    "rest/watch.go",
}

// readByUpstream are those that upstream's code reads, which fakecluster runs: the strategies, the storage of Pods and its
// subresources, admission plugins, authorizers, controllers, the scheduler and clients.
const readByUpstream = `
	AtomicFIFO AuthorizePodWebsocketUpgradeCreatePermission CSIServiceAccountTokenSecrets ClearingNominatedNodeNameAfterBinding ClientsAllowCARotation
	ClientsAllowTLSCacheGC ClusterTrustBundleProjection ContainerRestartRules DRAConsumableCapacity DRADeviceBindingConditions DRADeviceTaintRules
	DRADeviceTaints DRAExtendedResource DRAFractionalCapacityRange DRAPartitionableDevices DRAResourceClaimGranularStatusAuthorization
	DeploymentReplicaSetTerminatingReplicas EnvFiles ExtendWebSocketsToKubelet HPAConfigurableTolerance HPAGeneration HPAOptimizedSelectorStore
	HPAScaleToZero HostnameOverride ImageVolume InOrderInformersBatchProcess InPlacePodLevelResourcesVerticalScaling
	InPlacePodVerticalScalingInitContainers InformerResourceVersion KubeletInUserNamespace ManifestBasedAdmissionControlConfig
	MaxUnavailableStatefulSet MutableCSINodeAllocatableCount MutablePodResourcesForSuspendedJobs MutableSchedulingDirectivesForSuspendedJobs
	NodeControllerLeaseCircuitBreaker NodeDeclaredFeatures NominatedNodeNameForExpectation OpportunisticBatching
	PersistentVolumeClaimUnusedSinceTime PodLevelResourcesFixDefaulting PodLevelResourcesFixKubeletQOSClass PodTopologyLabelsAdmission
	RelaxedServiceNameValidation ResourceHealthStatus ResourceHealthStatusMessage RestartAllContainersOnContainerExits SELinuxMount
	ServiceCIDRStatusFieldWiping StaleControllerConsistencyDaemonSet StaleControllerConsistencyHPA StaleControllerConsistencyJob
	StaleControllerConsistencyReplicaSet StaleControllerConsistencyStatefulSet StorageCapacityScoring StrictIPCIDRValidation
	UnlockWhileProcessingFIFO VolumeLimitScaling WatchListClient`

// without are those that make no difference to a client, by the reason.
var without = map[string]string{
	"etcd and the cache before it, which are not there":                                      "ConcurrentWatchObjectDecode EtcdRangeStream",
	"it drops a field of the status in updates of the spec, which leave the status as it is": "CRDObservedGenerationTracking",
	"metrics that are not there":                                                             "StructuredAuthenticationConfigurationJWKSMetrics",
	"which connection a webhook is sent by":                                                  "WebhookRoundTripLoadBalancing",
	"a program of a node that is not there":                                                  "NFTablesNetlink",
	"what the node agent does not have of a kubelet: its configuration, its own restart, endpoints, the memory controller, evictions": "ChangeContainerStatusOnKubeletRestart " +
		"CustomCPUCFSQuotaPeriod HugepageAwareEviction KubeletCrashLoopBackOffMax MemoryQoS NodeLogQuery PLEGOnDemandRelist PodsAPI ReloadKubeletClientCAFile",
}

// A new version of Kubernetes brings gates that fakecluster has to follow when it behaves as an older one.
func TestEachGateWithAnotherDefaultIsFollowed(t *testing.T) {
	known := map[featuregate.Feature]bool{}
	for _, names := range append(slices.Collect(maps.Values(without)), readByUpstream, strings.Join(slices.Collect(maps.Keys(followed)), " ")) {
		for _, name := range strings.Fields(names) {
			if known[featuregate.Feature(name)] {
				t.Errorf("%s is in the tables twice", name)
			}
			known[featuregate.Feature(name)] = true
		}
	}
	for gate, specs := range utilfeature.DefaultMutableFeatureGate.GetAllVersioned() {
		differs := slices.ContainsFunc(emulatable(), func(v *version.Version) bool { return isOn(specs, v) != isOn(specs, newest) })
		if differs && !known[gate] {
			t.Errorf("%s has another default in an older version: follow it, or say in a table why that is not needed", gate)
		}
		if !differs && known[gate] {
			t.Errorf("%s has the same default in all versions: remove it from the tables", gate)
		}
		delete(known, gate)
	}
	for gate := range known {
		t.Errorf("there is no gate %s", gate)
	}
}

// isOn returns the default of a gate in a version. A gate that came later is off.
func isOn(specs featuregate.VersionedSpecs, v *version.Version) (on bool) {
	for _, spec := range specs { // the oldest first
		if !spec.Version.GreaterThan(v) {
			on = spec.Default
		}
	}
	return on
}

func TestGatesAreFollowedWhereTheTableSays(t *testing.T) {
	for gate, file := range followed {
		text, err := os.ReadFile("../../" + file)
		if err != nil || !strings.Contains(string(text), "."+gate) {
			t.Errorf("%s does not read %s: %v", file, gate, err)
		}
	}
}
