package plugins

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	upstream "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle"
	mutatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	validatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	mutatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	validatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
	"k8s.io/kubernetes/plugin/pkg/admission/admit"
	"k8s.io/kubernetes/plugin/pkg/admission/alwayspullimages"
	"k8s.io/kubernetes/plugin/pkg/admission/antiaffinity"
	certapproval "k8s.io/kubernetes/plugin/pkg/admission/certificates/approval"
	"k8s.io/kubernetes/plugin/pkg/admission/certificates/ctbattest"
	certsigning "k8s.io/kubernetes/plugin/pkg/admission/certificates/signing"
	certsubjectrestriction "k8s.io/kubernetes/plugin/pkg/admission/certificates/subjectrestriction"
	"k8s.io/kubernetes/plugin/pkg/admission/defaulttolerationseconds"
	"k8s.io/kubernetes/plugin/pkg/admission/deny"
	"k8s.io/kubernetes/plugin/pkg/admission/eventratelimit"
	"k8s.io/kubernetes/plugin/pkg/admission/extendedresourcetoleration"
	"k8s.io/kubernetes/plugin/pkg/admission/gc"
	"k8s.io/kubernetes/plugin/pkg/admission/imagepolicy"
	"k8s.io/kubernetes/plugin/pkg/admission/limitranger"
	"k8s.io/kubernetes/plugin/pkg/admission/namespace/autoprovision"
	"k8s.io/kubernetes/plugin/pkg/admission/namespace/exists"
	"k8s.io/kubernetes/plugin/pkg/admission/network/defaultingressclass"
	"k8s.io/kubernetes/plugin/pkg/admission/network/denyserviceexternalips"
	"k8s.io/kubernetes/plugin/pkg/admission/nodedeclaredfeatures"
	"k8s.io/kubernetes/plugin/pkg/admission/noderestriction"
	"k8s.io/kubernetes/plugin/pkg/admission/nodetaint"
	"k8s.io/kubernetes/plugin/pkg/admission/podnodeselector"
	"k8s.io/kubernetes/plugin/pkg/admission/podresize"
	"k8s.io/kubernetes/plugin/pkg/admission/podtolerationrestriction"
	"k8s.io/kubernetes/plugin/pkg/admission/podtopologylabels"
	podpriority "k8s.io/kubernetes/plugin/pkg/admission/priority"
	"k8s.io/kubernetes/plugin/pkg/admission/runtimeclass"
	"k8s.io/kubernetes/plugin/pkg/admission/scheduling/podgroupprotection"
	"k8s.io/kubernetes/plugin/pkg/admission/security/podsecurity"
	"k8s.io/kubernetes/plugin/pkg/admission/serviceaccount"
	"k8s.io/kubernetes/plugin/pkg/admission/storage/persistentvolume/resize"
)

// plugin is one of kube-apiserver's admission plugins.
type plugin struct {
	name     string
	place    place
	register func(*upstream.Plugins)
	off      bool // unless it is turned on
	every    bool // judges objects of all kinds, custom ones too
	// of are the built-in resources whose objects it judges; nil: those of all. The others it would
	// pass without a look.
	of []schema.GroupResource

	configured bool // does nothing without a configuration
}

// place is where the server asks a plugin.
type place int

const (
	inTree    place = iota // among the others of this package
	first                  // before the lifecycle of namespaces
	last                   // after everything else
	elsewhere              // in another package, which asks the Choice whether the plugin is on
)

