package builtin

import (
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	schedulingapiv1 "k8s.io/kubernetes/pkg/apis/scheduling/v1"
	"k8s.io/kubernetes/pkg/registry/coordination/lease"
	"k8s.io/kubernetes/pkg/registry/coordination/leasecandidate"
	"k8s.io/kubernetes/pkg/registry/discovery/endpointslice"
	"k8s.io/kubernetes/pkg/registry/flowcontrol/flowschema"
	"k8s.io/kubernetes/pkg/registry/flowcontrol/prioritylevelconfiguration"
	"k8s.io/kubernetes/pkg/registry/networking/ingress"
	"k8s.io/kubernetes/pkg/registry/networking/ingressclass"
	"k8s.io/kubernetes/pkg/registry/networking/ipaddress"
	"k8s.io/kubernetes/pkg/registry/networking/networkpolicy"
	"k8s.io/kubernetes/pkg/registry/networking/servicecidr"
	"k8s.io/kubernetes/pkg/registry/node/runtimeclass"
	"k8s.io/kubernetes/pkg/registry/scheduling/priorityclass"
)

// This file has the tables of the groups for networking, scheduling, leases, nodes and flow
// control.

var networking = group{name: "networking.k8s.io", kinds: []kind{
	{
		kind: "IngressClass", plural: "ingressclasses", singular: "ingressclass",
		clusterScoped: true, versions: v1, strategy: ingressclass.Strategy,
	},
	{
		kind: "Ingress", plural: "ingresses", singular: "ingress", short: []string{"ing"},
		storedUnder: "ingress",
		versions:    v1, strategy: ingress.Strategy, subresources: status(ingress.StatusStrategy),
	},
	{
		kind: "IPAddress", plural: "ipaddresses", singular: "ipaddress", short: []string{"ip"},
		clusterScoped: true, versions: v1, strategy: ipaddress.Strategy,
	},
	{
		kind: "NetworkPolicy", plural: "networkpolicies", singular: "networkpolicy", short: []string{"netpol"},
		versions: v1, strategy: networkpolicy.Strategy,
	},
	{
		kind: "ServiceCIDR", plural: "servicecidrs", singular: "servicecidr",
		clusterScoped: true, versions: v1, strategy: servicecidr.Strategy, subresources: status(servicecidr.StatusStrategy),
	},
}}

var discovery = group{name: "discovery.k8s.io", kinds: []kind{{
	kind: "EndpointSlice", plural: "endpointslices", singular: "endpointslice",
	versions: v1, strategy: endpointSliceStrategy{endpointslice.Strategy, endpointslice.Strategy},
}}}

var scheduling = group{name: "scheduling.k8s.io", kinds: []kind{{
	kind: "PriorityClass", plural: "priorityclasses", singular: "priorityclass", short: []string{"pc"},
	clusterScoped: true, versions: v1, strategy: priorityclass.Strategy, deleteForbids: forbidSystemPriorityClass,
}}}

// forbidSystemPriorityClass rejects the delete of an initial PriorityClass.
func forbidSystemPriorityClass(name string) error {
	if !slices.Contains(schedulingapiv1.SystemPriorityClassNames(), name) {
		return nil
	}
	return apierrors.NewForbidden(schema.GroupResource{Group: "scheduling.k8s.io", Resource: "priorityclasses"}, name,
		errors.New("this is a system priority class and cannot be deleted"))
}

var coordination = group{name: "coordination.k8s.io", kinds: []kind{
	{
		kind: "LeaseCandidate", plural: "leasecandidates", singular: "leasecandidate",
		optional: []string{"v1beta1", "v1alpha2"}, strategy: leasecandidate.Strategy, attributes: leasecandidate.GetAttrs,
	},
	{
		kind: "Lease", plural: "leases", singular: "lease",
		versions: v1, strategy: lease.Strategy,
	},
}}

var nodes = group{name: "node.k8s.io", kinds: []kind{{
	kind: "RuntimeClass", plural: "runtimeclasses", singular: "runtimeclass",
	clusterScoped: true, versions: v1, strategy: runtimeclass.Strategy,
}}}

var flowcontrol = group{name: "flowcontrol.apiserver.k8s.io", kinds: []kind{
	{
		kind: "FlowSchema", plural: "flowschemas", singular: "flowschema",
		printedAsList: true, clusterScoped: true, versions: v1, strategy: flowschema.Strategy, subresources: status(flowschema.StatusStrategy),
	},
	{
		kind: "PriorityLevelConfiguration", plural: "prioritylevelconfigurations", singular: "prioritylevelconfiguration",
		clusterScoped: true, versions: v1, strategy: prioritylevelconfiguration.Strategy,
		subresources: status(prioritylevelconfiguration.StatusStrategy),
	},
}}
