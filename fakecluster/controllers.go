package fakecluster

import (
	"fmt"

	"github.com/fakecluster/fakecluster/rest"
)

// Controller is a controller of kube-controller-manager, by the name that its flag
// --controllers knows it by. On a real server it works in the background; in a cluster its work
// is done before the write that causes it is answered.
type Controller string

const (
	// NamespaceController deletes the content of a namespace that is being deleted, and then
	// lets the namespace go.
	NamespaceController Controller = "namespace-controller"
	// GarbageCollector deletes objects whose owners are gone, as described at
	// WithGarbageCollection.
	GarbageCollector Controller = "garbage-collector-controller"
	// StorageVersionMigrator carries out StorageVersionMigrations.
	StorageVersionMigrator Controller = "storage-version-migrator-controller"
	// PolicyStatusController checks the types in the expressions of ValidatingAdmissionPolicies
	// and writes the result into their status.
	PolicyStatusController Controller = "validatingadmissionpolicy-status-controller"
)

// WithControllers says which controllers of kube-controller-manager act, and no others do. With
// none, the cluster is an API server alone, as with envtest: a namespace that is deleted stays
// Terminating with all that is in it. A controller that fakecluster does not have is an error.
// WithGarbageCollection adds its controller to those.
//
// Default: NamespaceController, StorageVersionMigrator and PolicyStatusController.
func WithControllers(c ...Controller) Option {
	return func(s *settings) { s.controllers = append([]Controller{}, c...) }
}

// acting is what the options say about controllers.
func (s *settings) acting() (rest.Controllers, error) {
	named := s.controllers
	if named == nil {
		named = []Controller{NamespaceController, StorageVersionMigrator, PolicyStatusController}
	}
	acting := rest.Controllers{Garbage: s.garbageCollection}
	for _, c := range named {
		switch c {
		case NamespaceController:
			acting.Namespaces = true
		case GarbageCollector:
			acting.Garbage = true
		case StorageVersionMigrator:
			acting.Migrations = true
		case PolicyStatusController:
			acting.Policies = true
		default:
			return acting, fmt.Errorf("WithControllers: fakecluster has no controller %q; it has %s, %s, %s and %s", c,
				NamespaceController, GarbageCollector, StorageVersionMigrator, PolicyStatusController)
		}
	}
	return acting, nil
}
