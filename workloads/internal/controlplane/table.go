package controlplane

import "context"

// runFunc runs a controller until the context ends.
type runFunc func(context.Context)

// row is a controller in the table.
type row struct {
	name string // of the flag --controllers of kube-controller-manager and cloud-controller-manager
	new  func(*builder) (runFunc, error)
}

// table has all controllers, a group of them for each file.
var table = []row{
	// apps.go
	{"deployment-controller", deployments},
	{"replicaset-controller", replicaSets},
	{"replicationcontroller-controller", replicationControllers},
	{"statefulset-controller", statefulSets},
	{"daemonset-controller", daemonSets},
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
	{"ephemeral-volume-controller", ephemeralVolumes},
	{"persistentvolumeclaim-protection-controller", claimProtection},
	{"persistentvolume-protection-controller", volumeProtection},
	{"volumeattributesclass-protection-controller", attributesClassProtection},
	// devices.go
	{"resourceclaim-controller", resourceClaims},
	// certificates.go
	{"certificatesigningrequest-approving-controller", requestApprover},
	{"certificatesigningrequest-cleaner-controller", requestCleaner},
	// accounts.go
	{"legacy-serviceaccount-token-cleaner-controller", tokenCleaner},
}

// Names returns the names of all controllers.
func Names() []string {
	var names []string
	for _, r := range table {
		names = append(names, r.name)
	}
	return names
}
