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
	name         string
	place        place
	register     func(*upstream.Plugins)
	offByDefault bool // on only if turned on by name
	allKinds     bool // applies to objects of all kinds, including custom ones
	// resources has the built-in resources to which the plugin applies; nil: all. The plugin itself ignores the others,
	// which TestPluginsIgnoreOtherResources proves.
	resources []schema.GroupResource

	needsConfiguration bool // does nothing without a configuration
}

// place is where the server calls a plugin.
type place int

const (
	inTree    place = iota // among the others of this package
	first                  // before the namespace lifecycle
	last                   // after everything else
	elsewhere              // in another package, which reads the Options
)

// ordered are the plugins of a real server, in its order.
var ordered = []plugin{
	{name: admit.PluginName, register: admit.Register, offByDefault: true},
	{name: autoprovision.PluginName, place: first, register: autoprovision.Register, offByDefault: true, allKinds: true},
	{name: lifecycle.PluginName, place: elsewhere},
	{name: exists.PluginName, register: exists.Register, offByDefault: true, allKinds: true},
	{name: antiaffinity.PluginName, register: antiaffinity.Register, offByDefault: true},
	{name: limitranger.PluginName, register: limitranger.Register, resources: resources("pods", "persistentvolumeclaims")},
	{name: ServiceAccount, register: serviceaccount.Register, resources: resources("pods")},
	{name: noderestriction.PluginName, register: noderestriction.Register, offByDefault: true},
	{name: nodetaint.PluginName, register: nodetaint.Register, resources: resources("nodes")},
	{name: alwayspullimages.PluginName, register: alwayspullimages.Register, offByDefault: true},
	{name: imagepolicy.PluginName, register: imagepolicy.Register, offByDefault: true, needsConfiguration: true},
	{name: podsecurity.PluginName, register: podsecurity.Register, resources: resources("namespaces", "pods", "replicationcontrollers", "podtemplates",
		"replicasets.apps", "deployments.apps", "statefulsets.apps", "daemonsets.apps", "jobs.batch", "cronjobs.batch")},
	{name: podnodeselector.PluginName, register: podnodeselector.Register, offByDefault: true},
	{name: podpriority.PluginName, register: podpriority.Register, resources: resources("pods", "podgroups.scheduling.k8s.io", "compositepodgroups.scheduling.k8s.io", "priorityclasses.scheduling.k8s.io")},
	{name: defaulttolerationseconds.PluginName, register: defaulttolerationseconds.Register, resources: resources("pods")},
	{name: podtolerationrestriction.PluginName, register: podtolerationrestriction.Register, offByDefault: true},
	{name: eventratelimit.PluginName, register: eventratelimit.Register, offByDefault: true, needsConfiguration: true},
	{name: extendedresourcetoleration.PluginName, register: extendedresourcetoleration.Register, offByDefault: true},
	{name: defaultStorageClass, register: registers(defaultStorageClass, newClassDefaulter), resources: resources("persistentvolumeclaims")},
	{name: storageObjectInUseProtection, register: registers(storageObjectInUseProtection, newInUseProtector), resources: resources("persistentvolumes", "persistentvolumeclaims", "volumeattributesclasses.storage.k8s.io")},
	{name: podgroupprotection.PluginName, register: podgroupprotection.Register, resources: resources("podgroups.scheduling.k8s.io")},
	{name: gc.PluginName, register: gc.Register, offByDefault: true, allKinds: true},
	{name: resize.PluginName, register: resize.Register, resources: resources("persistentvolumeclaims")},
	{name: runtimeclass.PluginName, register: runtimeclass.Register, resources: resources("pods")},
	{name: certapproval.PluginName, register: certapproval.Register, resources: resources("certificatesigningrequests.certificates.k8s.io")},
	{name: certsigning.PluginName, register: certsigning.Register, resources: resources("certificatesigningrequests.certificates.k8s.io")},
	{name: ctbattest.PluginName, register: ctbattest.Register, resources: resources("clustertrustbundles.certificates.k8s.io")},
	{name: certsubjectrestriction.PluginName, register: certsubjectrestriction.Register, resources: resources("certificatesigningrequests.certificates.k8s.io")},
	{name: defaultingressclass.PluginName, register: defaultingressclass.Register, resources: resources("ingresses.networking.k8s.io")},
	{name: denyserviceexternalips.PluginName, register: denyserviceexternalips.Register, offByDefault: true},
	{name: podtopologylabels.PluginName, register: podtopologylabels.Register, resources: resources("pods")},
	{name: nodedeclaredfeatures.PluginName, register: nodedeclaredfeatures.Register, resources: resources("pods", "resourceslices.resource.k8s.io")},
	{name: podresize.PluginName, register: podresize.Register, resources: resources("pods")},
	{name: mutatingpolicy.PluginName, place: elsewhere},
	{name: mutatingwebhook.PluginName, place: elsewhere},
	{name: validatingpolicy.PluginName, place: elsewhere},
	{name: validatingwebhook.PluginName, place: elsewhere},
	{name: resourcequota.PluginName, place: elsewhere},
	{name: deny.PluginName, place: last, register: deny.Register, offByDefault: true, allKinds: true},
}

// resources returns the resources with the given names, such as deployments.apps.
func resources(names ...string) []schema.GroupResource {
	var resources []schema.GroupResource
	for _, name := range names {
		resources = append(resources, schema.ParseGroupResource(name))
	}
	return resources
}
