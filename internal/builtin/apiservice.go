package builtin

import (
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// priorities are the priorities of kube-apiserver for its own versions. For versions that it no longer has, they are
// from the last release that had them.
var priorities = map[schema.GroupVersion]resource.Priority{

	{Group: "", Version: "v1"}: {Group: 18000, Version: 1},

	{Group: "apps", Version: "v1"}:                               {Group: 17800, Version: 15},
	{Group: "events.k8s.io", Version: "v1"}:                      {Group: 17750, Version: 15},
	{Group: "authentication.k8s.io", Version: "v1"}:              {Group: 17700, Version: 15},
	{Group: "authorization.k8s.io", Version: "v1"}:               {Group: 17600, Version: 15},
	{Group: "autoscaling", Version: "v2"}:                        {Group: 17500, Version: 30},
	{Group: "autoscaling", Version: "v1"}:                        {Group: 17500, Version: 15},
	{Group: "batch", Version: "v1"}:                              {Group: 17400, Version: 15},
	{Group: "certificates.k8s.io", Version: "v1"}:                {Group: 17300, Version: 15},
	{Group: "certificates.k8s.io", Version: "v1beta1"}:           {Group: 17300, Version: 9},
	{Group: "networking.k8s.io", Version: "v1"}:                  {Group: 17200, Version: 15},
	{Group: "policy", Version: "v1"}:                             {Group: 17100, Version: 15},
	{Group: "rbac.authorization.k8s.io", Version: "v1"}:          {Group: 17000, Version: 15},
	{Group: "storage.k8s.io", Version: "v1"}:                     {Group: 16800, Version: 15},
	{Group: "apiextensions.k8s.io", Version: "v1"}:               {Group: 16700, Version: 15},
	{Group: "apiextensions.k8s.io", Version: "v1beta1"}:          {Group: 16700, Version: 9},
	{Group: "admissionregistration.k8s.io", Version: "v1"}:       {Group: 16700, Version: 15},
	{Group: "admissionregistration.k8s.io", Version: "v1beta1"}:  {Group: 16700, Version: 12},
	{Group: "admissionregistration.k8s.io", Version: "v1alpha1"}: {Group: 16700, Version: 9},
	{Group: "scheduling.k8s.io", Version: "v1"}:                  {Group: 16600, Version: 15},
	{Group: "coordination.k8s.io", Version: "v1"}:                {Group: 16500, Version: 15},
	{Group: "coordination.k8s.io", Version: "v1beta1"}:           {Group: 16500, Version: 13},
	{Group: "coordination.k8s.io", Version: "v1alpha2"}:          {Group: 16500, Version: 12},
	{Group: "node.k8s.io", Version: "v1"}:                        {Group: 16300, Version: 15},
	{Group: "discovery.k8s.io", Version: "v1"}:                   {Group: 16200, Version: 15},
	{Group: "resource.k8s.io", Version: "v1"}:                    {Group: 16200, Version: 21},
	{Group: "resource.k8s.io", Version: "v1beta2"}:               {Group: 16200, Version: 15},
	{Group: "resource.k8s.io", Version: "v1beta1"}:               {Group: 16200, Version: 9},
	{Group: "resource.k8s.io", Version: "v1alpha3"}:              {Group: 16200, Version: 1},
	{Group: "flowcontrol.apiserver.k8s.io", Version: "v1"}:       {Group: 16100, Version: 21},
	{Group: "internal.apiserver.k8s.io", Version: "v1alpha1"}:    {Group: 16000, Version: 9},
	{Group: "storagemigration.k8s.io", Version: "v1"}:            {Group: 15800, Version: 15},
	{Group: "storagemigration.k8s.io", Version: "v1beta1"}:       {Group: 15800, Version: 9},
}

// priorityOf returns the priority of a version in discovery. The group of APIServices,
// which has no APIService, comes first: 20000 is the highest priority of an APIService.
func priorityOf(gv schema.GroupVersion) resource.Priority {
	if gv.Group == apiServices.name {
		return resource.Priority{Group: 20001}
	}
	return priorities[gv]
}

// servedVersions returns the served versions of the built-in groups.
func servedVersions(o Options) []schema.GroupVersion {
	var found []schema.GroupVersion
	add := func(group string, versions ...string) {
		for _, name := range versions {
			if gv := (schema.GroupVersion{Group: group, Version: name}); !slices.Contains(found, gv) {
				found = append(found, gv)
			}
		}
	}
	for _, g := range groups {
		for i := range g.kinds {
			add(g.name, g.kinds[i].served(g, o)...)
		}
	}
	add(definitions.name, "v1")
	if o.LegacyAPIs {
		add(definitions.name, "v1beta1")
	}
	return found
}

// apiServiceName returns the name of the APIService of a version.
func apiServiceName(gv schema.GroupVersion) string { return gv.Version + "." + gv.Group }

// localAPIService returns the JSON of the APIService that kube-apiserver creates for one of its own versions, with
// placeholders. The version of APIServices itself has none.
func localAPIService(gv schema.GroupVersion) (string, bool) {
	p, ok := priorities[gv]
	if !ok {
		return "", false
	}
	const before, owned = `"group":"`, `"f:group":{},`
	group, groupOwned := "", ""
	if gv.Group != "" {
		group, groupOwned = before+gv.Group+`",`, owned
	}
	return `{"kind":"APIService","apiVersion":"apiregistration.k8s.io/v1","metadata":{"name":"` + apiServiceName(gv) + `"` +
		`,"uid":"` + placeUID + `","resourceVersion":"` + placeRevision + `","creationTimestamp":"` + placeTime + `"` +
		`,"labels":{"kube-aggregator.kubernetes.io/automanaged":"onstart"},"managedFields":[` +
		`{"manager":"kube-apiserver","operation":"Update","apiVersion":"apiregistration.k8s.io/v1","time":"` + placeTime + `","fieldsType":"FieldsV1",` +
		`"fieldsV1":{"f:metadata":{"f:labels":{".":{},"f:kube-aggregator.kubernetes.io/automanaged":{}}},` +
		`"f:spec":{` + groupOwned + `"f:groupPriorityMinimum":{},"f:version":{},"f:versionPriority":{}}}}]},` +
		`"spec":{` + group + `"version":"` + gv.Version + `","groupPriorityMinimum":` + strconv.Itoa(p.Group) + `,"versionPriority":` + strconv.Itoa(p.Version) + `},` +
		`"status":{"conditions":[{"type":"Available","status":"True","lastTransitionTime":"` + placeTime + `","reason":"Local","message":"Local APIServices are always available"}]}}`, true
}
