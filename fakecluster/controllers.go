package fakecluster

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fakecluster/fakecluster/internal/controller"
)

// Controller is a controller of kube-controller-manager that acts within a write, by its name in the flag --controllers,
// such as "namespace-controller". In a real cluster it works in the background; here its work is done before the response
// to the write that causes it.
//
// All other controllers, such as those of Deployments, Endpoints and PodDisruptionBudgets, act later than the write, as in a
// real cluster: package workloads runs them.
type Controller string

const (
	// NamespaceController deletes the objects in a namespace that is being deleted, and then removes the
	// namespace.
	NamespaceController Controller = Controller(controller.Namespaces)
	// GarbageCollector deletes an object when all owners in its ownerReferences are gone. It
	// also completes deletions with the propagation policies Foreground and Orphan. An object
	// whose owners do not exist is deleted right after its creation. Without it dependents
	// outlive their owners, as with envtest, and the finalizers foregroundDeletion and orphan
	// stay until a client removes them.
	GarbageCollector Controller = Controller(controller.GarbageCollector)
	// StorageVersionMigrator carries out StorageVersionMigrations.
	StorageVersionMigrator Controller = Controller(controller.StorageVersionMigrator)
	// PolicyStatusController checks the types in the expressions of ValidatingAdmissionPolicies
	// and writes the result into their status.
	PolicyStatusController Controller = Controller(controller.PolicyStatus)
	// ResourceQuotaController copies the limits of a ResourceQuota from its spec to its status, and
	// lowers the used amounts in the status when objects are deleted or use less. Without it a
	// quota limits nothing, as with envtest, unless a client writes its status.
	ResourceQuotaController Controller = Controller(controller.ResourceQuotas)
	// ServiceAccountController creates the ServiceAccount default in each namespace, and creates
	// it again when it is deleted. With it the admission plugin ServiceAccount is on, which
	// gives Pods their account and its token.
	ServiceAccountController Controller = Controller(controller.ServiceAccounts)
	// RootCAPublisher publishes the certificate of the cluster's authority in the ConfigMap
	// kube-root-ca.crt in each namespace, and restores it when somebody changes it.
	RootCAPublisher Controller = Controller(controller.RootCAPublisher)
	// RoleAggregation gives a ClusterRole with an aggregationRule the rules of the ClusterRoles
	// that the aggregationRule selects. Without it the rules of admin, edit and view, among others,
	// are empty.
	RoleAggregation Controller = Controller(controller.RoleAggregation)
)

// DefaultControllers returns the controllers that act in a cluster without WithControllers.
func DefaultControllers() []Controller {
	return []Controller{NamespaceController, StorageVersionMigrator, PolicyStatusController, ResourceQuotaController}
}

// AllControllers returns all controllers that can act within a write, in the order in which they act.
func AllControllers() []Controller {
	var names []Controller
	for _, name := range controller.All() {
		names = append(names, Controller(name))
	}
	return names
}

// WithControllers selects the controllers of kube-controller-manager that act within a write. Without
// any, the cluster is an API server alone, as with envtest: a deleted namespace stays
// Terminating with all its content. A controller that is not among AllControllers is an error that says how to run it
// with package workloads. To add one to the default controllers:
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

// checkControllers returns an error for a controller that does not act within a write.
func (s *settings) checkControllers() error {
	known := AllControllers()
	for _, c := range s.controllers {
		if !slices.Contains(known, c) {
			within := namesOf(known)
			last := len(within) - 1
			return fmt.Errorf("WithControllers: %[1]q is not a controller that acts within a write: %[2]s and %[3]s are; "+
				"another one of kube-controller-manager runs with workloads.Run(t, c, workloads.Controllers(%[1]q))", c, strings.Join(within[:last], ", "), within[last])
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
