package fakecluster

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fakecluster/fakecluster/rest"
)

// Controller is a controller of kube-controller-manager, by its name in the flag --controllers. In a real
// cluster it works in the background; here its work is done before the response to the write that causes it.
type Controller string

const (
	// NamespaceController deletes the content of a namespace that is being deleted, and then
	// lets the namespace go.
	NamespaceController Controller = "namespace-controller"
	// GarbageCollector deletes an object when all owners in its ownerReferences are gone. It
	// also completes deletions with the propagation policies Foreground and Orphan. An object
	// whose owners do not exist is deleted right after its creation. Without it dependents
	// outlive their owners, as with envtest, and the finalizers foregroundDeletion and orphan
	// stay until a client removes them.
	GarbageCollector Controller = "garbage-collector-controller"
	// StorageVersionMigrator carries out StorageVersionMigrations.
	StorageVersionMigrator Controller = "storage-version-migrator-controller"
	// PolicyStatusController checks the types in the expressions of ValidatingAdmissionPolicies
	// and writes the result into their status.
	PolicyStatusController Controller = "validatingadmissionpolicy-status-controller"
	// ResourceQuotaController writes into the status of a ResourceQuota what its spec limits, and
	// takes back what objects have been charged with once they are deleted or use less. Without
	// it a quota limits nothing, as with envtest, unless a client writes its status.
	ResourceQuotaController Controller = "resourcequota-controller"
	// ServiceAccountController creates the ServiceAccount default in each namespace, and creates
	// it again when it is deleted. With it the admission plugin ServiceAccount is on, which
	// gives Pods their account and its token.
	ServiceAccountController Controller = "serviceaccount-controller"
	// RootCAPublisher publishes the certificate of the cluster's authority in the ConfigMap
	// kube-root-ca.crt in each namespace, and restores it when somebody changes it.
	RootCAPublisher Controller = "root-ca-certificate-publisher-controller"
	// RoleAggregation gives ClusterRoles with an aggregationRule the rules of those that it
	// selects. Without it the rules of admin, edit and view, among others, are empty.
	RoleAggregation Controller = "clusterrole-aggregation-controller"
	// EndpointsController keeps the Endpoints of Services with a selector in line with the Pods
	// that are ready.
	EndpointsController Controller = "endpoints-controller"
	// EndpointSliceController does the same for EndpointSlices. Like the real one, it leaves
	// out Pods whose Node does not exist.
	EndpointSliceController Controller = "endpointslice-controller"
	// DisruptionController keeps the status of PodDisruptionBudgets, which decides about
	// evictions.
	DisruptionController Controller = "disruption-controller"
	// PVCProtection lets a PersistentVolumeClaim that is being deleted go when no Pod uses it,
	// and says in the condition Unused of one that is bound whether any does.
	PVCProtection Controller = "persistentvolumeclaim-protection-controller"
	// PVProtection lets a PersistentVolume that is being deleted go when it is not bound.
	PVProtection Controller = "persistentvolume-protection-controller"
	// TTLAfterFinished deletes Jobs when they have been finished for ttlSecondsAfterFinished,
	// by a timer for that moment. In a testing/synctest bubble the timer goes by the bubble's
	// clock. The deletion is in the foreground, so only the GarbageCollector completes it.
	TTLAfterFinished Controller = "ttl-after-finished-controller"
	// CSRCleaner deletes a CertificateSigningRequest an hour after it was issued, was denied
	// or has failed, a day after its creation if none of that has happened, and when its
	// certificate expires. It sets a timer for that moment, as TTLAfterFinished does.
	CSRCleaner Controller = "certificatesigningrequest-cleaner-controller"
)

// DefaultControllers returns the controllers that act in a cluster without WithControllers.
func DefaultControllers() []Controller {
	return []Controller{NamespaceController, StorageVersionMigrator, PolicyStatusController, ResourceQuotaController}
}

// AllControllers returns all controllers of fakecluster, in the order in which they act after a
// write.
func AllControllers() []Controller {
	var all []Controller
	for _, name := range rest.ControllerNames() {
		all = append(all, Controller(name))
	}
	return all
}

// WithControllers says which controllers of kube-controller-manager act; no others do. Without
// any, the cluster is an API server alone, as with envtest: a deleted namespace stays
// Terminating with all its content. A controller that fakecluster does not have is an error. To
// add one to the default controllers:
//
//	fakecluster.WithControllers(append(fakecluster.DefaultControllers(), fakecluster.GarbageCollector)...)
//
// Default: DefaultControllers.
func WithControllers(c ...Controller) Option {
	return once("WithControllers", func(s *settings) { s.controllers = append([]Controller{}, c...) })
}

// acting returns the names of the controllers that act.
func (s *settings) acting() []string {
	acting := s.controllers
	if acting == nil {
		acting = DefaultControllers()
	}
	return namesOf(acting)
}

// checkControllers returns an error for an unknown controller.
func (s *settings) checkControllers() error {
	all := AllControllers()
	for _, c := range s.controllers {
		if !slices.Contains(all, c) {
			known := namesOf(all)
			last := len(known) - 1
			return fmt.Errorf("WithControllers: fakecluster has no controller %q; it has %s and %s", c, strings.Join(known[:last], ", "), known[last])
		}
	}
	return nil
}

func namesOf(controllers []Controller) []string {
	var names []string
	for _, c := range controllers {
		names = append(names, string(c))
	}
	return names
}
