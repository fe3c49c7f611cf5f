package builtin

import (
	"k8s.io/kubernetes/pkg/registry/resource/deviceclass"
	"k8s.io/kubernetes/pkg/registry/resource/devicetaintrule"
	"k8s.io/kubernetes/pkg/registry/resource/resourceclaim"
	"k8s.io/kubernetes/pkg/registry/resource/resourceclaimtemplate"
	"k8s.io/kubernetes/pkg/registry/resource/resourcepoolstatusrequest"
	"k8s.io/kubernetes/pkg/registry/resource/resourceslice"
	"k8s.io/kubernetes/pkg/registry/storage/csidriver"
	"k8s.io/kubernetes/pkg/registry/storage/csinode"
	"k8s.io/kubernetes/pkg/registry/storage/csistoragecapacity"
	"k8s.io/kubernetes/pkg/registry/storage/storageclass"
	"k8s.io/kubernetes/pkg/registry/storage/volumeattachment"
	"k8s.io/kubernetes/pkg/registry/storage/volumeattributesclass"
)

// This file has the tables of the groups for volumes and devices.

var volumes = group{name: "storage.k8s.io", kinds: []kind{
	{
		kind: "CSIDriver", plural: "csidrivers", singular: "csidriver",
		answersDeleted: true, clusterScoped: true, versions: v1, strategy: csidriver.Strategy,
	},
	{
		kind: "CSINode", plural: "csinodes", singular: "csinode",
		answersDeleted: true, clusterScoped: true, versions: v1, strategy: csinode.Strategy, subresources: status(csinode.StatusStrategy),
	},
	{
		kind: "CSIStorageCapacity", plural: "csistoragecapacities", singular: "csistoragecapacity",
		versions: v1, strategy: csistoragecapacity.Strategy, table: plain("storage.k8s.io", "csistoragecapacities"),
	},
	{
		kind: "StorageClass", plural: "storageclasses", singular: "storageclass", short: []string{"sc"},
		printedAsList:  true,
		answersDeleted: true, clusterScoped: true, versions: v1, strategy: storageclass.Strategy,
	},
	{
		kind: "VolumeAttachment", plural: "volumeattachments", singular: "volumeattachment",
		answersDeleted: true, clusterScoped: true, versions: v1, strategy: volumeattachment.Strategy, subresources: status(volumeattachment.StatusStrategy),
	},
	{
		kind: "VolumeAttributesClass", plural: "volumeattributesclasses", singular: "volumeattributesclass", short: []string{"vac"},
		answersDeleted: true, clusterScoped: true, versions: v1, strategy: volumeattributesclass.Strategy,
	},
}}

var (
	claims         = resourceclaim.NewStrategy(namespaces{}, contextAuthorizer{})
	claimTemplates = resourceclaimtemplate.NewStrategy(namespaces{})
)

var devices = group{name: "resource.k8s.io", kinds: []kind{
	{
		kind: "DeviceClass", plural: "deviceclasses", singular: "deviceclass",
		answersDeleted: true, clusterScoped: true, versions: v1, optional: []string{"v1beta2", "v1beta1"}, strategy: deviceclass.Strategy,
	},
	{
		kind: "DeviceTaintRule", plural: "devicetaintrules", singular: "devicetaintrule",
		clusterScoped: true, versions: v1, optional: []string{"v1beta2", "v1alpha3"}, stored: "v1beta2", answersDeletedIn: []string{"v1beta2", "v1alpha3"},
		strategy: devicetaintrule.Strategy, subresources: withoutTable(devicetaintrule.StatusStrategy),
	},
	{
		kind: "ResourceClaim", plural: "resourceclaims", singular: "resourceclaim",
		answersDeleted: true, versions: v1, optional: []string{"v1beta2", "v1beta1"},
		strategy: claims, attributes: resourceclaim.GetAttrs, subresources: withoutTable(resourceclaim.NewStatusStrategy(claims)),
	},
	{
		kind: "ResourceClaimTemplate", plural: "resourceclaimtemplates", singular: "resourceclaimtemplate",
		answersDeleted: true, versions: v1, optional: []string{"v1beta2", "v1beta1"},
		strategy: claimTemplates, attributes: resourceclaimtemplate.GetAttrs,
	},
	{
		kind: "ResourcePoolStatusRequest", plural: "resourcepoolstatusrequests", singular: "resourcepoolstatusrequest",
		answersDeleted: true, clusterScoped: true, optional: []string{"v1alpha3"},
		strategy: resourcepoolstatusrequest.Strategy, subresources: withoutTable(resourcepoolstatusrequest.StatusStrategy),
	},
	{
		kind: "ResourceSlice", plural: "resourceslices", singular: "resourceslice",
		answersDeleted: true, clusterScoped: true, versions: v1, optional: []string{"v1beta2", "v1beta1"},
		strategy: resourceslice.Strategy, attributes: resourceslice.GetAttrs,
	},
}}