// ordered are the plugins of a real server, in its order.
var ordered = []plugin{
	{name: admit.PluginName, register: admit.Register, off: true},
	{name: autoprovision.PluginName, place: first, register: autoprovision.Register, off: true, every: true},
	{name: lifecycle.PluginName, place: elsewhere},
	{name: exists.PluginName, register: exists.Register, off: true, every: true},
	{name: antiaffinity.PluginName, register: antiaffinity.Register, off: true},
	{name: limitranger.PluginName, register: limitranger.Register, of: resources("pods", "persistentvolumeclaims")},
	{name: ServiceAccount, register: serviceaccount.Register, of: resources("pods")},
	{name: noderestriction.PluginName, register: noderestriction.Register, off: true},
	{name: nodetaint.PluginName, register: nodetaint.Register, of: resources("nodes")},
	{name: alwayspullimages.PluginName, register: alwayspullimages.Register, off: true},
	{name: imagepolicy.PluginName, register: imagepolicy.Register, off: true, configured: true},
	{name: podsecurity.PluginName, register: podsecurity.Register, of: resources("namespaces", "pods", "replicationcontrollers", "podtemplates",
		"replicasets.apps", "deployments.apps", "statefulsets.apps", "daemonsets.apps", "jobs.batch", "cronjobs.batch")},
	{name: podnodeselector.PluginName, register: podnodeselector.Register, off: true},
	{name: podpriority.PluginName, register: podpriority.Register, of: resources("pods", "podgroups.scheduling.k8s.io", "compositepodgroups.scheduling.k8s.io", "priorityclasses.scheduling.k8s.io")},
	{name: defaulttolerationseconds.PluginName, register: defaulttolerationseconds.Register, of: resources("pods")},
	{name: podtolerationrestriction.PluginName, register: podtolerationrestriction.Register, off: true},
	{name: eventratelimit.PluginName, register: eventratelimit.Register, off: true, configured: true},
	{name: extendedresourcetoleration.PluginName, register: extendedresourcetoleration.Register, off: true},
	{name: defaultStorageClass, register: registers(defaultStorageClass, newClassDefaulter), of: resources("persistentvolumeclaims")},
	{name: storageObjectInUseProtection, register: registers(storageObjectInUseProtection, newInUseProtector), of: resources("persistentvolumes", "persistentvolumeclaims", "volumeattributesclasses.storage.k8s.io")},
	{name: podgroupprotection.PluginName, register: podgroupprotection.Register, of: resources("podgroups.scheduling.k8s.io")},
	{name: gc.PluginName, register: gc.Register, off: true, every: true},
	{name: resize.PluginName, register: resize.Register, of: resources("persistentvolumeclaims")},
	{name: runtimeclass.PluginName, register: runtimeclass.Register, of: resources("pods")},
	{name: certapproval.PluginName, register: certapproval.Register, of: resources("certificatesigningrequests.certificates.k8s.io")},
	{name: certsigning.PluginName, register: certsigning.Register, of: resources("certificatesigningrequests.certificates.k8s.io")},
	{name: ctbattest.PluginName, register: ctbattest.Register, of: resources("clustertrustbundles.certificates.k8s.io")},
	{name: certsubjectrestriction.PluginName, register: certsubjectrestriction.Register, of: resources("certificatesigningrequests.certificates.k8s.io")},
	{name: defaultingressclass.PluginName, register: defaultingressclass.Register, of: resources("ingresses.networking.k8s.io")},
	{name: denyserviceexternalips.PluginName, register: denyserviceexternalips.Register, off: true},
	{name: podtopologylabels.PluginName, register: podtopologylabels.Register, of: resources("pods")},
	{name: nodedeclaredfeatures.PluginName, register: nodedeclaredfeatures.Register, of: resources("pods", "resourceslices.resource.k8s.io")},
	{name: podresize.PluginName, register: podresize.Register, of: resources("pods")},
	{name: mutatingpolicy.PluginName, place: elsewhere},
	{name: mutatingwebhook.PluginName, place: elsewhere},
	{name: validatingpolicy.PluginName, place: elsewhere},
	{name: validatingwebhook.PluginName, place: elsewhere},
	{name: resourcequota.PluginName, place: elsewhere},
	{name: deny.PluginName, place: last, register: deny.Register, off: true, every: true},
}

// resources are those of the given names, each with its group after a dot.
func resources(names ...string) []schema.GroupResource {
	var all []schema.GroupResource
	for _, name := range names {
		all = append(all, schema.ParseGroupResource(name))
	}
	return all
}
