package controller

import (
	"fmt"
	"slices"
)

// Name is the name of a controller. Controllers of kube-controller-manager have the names of its flag --controllers.
type Name string

// The controllers of kube-controller-manager.
const (
	Namespaces             Name = "namespace-controller"
	GarbageCollector       Name = "garbage-collector-controller"
	StorageVersionMigrator Name = "storage-version-migrator-controller"
	PolicyStatus           Name = "validatingadmissionpolicy-status-controller"
	ResourceQuotas         Name = "resourcequota-controller"
	ServiceAccounts        Name = "serviceaccount-controller"
	RootCAPublisher        Name = "root-ca-certificate-publisher-controller"
	RoleAggregation        Name = "clusterrole-aggregation-controller"
)

// The controllers of kube-apiserver.
const (
	DefinitionConditions   Name = "crd-condition-controller"
	DefinitionFinalizer    Name = "crd-finalizer"
	APIServiceRegistration Name = "apiservice-registration-controller"
	APIServiceAvailability Name = "apiservice-status-available-controller"
	AuthenticationTrust    Name = "cluster-authentication-info-controller"
	PriorityAndFairness    Name = "priority-and-fairness-config-consumer"
	AddressRepair          Name = "ipallocator-repair-controller"
	InitialObjects         Name = "kube-apiserver"
)

// All returns the names of the controllers of kube-controller-manager, in the order in which they act after
// a commit.
func All() []Name {
	var names []Name
	for _, r := range table {
		if !r.always {
			names = append(names, r.name)
		}
	}
	return names
}

// Acting is the set of controllers of kube-controller-manager that act. Those of kube-apiserver always act.
type Acting map[Name]bool

// Select returns the controllers with the given names. It fails for a name that is not in All.
func Select(names []string) (Acting, error) {
	acting, known := Acting{}, All()
	for _, name := range names {
		if !slices.Contains(known, Name(name)) {
			return nil, fmt.Errorf("there is no controller %q; there are %v", name, All())
		}
		acting[Name(name)] = true
	}
	return acting, nil
}
