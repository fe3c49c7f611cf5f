package lifecycle

import (
	"fmt"
	"slices"
)

// Controller is a controller of kube-controller-manager, by the name that its flag
// --controllers knows it by. What kube-apiserver does itself, above all for definitions, is
// done whichever controllers act.
type Controller string

const (
	// NamespaceController empties namespaces that are being deleted, and then lets them go.
	NamespaceController Controller = "namespace-controller"
	// GarbageCollector deletes objects whose owners are gone, and completes foreground and
	// orphan deletions.
	GarbageCollector Controller = "garbage-collector-controller"
	// StorageVersionMigrator carries out StorageVersionMigrations.
	StorageVersionMigrator Controller = "storage-version-migrator-controller"
	// PolicyStatusController checks the types in ValidatingAdmissionPolicies.
	PolicyStatusController Controller = "validatingadmissionpolicy-status-controller"
	// ResourceQuotaController keeps the status of ResourceQuotas.
	ResourceQuotaController Controller = "resourcequota-controller"
)

// Those of package controllers, which says what they do.
const (
	ServiceAccountController Controller = "serviceaccount-controller"
	RootCAPublisher          Controller = "root-ca-certificate-publisher-controller"
	RoleAggregation          Controller = "clusterrole-aggregation-controller"
	EndpointsController      Controller = "endpoints-controller"
	EndpointSliceController  Controller = "endpointslice-controller"
	DisruptionController     Controller = "disruption-controller"
	PVCProtection            Controller = "persistentvolumeclaim-protection-controller"
	PVProtection             Controller = "persistentvolume-protection-controller"
	TTLAfterFinished         Controller = "ttl-after-finished-controller"
	CSRCleaner               Controller = "certificatesigningrequest-cleaner-controller"
)

// These are parts of kube-apiserver, so they always act and are not among AllControllers. Package
// controllers has them, too.
const (
	AuthenticationTrust Controller = "cluster-authentication-info-controller"
	PriorityAndFairness Controller = "priority-and-fairness-config-consumer"
)

// AllControllers returns all controllers, in the order in which they act after a change.
func AllControllers() []Controller {
	return []Controller{
		NamespaceController, GarbageCollector, StorageVersionMigrator, PolicyStatusController, ResourceQuotaController,
		ServiceAccountController, RootCAPublisher, RoleAggregation,
		EndpointsController, EndpointSliceController, DisruptionController,
		PVCProtection, PVProtection, TTLAfterFinished, CSRCleaner,
	}
}

// Controllers are the controllers that a Reactor stands for.
type Controllers map[Controller]bool

// NewControllers makes the Controllers of these names. It fails for a name that is not among
// AllControllers.
func NewControllers(names []string) (Controllers, error) {
	acting, all := Controllers{}, AllControllers()
	for _, name := range names {
		if !slices.Contains(all, Controller(name)) {
			return nil, fmt.Errorf("there is no controller %q", name)
		}
		acting[Controller(name)] = true
	}
	return acting, nil
}
