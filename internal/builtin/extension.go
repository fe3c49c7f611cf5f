package builtin

import (
	aggregatorscheme "k8s.io/kube-aggregator/pkg/apiserver/scheme"
	"k8s.io/kube-aggregator/pkg/registry/apiservice"
	apiserviceetcd "k8s.io/kube-aggregator/pkg/registry/apiservice/etcd"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingadmissionpolicy"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingadmissionpolicybinding"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingwebhookconfiguration"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicy"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicybinding"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingwebhookconfiguration"
	"k8s.io/kubernetes/pkg/registry/apiserverinternal/storageversion"
	"k8s.io/kubernetes/pkg/registry/storagemigration/storagemigration"
)

// This file has the tables of the groups that extend the API: admission policies and
// webhooks, aggregated servers, storage migrations. CustomResourceDefinitions are in package
// crd.

var apiExtensions = []string{"api-extensions"}

var validatingPolicies = validatingadmissionpolicy.NewStrategy(paramAuthorizer{}, paramKinds{})

var admissionKinds = group{name: "admissionregistration.k8s.io", kinds: []kind{
	{
		kind: "MutatingAdmissionPolicy", plural: "mutatingadmissionpolicies", singular: "mutatingadmissionpolicy", categories: apiExtensions,
		clusterScoped: true, versions: v1, optional: []string{"v1beta1", "v1alpha1"},
		strategy: mutatingadmissionpolicy.NewStrategy(paramAuthorizer{}, paramKinds{}),
	},
	{
		kind: "MutatingAdmissionPolicyBinding", plural: "mutatingadmissionpolicybindings", singular: "mutatingadmissionpolicybinding", categories: apiExtensions,
		clusterScoped: true, versions: v1, optional: []string{"v1beta1", "v1alpha1"},
		strategy: mutatingadmissionpolicybinding.NewStrategy(paramAuthorizer{}, policies{}, paramKinds{}),
	},
	{
		kind: "MutatingWebhookConfiguration", plural: "mutatingwebhookconfigurations", singular: "mutatingwebhookconfiguration", categories: apiExtensions,
		clusterScoped: true, versions: v1, strategy: mutatingwebhookconfiguration.Strategy,
	},
	{
		kind: "ValidatingAdmissionPolicy", plural: "validatingadmissionpolicies", singular: "validatingadmissionpolicy", categories: apiExtensions,
		clusterScoped: true, versions: v1, legacy: []string{"v1beta1"},
		strategy: validatingPolicies, subresources: map[string]subresource{
			// The only subresource at which upstream allows an apply to create the object.
			"status": {strategy: validatingadmissionpolicy.NewStatusStrategy(validatingPolicies), creates: true},
		},
	},
	{
		kind: "ValidatingAdmissionPolicyBinding", plural: "validatingadmissionpolicybindings", singular: "validatingadmissionpolicybinding", categories: apiExtensions,
		clusterScoped: true, versions: v1, legacy: []string{"v1beta1"},
		strategy: validatingadmissionpolicybinding.NewStrategy(paramAuthorizer{}, policies{}, paramKinds{}),
	},
	{
		kind: "ValidatingWebhookConfiguration", plural: "validatingwebhookconfigurations", singular: "validatingwebhookconfiguration", categories: apiExtensions,
		clusterScoped: true, versions: v1, strategy: validatingwebhookconfiguration.Strategy,
	},
}}

var storageMigrations = group{name: "storagemigration.k8s.io", kinds: []kind{{
	kind: "StorageVersionMigration", plural: "storageversionmigrations", singular: "storageversionmigration", gate: features.StorageVersionMigrator,
	clusterScoped: true, versions: v1, optional: []string{"v1beta1"}, stored: "v1beta1",
	strategy: storagemigration.Strategy, subresources: status(storagemigration.StatusStrategy),
}}}

var apiServices = group{name: "apiregistration.k8s.io", scheme: aggregatorscheme.Scheme, kinds: []kind{{
	kind: "APIService", plural: "apiservices", singular: "apiservice", categories: apiExtensions,
	storedUnder:   "apiregistration.k8s.io/apiservices",
	clusterScoped: true, versions: v1,
	strategy:     apiservice.NewStrategy(aggregatorscheme.Scheme),
	subresources: withoutTable(apiservice.NewStatusStrategy(aggregatorscheme.Scheme)),
	table:        &apiserviceetcd.REST{},
}}}

var storageVersions = group{name: "internal.apiserver.k8s.io", kinds: []kind{{
	kind: "StorageVersion", plural: "storageversions", singular: "storageversion",
	clusterScoped: true, optional: []string{"v1alpha1"},
	strategy: storageversion.Strategy, subresources: status(storageversion.StatusStrategy),
}}}
