package play

import "k8s.io/apimachinery/pkg/runtime/schema"

// kind is a kind whose objects are compared.
type kind struct {
	schema.GroupVersionResource
	namespaced bool
}

// kinds are all of them, by their names in manifests. Leases are not among them: in a fakecluster a Lease is not written while
// nobody looks.
var kinds = map[string]kind{
	"ConfigMap":               {core("configmaps"), true},
	"ControllerRevision":      {apps("controllerrevisions"), true},
	"CronJob":                 {batch("cronjobs"), true},
	"DaemonSet":               {apps("daemonsets"), true},
	"Deployment":              {apps("deployments"), true},
	"EndpointSlice":           {gvr("discovery.k8s.io", "v1", "endpointslices"), true},
	"Endpoints":               {core("endpoints"), true},
	"Event":                   {core("events"), true},
	"HorizontalPodAutoscaler": {gvr("autoscaling", "v2", "horizontalpodautoscalers"), true},
	"Job":                     {batch("jobs"), true},
	"Namespace":               {core("namespaces"), false},
	"Node":                    {core("nodes"), false},
	"PersistentVolume":        {core("persistentvolumes"), false},
	"PersistentVolumeClaim":   {core("persistentvolumeclaims"), true},
	"Pod":                     {core("pods"), true},
	"PodDisruptionBudget":     {gvr("policy", "v1", "poddisruptionbudgets"), true},
	"PriorityClass":           {gvr("scheduling.k8s.io", "v1", "priorityclasses"), false},
	"ReplicaSet":              {apps("replicasets"), true},
	"ReplicationController":   {core("replicationcontrollers"), true},
	"ResourceQuota":           {core("resourcequotas"), true},
	"Service":                 {core("services"), true},
	"ServiceAccount":          {core("serviceaccounts"), true},
	"StatefulSet":             {apps("statefulsets"), true},
	"StorageClass":            {gvr("storage.k8s.io", "v1", "storageclasses"), false},
}

func gvr(group, version, resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: resource}
}

func core(resource string) schema.GroupVersionResource  { return gvr("", "v1", resource) }
func apps(resource string) schema.GroupVersionResource  { return gvr("apps", "v1", resource) }
func batch(resource string) schema.GroupVersionResource { return gvr("batch", "v1", resource) }
