package controller

import (
	"fmt"
	"slices"
)

// Name is the name of a controller. Those of kube-controller-manager have the names that its flag
// --controllers uses.
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

// Acting are the controllers of kube-controller-manager that act. Those of kube-apiserver always do.
type Acting map[Name]bool

// Select returns the controllers of these names. It fails for a name that is not among All.
func Select(names []string) (Acting, error) {
	acting, known := Acting{}, All()
	for _, name := range names {
		if !slices.Contains(known, Name(name)) {
			return nil, fmt.Errorf("there is no controller %q", name)
		}
		acting[Name(name)] = true
	}
	return acting, nil
}
