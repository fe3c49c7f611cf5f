package builtin

import (
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// priority is the place of a version among all: groups with a higher number come first, and
// versions with a higher number come first in their group.
type priority struct{ group, version int }

// priorities are those that kube-apiserver gives to its own versions, and for versions that
// it does not have any more, those of the last release that had them.
var priorities = map[schema.GroupVersion]priority{
	{Group: "", Version: "v1"}: {18000, 1},

	{Group: "apps", Version: "v1"}:                               {17800, 15},
	{Group: "events.k8s.io", Version: "v1"}:                      {17750, 15},
	{Group: "authentication.k8s.io", Version: "v1"}:              {17700, 15},
	{Group: "authentication.k8s.io", Version: "v1beta1"}:         {17700, 9},
	{Group: "authorization.k8s.io", Version: "v1"}:               {17600, 15},
	{Group: "autoscaling", Version: "v2"}:                        {17500, 30},
	{Group: "autoscaling", Version: "v1"}:                        {17500, 15},
	{Group: "batch", Version: "v1"}:                              {17400, 15},
	{Group: "certificates.k8s.io", Version: "v1"}:                {17300, 15},
	{Group: "certificates.k8s.io", Version: "v1beta1"}:           {17300, 9},
	{Group: "networking.k8s.io", Version: "v1"}:                  {17200, 15},
	{Group: "policy", Version: "v1"}:                             {17100, 15},
	{Group: "rbac.authorization.k8s.io", Version: "v1"}:          {17000, 15},
	{Group: "storage.k8s.io", Version: "v1"}:                     {16800, 15},
	{Group: "apiextensions.k8s.io", Version: "v1"}:               {16700, 15},
	{Group: "apiextensions.k8s.io", Version: "v1beta1"}:          {16700, 9},
	{Group: "admissionregistration.k8s.io", Version: "v1"}:       {16700, 15},
	{Group: "admissionregistration.k8s.io", Version: "v1beta1"}:  {16700, 12},
	{Group: "admissionregistration.k8s.io", Version: "v1alpha1"}: {16700, 9},
	{Group: "scheduling.k8s.io", Version: "v1"}:                  {16600, 15},
	{Group: "coordination.k8s.io", Version: "v1"}:                {16500, 15},
	{Group: "coordination.k8s.io", Version: "v1beta1"}:           {16500, 13},
	{Group: "coordination.k8s.io", Version: "v1alpha2"}:          {16500, 12},
	{Group: "node.k8s.io", Version: "v1"}:                        {16300, 15},
	{Group: "discovery.k8s.io", Version: "v1"}:                   {16200, 15},
	{Group: "resource.k8s.io", Version: "v1"}:                    {16200, 21},
	{Group: "resource.k8s.io", Version: "v1beta2"}:               {16200, 15},
	{Group: "resource.k8s.io", Version: "v1beta1"}:               {16200, 9},
	{Group: "resource.k8s.io", Version: "v1alpha3"}:              {16200, 1},
	{Group: "flowcontrol.apiserver.k8s.io", Version: "v1"}:       {16100, 21},
	{Group: "internal.apiserver.k8s.io", Version: "v1alpha1"}:    {16000, 9},
	{Group: "storagemigration.k8s.io", Version: "v1"}:            {15800, 15},
	{Group: "storagemigration.k8s.io", Version: "v1beta1"}:       {15800, 9},
}

// servedVersions are the versions of built-in groups that are served.
func servedVersions(o Options) []schema.GroupVersion {
	var all []schema.GroupVersion
	add := func(group string, versions ...string) {
		for _, name := range versions {
			if gv := (schema.GroupVersion{Group: group, Version: name}); !slices.Contains(all, gv) {
				all = append(all, gv)
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
	return all
}

// apiServiceName is the name of the APIService of a version.
func apiServiceName(gv schema.GroupVersion) string { return gv.Version + "." + gv.Group }

// localAPIService is the text of the APIService that kube-apiserver makes for a version of
// its own, with placeholders. There is none for the version of APIServices themselves.
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
		`"spec":{` + group + `"version":"` + gv.Version + `","groupPriorityMinimum":` + strconv.Itoa(p.group) + `,"versionPriority":` + strconv.Itoa(p.version) + `},` +
		`"status":{"conditions":[{"type":"Available","status":"True","lastTransitionTime":"` + placeTime + `","reason":"Local","message":"Local APIServices are always available"}]}}`, true
}
