package controlplane

import (
	"context"
	"slices"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	"k8s.io/kubernetes/pkg/features"
)

// runFunc runs a controller until the context ends.
type runFunc func(context.Context)

// row is a controller in the table.
type row struct {
	name string // of the flag --controllers of kube-controller-manager and cloud-controller-manager
	new  func(*builder) (runFunc, error)
}

// table has all controllers, grouped by file.
var table = []row{
	// apps.go
	{"deployment-controller", deployments},
	{"replicaset-controller", replicaSets},
	{"replicationcontroller-controller", replicationControllers},
	{"statefulset-controller", statefulSets},
	{"daemonset-controller", daemonSets},
	// namespaces.go
	{"namespace-controller", namespaces},
	// batch.go
	{"job-controller", jobs},
	{"cronjob-controller", cronJobs},
	{"ttl-after-finished-controller", finishedJobs},
	// scaling.go
	{"horizontal-pod-autoscaler-controller", autoscaler},
	{"disruption-controller", disruptions},
	// network.go
	{"endpoints-controller", endpoints},
	{"endpointslice-controller", endpointSlices},
	{"endpointslice-mirroring-controller", mirroredSlices},
	{"service-cidr-controller", serviceCIDRs},
	// loadbalancers.go
	{"service-lb-controller", loadBalancers},
	// nodes.go
	{"node-lifecycle-controller", nodeLifecycle},
	{"taint-eviction-controller", taintEviction},
	{"ttl-controller", nodeTTL},
	// podgc.go
	{"pod-garbage-collector-controller", podGC},
	// volumes.go
	{"persistentvolume-binder-controller", volumeBinder},
	{"persistentvolume-expander-controller", volumeExpander},
	{"ephemeral-volume-controller", ephemeralVolumes},
	{"persistentvolumeclaim-protection-controller", claimProtection},
	{"persistentvolume-protection-controller", volumeProtection},
	{"volumeattributesclass-protection-controller", attributesClassProtection},
	// devices.go
	{"resourceclaim-controller", resourceClaims},
	{"device-taint-eviction-controller", deviceTaints},
	// certificates.go
	{"certificatesigningrequest-approving-controller", requestApprover},
	{"certificatesigningrequest-signing-controller", requestSigner}, // signing.go
	{"certificatesigningrequest-cleaner-controller", requestCleaner},
	{"podcertificaterequest-cleaner-controller", podCertificateRequestCleaner},
	// accounts.go
	{"serviceaccount-token-controller", secretTokens},
	{"legacy-serviceaccount-token-cleaner-controller", tokenCleaner},
}

// gates has the feature gates without which kube-controller-manager does not run a controller. In older versions some
// are off, and the kinds of the controller are not served.
var gates = map[string][]featuregate.Feature{
	"volumeattributesclass-protection-controller": {features.VolumeAttributesClass},
	"resourceclaim-controller":                    {features.DynamicResourceAllocation},
	"device-taint-eviction-controller":            {features.DynamicResourceAllocation, features.DRADeviceTaints},
	"podcertificaterequest-cleaner-controller":    {features.PodCertificateRequest},
}

// isOff reports whether feature gates turn a controller off.
func isOff(name string) bool {
	return slices.ContainsFunc(gates[name], func(gate featuregate.Feature) bool { return !utilfeature.DefaultFeatureGate.Enabled(gate) })
}

// Names returns the names of all controllers.
func Names() []string {
	var names []string
	for _, r := range table {
		names = append(names, r.name)
	}
	return names
}

// Missing has the controllers of kube-controller-manager that do not run here, and the reasons.
var Missing = map[string]string{
	"bootstrap-signer-controller": "kube-controller-manager runs it only if it is named",
	"token-cleaner-controller":    "kube-controller-manager runs it only if it is named",
	"selinux-warning-controller":  "kube-controller-manager runs it only if it is named",

	"podgroup-protection-controller":                                 "its feature gate is off by default",
	"resourcepoolstatusrequest-controller":                           "its feature gate is off by default",
	"storageversion-garbage-collector-controller":                    "its feature gate is off by default",
	"node-ipam-controller":                                           "kubelets choose the addresses of their Pods here",
	"persistentvolume-attach-detach-controller":                      "nothing is attached to Nodes here",
	"kube-apiserver-serving-clustertrustbundle-publisher-controller": "the authority of the cluster is in the ConfigMap kube-root-ca.crt",
}
